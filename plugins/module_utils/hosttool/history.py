# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host history``: who changed what when and why, how it ended, and where a rollback would lead.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..io.files import link_name, read_if_there
from ..io.journals import read_journal
from ..io.starts import kv_cache_tokens
from ..release.differences import content_differences
from ..release.files import RECORD_NAME
from ..release.history import PastRun, committed_releases, failed_before, past_runs, way_down
from ..release.journal import JournalError
from ..release.paths import Paths
from .errors import ToolError
from .say import say
from .service_args import parser, readable_paths


def main(argv: Sequence[str]) -> int:
    """The verb."""
    arguments = parser("history", "say who changed what when and why, and where a rollback would lead")
    arguments.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    args = arguments.parse_args(argv)
    paths = readable_paths(args.service)
    try:
        data = history_of(paths)
    except JournalError as error:
        raise ToolError(f"{paths.service}: {error}") from error
    say(json.dumps(data, indent=2, ensure_ascii=False) if args.json else "\n".join(history_lines(data)))
    return 0


def history_of(paths: Paths) -> dict[str, Any]:
    """The past of a service as plain data; JournalError when its journal cannot be read."""
    entries = read_journal(paths).entries
    current, last_good = link_name(paths.current), link_name(paths.last_good)
    known = committed_releases(entries)
    tried = dict.fromkeys(each.release for each in past_runs(entries) if each.release)
    return {
        "name": paths.service,
        "current": current,
        "last_good": last_good,
        "goes_back_to": way_down(entries, current, last_good),
        "committed": list(known),
        "quarantined": {name: why for name in tried if (why := failed_before(name, entries))},
        "frozen": _frozen(paths),
        "kv_cache_tokens": kv_cache_tokens(paths, current),
        "runs": [_run(paths, each) for each in past_runs(entries)],
    }


def history_lines(data: Mapping[str, Any]) -> list[str]:
    """The same for people, the newest run last."""
    lines = [
        f"{data['name']}: {data['current'] or 'nothing'} is current, {data['last_good'] or 'nothing'} was good last"
    ]
    for each in data["runs"]:
        by, why = each["by"] or "unknown", f": {each['why']}" if each["why"] else ""
        what = f"{each['kind'].replace('_', ' ')} {each['previous'] or 'nothing'} -> {each['release'] or 'nothing'}"
        lines.append(f"  {each['at'][:19]}Z {what} {(each['result'] or 'under way').replace('_', ' ')}, by {by}{why}")
        lines += [f"    {item['what']}: {item['before']!s} -> {item['after']!s}" for item in each["changed"]]
        lines += [f"    because {each['reason']}"] if each["reason"] else []
    lines += [f"  quarantined {name}: {why}" for name, why in data["quarantined"].items()]
    return [*lines, f"  a rollback leads to {data['goes_back_to'] or 'nothing'}"]


def _run(paths: Paths, past: PastRun) -> dict[str, Any]:
    figures = past.data or {}
    return {
        **{key: value for key, value in asdict(past).items() if key != "data"},
        "changed": _changed(paths, past),
        "start_seconds": figures.get("seconds"),
        "kv_cache_tokens": figures.get("kv_cache_tokens"),
    }


def _changed(paths: Paths, past: PastRun) -> list[dict[str, Any]]:
    """What differs between the release before and the run's own; nothing where one of them is not kept."""
    before, after = _content(paths, past.previous), _content(paths, past.release)
    return content_differences(before, after) if before and after and past.previous != past.release else []


def _content(paths: Paths, release: str | None) -> Mapping[str, Any]:
    try:
        data = json.loads(read_if_there(paths.release(release) / RECORD_NAME) or "{}") if release else {}
    except ValueError:
        return {}
    return dict(data.get("content") or {}) if isinstance(data, dict) else {}


def _frozen(paths: Paths) -> str | None:
    text = read_if_there(paths.freeze)
    return None if text is None else text.strip()
