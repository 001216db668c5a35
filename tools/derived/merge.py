# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Put one release into the facts: stretches of releases grow, end or begin; what people judged stays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

SHORT = 100  # characters of a map or list that stays in one line
_STAGE = {"dev": -2, "rc": -1, "": 0, "post": 1}


def release_key(release: str) -> tuple[tuple[int, ...], int, int]:
    """Sort releases: 0.8.5.post1 after 0.8.5, 0.31.0rc1 before 0.31.0."""
    match = re.fullmatch(r"(\d+(?:\.\d+)*)(?:\.?(rc|post|dev)(\d+))?", release)
    if not match:
        raise ValueError(f"not a release: {release}")
    numbers = tuple(int(part) for part in match.group(1).split("."))
    return (*numbers, 0, 0, 0)[:4], _STAGE[match.group(2) or ""], int(match.group(3) or 0)


def at(fact: dict[str, Any], release: str, order: list[str]) -> dict[str, Any] | None:
    """What a fact says of one release; None where the release does not have it."""
    place = order.index(release)
    for row in fact["rows"]:
        since = order.index(row["since"]) if "since" in row else 0
        until = order.index(row["until"]) if "until" in row else len(order)
        if since <= place < until:
            found = {"also": [], **row, "type": fact.get("type")}
            found["default"] = _in_force(fact.get("defaults", {}), place, order)
            found["choices"] = choices_at(fact.get("choices", {}), place, order)
            return found
    return None


def _in_force(history: dict[str, Any], place: int, order: list[str]) -> Any:
    found = None
    for since, value in history.items():
        if order.index(since) <= place:
            found = value
    return found


def choices_at(history: dict[str, Any], place: int, order: list[str]) -> list[str] | None:
    """The choices of one release."""
    found: list[str] | None = None
    for since, change in history.items():
        if order.index(since) <= place:
            if change is None:
                found = None
            elif "all" in change:
                found = list(change["all"])
            else:
                kept = [item for item in found or () if item not in change.get("remove", ())]
                found = [*kept, *change.get("add", ())]
    return found


class Merge:
    """The facts of all releases, and the newest release that comes into them."""

    def __init__(self, table: dict[str, Any], release: str) -> None:
        """Only a release that is newer than all that were read can be merged: the past is reviewed by hand."""
        self.table, self.release = table, release
        self.order: list[str] = table["options"]["releases"]
        if release_key(release) <= release_key(self.order[-1]):
            raise SystemExit(f"{release} is not newer than {self.order[-1]}, the newest in the facts: use --check")
        self.before = self.order[-1]
        self.order.append(release)

    def add(self, kind: str, found: dict[str, dict[str, Any]]) -> None:
        """Merge all entries of one file."""
        facts = self.table[kind][kind]
        for name, fact in facts.items():
            last = fact["rows"][-1]
            if name not in found and "until" not in last:
                last["until"] = self.release
        for name, new in found.items():
            self._entry(facts.setdefault(name, {"rows": []}), new)
        self.table[kind][kind] = dict(sorted(facts.items()))

    def _entry(self, fact: dict[str, Any], new: dict[str, Any]) -> None:
        fact.setdefault("source", new.get("source", "read"))
        shape = {key: new[key] for key in ("kind", "also") if new.get(key)}
        if new.get("kind") == "flag":
            shape["negatable"] = True
        last = fact["rows"][-1] if fact["rows"] else None
        if last is None or "until" in last or any(last.get(key) != shape.get(key) for key in ("kind", "also")):
            if last is not None and "until" not in last:
                last["until"] = self.release
            fact["rows"].append({**shape, "since": self.release})
        if "type" in new:
            fact["type"] = new["type"]
        self._default(fact, new)
        self._choices(fact, new)

    def _default(self, fact: dict[str, Any], new: dict[str, Any]) -> None:
        if "default" in new:
            history = fact.setdefault("defaults", {})
            if not history or list(history.values())[-1] != new["default"]:
                history[self.release] = new["default"]

    def _choices(self, fact: dict[str, Any], new: dict[str, Any]) -> None:
        if "choices" not in new:
            return
        old = choices_at(fact.get("choices", {}), len(self.order) - 2, self.order)
        wanted = new["choices"]
        if set(old or ()) == set(wanted or ()):
            return
        history = fact.setdefault("choices", {})
        if old is None or wanted is None:
            history[self.release] = {"all": wanted} if wanted else None
            return
        change = {
            "add": [item for item in wanted if item not in old],
            "remove": [item for item in old if item not in wanted],
        }
        history[self.release] = {key: value for key, value in change.items() if value}

    def write(self, kind: str, path: Path) -> None:
        """The file again, under the comment that it began with."""
        head = re.match(r"---\n(?:#.*\n)*", path.read_text(encoding="utf-8"))
        path.write_text((head.group() if head else "---\n") + text_of(self.table[kind]), encoding="utf-8")


class _Dumper(yaml.SafeDumper):
    """Small maps and lists in one line, others an item a line, as people can review them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        return self._short(super().represent_sequence(tag, sequence, flow_style), sequence)

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        return self._short(super().represent_mapping(tag, mapping, flow_style), mapping)

    @staticmethod
    def _short(node: Any, data: Any) -> Any:
        node.flow_style = node.flow_style and len(str(data)) < SHORT
        return node


def text_of(data: Any) -> str:
    """Facts as YAML."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=116, allow_unicode=True)
    return text
