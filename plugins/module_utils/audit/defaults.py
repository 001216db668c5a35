# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What an upgrade changes without being asked for: defaults that this config leaves unset.

Private to the collection.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Callable

from ..config import history
from ..config.command_line import CommandLine
from ..config.options import option as known_option
from ..findings import INFO, WARNING, Finding
from ..versions import Version, parse_version
from .case import Case, Rule
from .default_changes import FLAGS, LIMITS, VARIABLES, Change
from .subject import SERVE, SERVICE

_FLAG_SOURCE = "vllm/engine/arg_utils.py and vllm/config of the releases"
_ENV_SOURCE = "vllm/envs.py of the releases"
_LARGE = 160 << 30
_LARGE_NAMES = re.compile(r"\b(?:g?b[23]00|mi3(?:00x|25x|5[05]x))\b", re.IGNORECASE)
_MAMBA = re.compile(r"mamba|jamba|zamba|bamba|nemotron-?h|granite-4\.0-h|falcon-h1|qwen3-next|lfm2", re.IGNORECASE)


def _above_one(line: CommandLine, *names: str) -> bool:
    return any((line.integer(name) or 1) > 1 for name in names)


def _mentions(line: CommandLine, name: str, word: str = "") -> bool:
    return word in str(line.value(name) or line.mapping(name) or "").lower() and line.has(name)


def _image(case: Case) -> str:
    container = case.subject.container
    return (container.image if container else None) or ""


def _is_large(case: Case) -> bool:
    host = case.subject.host
    if host is None:
        return False
    if host.gpu_memory_bytes:
        return host.gpu_memory_bytes >= _LARGE
    return bool(_LARGE_NAMES.search(host.gpu or ""))


def _is_fp8(line: CommandLine) -> bool:
    return "fp8" in f"{line.model or ''} {line.value('--quantization') or ''}".lower()


def _has_moe_variable(case: Case) -> bool:
    return any(name.startswith("VLLM_USE_FLASHINFER_MOE") for name in case.subject.env or {})


_PARTS: dict[str, Callable[[Case, CommandLine], bool]] = {
    "": lambda case, line: True,
    "no model": lambda case, line: case.subject.kind in {SERVE, SERVICE} and line.model is None,
    "data parallel": lambda case, line: _above_one(line, "--data-parallel-size"),
    "tensor parallel": lambda case, line: _above_one(line, "--tensor-parallel-size"),
    "dcp": lambda case, line: _above_one(line, "--decode-context-parallel-size", "--prefill-context-parallel-size"),
    "experts": lambda case, line: line.has("--enable-expert-parallel") and _above_one(line, "--data-parallel-size"),
    "kv offloading": lambda case, line: line.has("--kv-offloading-size"),
    "kv transfer": lambda case, line: line.has("--kv-transfer-config"),
    "nixl": lambda case, line: _mentions(line, "--kv-transfer-config", "nixl"),
    "multimodal": lambda case, line: line.has("--limit-mm-per-prompt"),
    "mamba": lambda case, line: bool(_MAMBA.search(line.model or "")),
    "large gpu": lambda case, line: _is_large(case),
    "fp8": lambda case, line: _is_fp8(line),
    "moe env": lambda case, line: _has_moe_variable(case),
    "fi reduce": lambda case, line: (case.subject.env or {}).get("VLLM_ALLREDUCE_USE_FLASHINFER") == "1",
    "cuda graphs": lambda case, line: not line.has("--enforce-eager"),
    "rocm": lambda case, line: "rocm" in _image(case),
}


def _between(changes: Iterable[Change], old: Version, new: Version) -> Iterator[Change]:
    """The net changes from one release to another: the last of a name, with the value before the first of them."""
    back = new < old
    first, last = (new, old) if back else (old, new)
    found: dict[str, list[Change]] = {}
    for change in changes:
        if first < parse_version(change.since) <= last:
            found.setdefault(change.name, []).append(change)
    for several in found.values():
        was, now = several[0].old, several[-1].new
        if was != now and back:
            yield several[0]._replace(old=now, new=was, effect="what the newer release did by itself is undone")
        elif was != now:
            yield several[-1]._replace(old=was)


def _is_set(line: CommandLine, name: str) -> bool:
    option, _dot, key = name.partition(".")
    if key:
        inside = line.mapping(option)
        return isinstance(inside, Mapping) and key in inside
    return line.value(name) is not None or line.switched(name) is not None


def _exists(name: str, case: Case) -> bool:
    known = history.flag(name.partition(".")[0])
    return known is not None and known.present(case.version)


def flags(case: Case) -> Iterator[Finding]:
    """Options that this config leaves unset and that mean another thing now."""
    line = case.line
    if case.previous is None or line is None:
        return
    for change in _between(FLAGS, case.previous, case.version):
        if _PARTS[change.when](case, line) and _exists(change.name, case) and not _is_set(line, change.name):
            yield _changed("DEFAULT_CHANGED", case, change, _FLAG_SOURCE, _words(change, case.version))


def variables(case: Case) -> Iterator[Finding]:
    """Variables that this config leaves unset and that mean another thing now."""
    line = case.line
    if case.previous is None or line is None:
        return
    for change in _between(VARIABLES, case.previous, case.version):
        known = history.variable(change.name)
        present = known is not None and known.present(case.version)
        if present and _PARTS[change.when](case, line) and change.name not in (case.subject.env or {}):
            yield _changed("ENV_DEFAULT_CHANGED", case, change, _ENV_SOURCE, f"{change.name}={change.old}")


def _words(change: Change, version: Version) -> str | None:
    """What to write for the old default; None where no word means it, or none does any more."""
    option, _dot, key = change.name.partition(".")
    known = history.flag(option)
    if change.old == "None" or " " in change.old or (known and known.choice_removed(change.old, version)):
        return None
    if change.old in {"true", "false"} and not key:
        found = known_option(option[2:], version)
        negation = f"--no-{option[2:]}" if found.negatable else None
        return option if change.old == "true" else negation
    return shlex.join([change.name, change.old])


def _changed(code: str, case: Case, change: Change, source: str, keep: str | None) -> Finding:
    return Finding(
        code,
        WARNING,
        case.about(change.name),
        f"nothing is set for {change.name}, and its default changes from {change.old} ({case.previous}) "
        f"to {change.new} ({case.version}): {change.effect}",
        expected=change.old,
        observed=change.new,
        remedy=f"to keep what {case.previous} did, write {keep}" if keep else "set it to what this service needs",
        source=f"{source}: {case.previous} and {case.version}",
        since=change.since,
    )


def limits(case: Case) -> Iterator[Finding]:
    """Caps on requests that come with the new version."""
    if case.previous is None or case.line is None:
        return
    for name, since, cap in LIMITS:
        if case.previous < parse_version(since) <= case.version and name not in (case.subject.env or {}):
            yield Finding(
                "request_limit_added",
                INFO,
                case.about(name),
                f"from vLLM {since} a request may ask for at most {cap}; more is refused",
                remedy=f"set {name} where clients need more",
                source=_ENV_SOURCE,
                since=since,
            )


RULES = (
    Rule("DEFAULT_CHANGED", WARNING, _FLAG_SOURCE, flags),
    Rule("ENV_DEFAULT_CHANGED", WARNING, _ENV_SOURCE, variables),
    Rule("request_limit_added", INFO, _ENV_SOURCE, limits),
)
