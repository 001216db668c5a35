# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A service's arguments against the options that its very image lists, and the table against both: the image wins.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..config import history
from ..config.releases import RELEASES
from ..findings import ERROR, INFO, WARNING, Finding
from ..versions import Version
from .help import HelpOption, HelpOptions, dashes

NOT_IN_IMAGE, VALUE_NOT_IN_IMAGE, TABLE_DIFFERS = "FLAG_NOT_IN_IMAGE", "VALUE_NOT_IN_IMAGE", "TABLE_DIFFERS"
CODES = (NOT_IN_IMAGE, VALUE_NOT_IN_IMAGE)
_OPTION = re.compile(r"--?[A-Za-z]")
_SOURCE = "vllm serve --help=all of the image"
_SHOWN = 8


@dataclass(frozen=True)
class _Said:
    """One option of a command line: its name as it is written, without value and without the keys below it."""

    name: str
    values: tuple[str, ...]
    has_path: bool


def compare_help(words: Sequence[str], listed: HelpOptions, version: Version, subject: str) -> list[Finding]:
    """Judge the words after ``vllm serve`` by what the image itself lists."""
    found = [finding for said in _read(words) for finding in _judge(said, listed, version, subject)]
    return [*dict.fromkeys(found), *_other_differences(words, listed, version, subject)]


def _read(words: Sequence[str]) -> Iterator[_Said]:
    """The options of a list that the collection computed: a value that begins with a dash is joined by ``=``."""
    starts = [at for at, word in enumerate(words) if _OPTION.match(word)]
    for at, after in zip(starts, [*starts[1:], len(words)]):
        head, joined, value = words[at].partition("=")
        name, dot, _path = head.partition(".")
        yield _Said(dashes(name.rstrip("+")), (value,) if joined else tuple(words[at + 1 : after]), bool(dot))


def _judge(said: _Said, listed: HelpOptions, version: Version, subject: str) -> Iterator[Finding]:
    option = listed.find(said.name) or _by_prefix(said.name, listed)
    about = f"{subject} {said.name}"
    known = _in_table(option.names if option else (said.name, said.name.replace("--no-", "--", 1)))
    in_table = known is not None and known.present(version)
    if option is None:
        yield _missing(
            said, about, version, known.replacement_for(next(iter(said.values), None), version) if known else None
        )
    elif not said.has_path:
        yield from _values(said, option, about)
    if (option is None) == in_table and version in RELEASES:
        yield _differs(said.name, about, version, in_table=in_table)


def _in_table(names: Sequence[str]) -> history.History | None:
    """What the table knows of an option, under whichever of its names."""
    return next(filter(None, map(history.flag, names)), None)


def _by_prefix(name: str, listed: HelpOptions) -> HelpOption | None:
    """argparse takes the beginning of a long name, where only one option begins so."""
    found = {option.name: option for each, option in listed.by_name.items() if each.startswith(name)}
    return next(iter(found.values())) if name.startswith("--") and len(found) == 1 else None


def _missing(said: _Said, about: str, version: Version, replacement: str | None) -> Finding:
    way = f"write {replacement} in its place" if replacement else "take it out, or choose an image that has it"
    return Finding(
        NOT_IN_IMAGE,
        ERROR,
        about,
        f"the image (vLLM {version}) does not list {said.name}: the engine would refuse it and end with status 2",
        expected="an option that the image lists",
        observed=said.name,
        remedy=f"{way}; what it has: vllm serve --help=all",
        source=_SOURCE,
        replacement=replacement,
    )


def _values(said: _Said, option: HelpOption, about: str) -> Iterator[Finding]:
    """A value that is none of the choices that the parser prints; what has no choices takes any text."""
    choices = option.choices
    if choices is None:
        return
    for value in said.values:
        if value not in choices and _plain(value) not in choices:
            yield Finding(
                VALUE_NOT_IN_IMAGE,
                ERROR,
                about,
                f"the image does not take {value!r} for {option.name}: the engine would end with status 2",
                expected=", ".join(choices),
                observed=value,
                remedy="choose one of the values that the image lists",
                source=_SOURCE,
            )


def _plain(value: str) -> str:
    """A whole number as it is printed: ``016`` and ``+16`` are 16."""
    return str(int(value)) if re.fullmatch(r"[+-]?[0-9]{1,9}", value) else value


def _differs(name: str, about: str, version: Version, *, in_table: bool) -> Finding:
    told = ("has it", "the image does not list it") if in_table else ("does not have it", "the image lists it")
    return Finding(
        TABLE_DIFFERS,
        WARNING,
        about,
        f"the table of options says that vLLM {version} {told[0]}, but {told[1]}; what the image says counts",
        observed=name,
        remedy="see that the image is the release that its tag says; if it is, report a fault of the table",
        source=f"{_SOURCE}; the table of vLLM {version}",
    )


def _other_differences(words: Sequence[str], listed: HelpOptions, version: Version, subject: str) -> Iterator[Finding]:
    """One finding for all options that the table and the image do not agree on and that this service does not use."""
    if version not in RELEASES:
        return
    given = {name for said in _read(words) for name in (said.name, said.name.replace("--no-", "--", 1))}
    table = frozenset(history.flags(version))
    image = frozenset(name for name in listed.names if name not in {"--help"})
    extra, lacking = sorted(image - table - given), sorted(table - image - given - set(listed.by_name))
    if extra or lacking:
        parts = [f"{label} {_some(names)}" for label, names in (("has", extra), ("lacks", lacking)) if names]
        yield Finding(
            TABLE_DIFFERS,
            INFO,
            subject,
            f"by the table of vLLM {version}, the image also {' and '.join(parts)}; this service uses none of them",
            observed=len(extra) + len(lacking),
            remedy="nothing for this service; an image that somebody changed shows itself so",
            source=f"{_SOURCE}; the table of vLLM {version}",
        )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
