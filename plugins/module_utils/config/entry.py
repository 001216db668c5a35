# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One flag, variable or metric through the releases of vLLM: when it was there, with which default and choices.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ..versions import Version, parse_version

Spans = tuple[tuple[Version, "Version | None"], ...]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Default:
    """``value`` is what the parser starts from; where vLLM computes it, ``dynamic`` is set and value is its code."""

    value: Any = None
    dynamic: bool = False

    @property
    def text(self) -> str:
        """The value in words, for a message."""
        if self.dynamic:
            return str(self.value or "computed at the start")
        return "none" if self.value is None else str(self.value)


@dataclass(frozen=True)
class Deprecation:
    """Since when vLLM warns, the release that it announced for the removal, and what to do."""

    since: Version
    removal: Version | None = None
    note: str | None = None
    replacement: str | None = None


@dataclass(frozen=True)
class History:
    """Spans are from the first release with it to the first without it, None where it is still there.

    ``instead`` is what to write in its place, with ``{value}`` for the value that was given; it is empty where the
    flag is to be taken out and None where nobody judged.
    """

    name: str
    spans: Spans
    source: str
    instead: str | None = None
    instead_for: Mapping[str, str] | None = None
    instead_until: Version | None = None
    note: str | None = None
    deprecations: tuple[Deprecation, ...] = ()
    aliases: tuple[str, ...] = ()
    type: str = ""
    defaults: tuple[tuple[Version, Default], ...] = ()
    same_defaults: tuple[Version, ...] = ()
    choice_sets: tuple[tuple[Version, tuple[str, ...] | None], ...] = ()
    hidden: Version | None = None

    @property
    def replacement(self) -> str | None:
        """What to write instead, whatever the value was; None where there is nothing to write."""
        return (self.instead or "").replace("{value}", "").strip() or None

    def replacement_for(self, value: str | None, version: Version | None = None) -> str | None:
        """What to write instead of this flag with this value; None where there is nothing to write.

        What a release put in its place may be gone from a later one: the version that will run says so.
        """
        return self._instead(value, version).replace("{value}", value or "").strip() or None

    def replacement_words(self, value: str | None, version: Version | None = None) -> tuple[str, ...]:
        """The same as words of a command line: a value is one word, whatever is in it."""
        words = (word.replace("{value}", value or "") for word in self._instead(value, version).split())
        return tuple(word for word in words if word)

    def _instead(self, value: str | None, version: Version | None) -> str:
        if version is not None and self.instead_until is not None and version >= self.instead_until:
            return ""
        return (self.instead_for or {}).get(value or "", self.instead or "")

    def present(self, version: Version) -> bool:
        """Whether this version has it."""
        return any(since <= version and (until is None or version < until) for since, until in self.spans)

    def removed_since(self, version: Version) -> Version | None:
        """The first release without it, where it existed before this version and does not now."""
        gone = [until for _since, until in self.spans if until is not None and until <= version]
        return gone[-1] if gone and not self.present(version) else None

    def appears_in(self, version: Version) -> Version | None:
        """The release that first has it, where this version is older than it."""
        if self.present(version):
            return None
        return next((since for since, _until in self.spans if since > version), None)

    def default(self, version: Version) -> Default:
        """Its default in this version; dynamic and without value where nothing is known."""
        return _at(self.defaults, version) or Default(dynamic=True)

    def default_changes(self, old: Version, new: Version) -> tuple[tuple[Version, Any, Any], ...]:
        """Each release between the two that changed the default, with the values as one goes from old to new.

        Only values that are known on both sides and do not do the same, and only while it was there: what appears has
        no default before.
        """
        first, last = min(old, new), max(old, new)
        found = []
        for (_since, before), (since, after) in zip(self.defaults, self.defaults[1:]):
            known = not before.dynamic and not after.dynamic and since not in self.same_defaults
            if first < since <= last and known and self.present(first) and self.present(last):
                pair = (before.value, after.value) if old <= new else (after.value, before.value)
                found.append((since, *pair))
        return tuple(found)

    def choices(self, version: Version) -> tuple[str, ...] | None:
        """The values that this version takes; None where it takes any."""
        return _at(self.choice_sets, version)

    def choice_removed(self, value: str, version: Version) -> Version | None:
        """The first release that does not take a value any more, where an earlier one did and this version does not."""
        if value in (self.choices(version) or (value,)):
            return None
        gone: Version | None = None
        had = False
        for since, choices in self.choice_sets:
            has = had if choices is None else value in choices  # None: any value, so nothing was taken away
            if since <= version and had and not has:
                gone = since
            had = has
        return gone

    def choice_appears(self, value: str, version: Version) -> Version | None:
        """The release that first takes a value, where that is later than this version."""
        if value in (self.choices(version) or (value,)):
            return None
        return next(
            (since for since, choices in self.choice_sets if since > version and value in (choices or ())), None
        )

    def deprecation(self, version: Version) -> Deprecation | None:
        """The deprecation that this version warns of, where it still has the flag."""
        found = [entry for entry in self.deprecations if entry.since <= version]
        return found[-1] if found and self.present(version) else None

    def hidden_since(self, version: Version) -> Version | None:
        """Since when a metric that is still there is only shown on request, as of this version."""
        return self.hidden if self.hidden and self.hidden <= version and self.present(version) else None


def _at(rows: Iterable[tuple[Version, Item]], version: Version) -> Item | None:
    """The row that is in force in this version."""
    found: Item | None = None
    for since, item in rows:
        if since > version:
            break
        found = item
    return found


def read_entry(name: str, data: Mapping[str, Any], oldest: Version) -> History:
    """Make the history of one entry of the table."""
    spans = tuple((parse_version(since) if since else oldest, _version(until)) for since, until in data["rows"])
    plain = {key: data.get(key) for key in ("instead", "instead_for", "note")}
    history = History(
        name,
        spans,
        f"vllm/{data['source']}",
        aliases=tuple(data.get("also", ())),
        type=data.get("type", ""),
        defaults=tuple((parse_version(since), _default(value)) for since, value in data.get("defaults", {}).items()),
        same_defaults=tuple(parse_version(since) for since in data.get("same", ())),
        choice_sets=_choices(data.get("choices", {})),
        hidden=_version(data.get("hidden")),
        instead_until=_version(data.get("instead_until")),
        deprecations=_deprecations(data.get("deprecated"), plain),
        **plain,
    )
    return history


def _version(text: str | None) -> Version | None:
    return parse_version(text) if text else None


def _default(value: Any) -> Default:
    if isinstance(value, dict) and set(value) == {"code"}:
        return Default(value["code"], dynamic=True)
    return Default(value)


def _choices(data: Mapping[str, Any]) -> tuple[tuple[Version, tuple[str, ...] | None], ...]:
    found: list[tuple[Version, tuple[str, ...] | None]] = []
    current: tuple[str, ...] = ()
    for since, change in data.items():
        if change is None:
            found.append((parse_version(since), None))
            continue
        kept = change["all"] if "all" in change else [item for item in current if item not in change.get("remove", ())]
        current = (*kept, *change.get("add", ()))
        found.append((parse_version(since), current))
    return tuple(found)


def _deprecations(data: Mapping[str, Any] | None, plain: Mapping[str, Any]) -> tuple[Deprecation, ...]:
    if not data:
        return ()
    instead = (plain["instead"] or "").replace("{value}", "").strip() or None
    return (Deprecation(parse_version(data["since"]), _version(data.get("removal")), plain["note"], instead),)
