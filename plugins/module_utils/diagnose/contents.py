# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What goes into an evidence bundle: every source cleaned first and cut then, and a list of what was left out.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .budget import LARGE, Part, fit, gap, text_part
from .scrub import Scrubber, inspected, recorded, run_file, unit_text
from .text import render_text

TEXT, UNIT, RUN = "text", "unit", "run"
DATA, INSPECT, RECORD = "data", "inspect", "record"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Raw:
    """One source as it was read, not cleaned yet: text with a tail of its own where it was cut, or plain data."""

    name: str
    kind: str
    content: Any
    limit: int
    source: str
    tail: str = ""
    left_out: int = 0


def parts_of(report: Mapping[str, Any], raws: Iterable[Raw], scrubber: Scrubber) -> list[Part]:
    """All parts that fit, the report first; ``report`` is clean already."""
    first = [
        text_part("report.json", to_json(report), 2 * LARGE, source="vllm-host diagnose"),
        text_part("report.txt", render_text(report), LARGE, source="vllm-host diagnose"),
    ]
    kept = fit([*first, *(clean(raw, scrubber) for raw in raws)])
    listed = {
        "service": report["service"],
        "host": report["host"],
        "at": report["at"],
        "secrets_taken_out": sorted(scrubber.met),
        "parts": [part.to_dict() for part in kept],
    }
    return [Part(MANIFEST, to_json(listed).encode("utf-8", "replace"), 0, "vllm-host diagnose"), *kept]


def clean(raw: Raw, scrubber: Scrubber) -> Part:
    """One part without secrets; what cannot be cleaned for sure is left out, and the part says so."""
    try:
        text = _CLEANERS[raw.kind](raw, scrubber)
    except (ValueError, TypeError, RecursionError) as error:
        text = f"[left out: it could not be read well enough to be cleaned ({type(error).__name__})]\n"
    return text_part(raw.name, text, raw.limit, left_out=raw.left_out, source=raw.source)


def to_json(data: Any) -> str:
    """Plain data for people and programs."""
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, default=str) + "\n"


def _text(raw: Raw, scrubber: Scrubber) -> str:
    """Clean both ends, then cut so much at the gap that no piece of a secret is left there."""
    margin = scrubber.margin
    head, tail = scrubber.text(str(raw.content)), scrubber.text(raw.tail)
    if not raw.left_out:
        return head + tail
    head = head[: head.rfind("\n") + 1] or head[:-margin]
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail else tail[margin:]
    return head + gap(raw.left_out).decode() + tail


def _unit(raw: Raw, scrubber: Scrubber) -> str:
    return scrubber.text(unit_text(str(raw.content)))


def _run(raw: Raw, scrubber: Scrubber) -> str:
    return scrubber.text(run_file(str(raw.content)))


def _data(raw: Raw, scrubber: Scrubber) -> str:
    return to_json(scrubber.data(raw.content))


def _inspect(raw: Raw, scrubber: Scrubber) -> str:
    return to_json(scrubber.data(inspected(raw.content)))


def _record(raw: Raw, scrubber: Scrubber) -> str:
    return to_json(scrubber.data(recorded(raw.content)))


_CLEANERS: Mapping[str, Callable[[Raw, Scrubber], str]] = {
    TEXT: _text,
    UNIT: _unit,
    RUN: _run,
    DATA: _data,
    INSPECT: _inspect,
    RECORD: _record,
}
