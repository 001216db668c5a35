# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""YAML between brackets and quotes, where lines and indents mean nothing: ``[a, {b: "c"}]``.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from .scalars import YamlError, double_quoted, fold, plain, single_quoted

MAX_DEPTH = 40
MAX_NODES = 400_000
_TOO_MANY = f"more than {MAX_NODES} values"
_OPENING, _QUOTES, _MARKS = frozenset("[{"), frozenset("\"'"), frozenset("*&!")
_STOPS = frozenset(",[]{}")
_SPACE = frozenset(" \t\n")


class Store:
    """Named values, and how much was read: an alias counts as much as what it repeats."""

    def __init__(self) -> None:
        self.named: dict[str, tuple[Any, int]] = {}
        self.nodes = 0

    def count(self, line: int, more: int = 1) -> None:
        """Count values; YamlError where there are more than any configuration has."""
        self.nodes += more
        if self.nodes > MAX_NODES:
            raise YamlError(line, _TOO_MANY)

    def keep(self, name: str, value: Any, before: int) -> None:
        """Remember a value under its anchor."""
        self.named[name] = (value, self.nodes - before)

    def find(self, name: str, place: Flow) -> Any:
        """The value that an alias repeats."""
        if name not in self.named:
            raise place.fail(f"*{name[:40]} is an alias of nothing")
        value, weight = self.named[name]
        if self.nodes + weight > MAX_NODES:
            raise place.fail(_TOO_MANY)
        self.nodes += weight
        return value


MERGE = "<<"
_TAGS = frozenset({"", "!str", "!map", "!seq", "override", "reset"})  # the last two are compose's


def tag_fault(tag: str) -> str | None:
    """Why a tag is not read: its value would be another than the one that is written."""
    return None if tag in _TAGS else f"the tag !{tag[:60]} is not read"


def is_sign(text: str) -> bool:
    """Whether a text begins with a mark of lists and maps: a dash, question mark or colon before a space."""
    return text[:1] in {"-", "?", ":"} and text[1:2] in {"", " ", "\t", "\n"}


def merge(found: dict[Any, Any], merged: list[Any], line: int) -> dict[Any, Any]:
    """Lay the maps of merge keys below what stands in the map itself."""
    for each in merged:
        if not isinstance(each, Mapping):
            raise YamlError(line, "<< takes maps only")
        found = {**each, **found}
    return found


def put(target: dict[Any, Any], key: object, value: object, line: int) -> None:
    """Set a key; one that is given twice is a fault, for one of the two would be lost."""
    if not isinstance(key, Hashable):
        raise YamlError(line, "a key must be a single value")
    if key in target:
        raise YamlError(line, f"the key {str(key)[:60]!r} is given twice")
    target[key] = value


class Flow:
    """Reads one value at a place of the text; ``at`` is behind it then."""

    def __init__(self, text: str, at: int, store: Store) -> None:
        self.text, self.at, self.store = text, at, store

    @property
    def line(self) -> int:
        """The number of the line where the reader is."""
        return self.text.count("\n", 0, self.at) + 1

    def fail(self, message: str) -> YamlError:
        """The fault, at this line."""
        return YamlError(self.line, message)

    def value(self, depth: int = 0) -> Any:
        """One value, whatever it is."""
        if depth > MAX_DEPTH:
            raise self.fail("nested too deep")
        self.store.nodes += 1
        if self.store.nodes > MAX_NODES:
            raise self.fail(_TOO_MANY)
        letter = self.text[self.at : self.at + 1]
        if letter in _OPENING:
            return self._list(depth) if letter == "[" else self._map(depth)
        if letter in _QUOTES:
            return self.quoted()
        if letter in _MARKS:
            return self._marked(letter, depth)
        if is_sign(self.text[self.at : self.at + 2]):
            raise self.fail(f"{letter} is no value in brackets")
        return plain(self._plain())

    def _marked(self, mark: str, depth: int) -> Any:
        """An alias, or a value with an anchor or a tag."""
        before, name = self.store.nodes, self._name()
        if mark == "*":
            return self.store.find(name, self)
        fault = tag_fault(name) if mark == "!" else None
        if fault:
            raise self.fail(fault)
        self._skip()
        found = self.value(depth + 1)
        if mark == "&":
            self.store.keep(name, found, before)
        return str(found) if mark == "!" and name == "!str" and found is not None else found

    def quoted(self) -> str:
        """A text in quotes."""
        quote, begin = self.text[self.at], self.at + 1
        at = begin
        while True:
            at = self.text.find(quote, at)
            if at < 0:
                raise self.fail(f"a text that begins with {quote} does not end")
            if quote == "'" and self.text[at + 1 : at + 2] == "'":
                at += 2
            elif quote == '"' and self._is_escaped(begin, at):
                at += 1
            else:
                break
        inner = self.text[begin:at]
        try:
            return double_quoted(inner) if quote == '"' else single_quoted(inner)
        except ValueError as error:
            raise self.fail(str(error)) from error
        finally:
            self.at = at + 1

    def _is_escaped(self, begin: int, at: int) -> bool:
        before = self.text[begin:at]
        return (len(before) - len(before.rstrip("\\"))) % 2 == 1

    def _name(self) -> str:
        begin = self.at + 1
        self.at = begin
        while self.at < len(self.text) and self.text[self.at] not in _SPACE and self.text[self.at] not in _STOPS:
            self.at += 1
        return self.text[begin : self.at]

    def _skip(self) -> None:
        while self.at < len(self.text):
            if self.text[self.at] in _SPACE:
                self.at += 1
            elif self.text[self.at] == "#" and self.text[self.at - 1 : self.at] in {" ", "\t", "\n", ""}:
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _plain(self) -> str:
        begin = self.at
        while self.at < len(self.text):
            letter, after = self.text[self.at], self.text[self.at + 1 : self.at + 2]
            if letter in _STOPS or (letter == ":" and (not after or after in _SPACE or after in _STOPS)):
                break
            if letter == "#" and self.text[self.at - 1 : self.at] in {" ", "\t", "\n"}:
                break
            self.at += 1
        return fold([line.strip() for line in self.text[begin : self.at].strip().split("\n")])

    def _next(self, end: str) -> bool:
        """Go to the next item; False at the end of the brackets."""
        self._skip()
        if self.text[self.at : self.at + 1] == ",":
            self.at += 1
            self._skip()
        if self.at >= len(self.text):
            raise self.fail(f"a {end} is missing")
        if self.text[self.at] != end:
            return True
        self.at += 1
        return False

    def _list(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        while self._next("]"):
            before = self.at
            item = self.value(depth + 1)
            self._skip()
            if self.text[self.at : self.at + 1] == ":":
                self._one_line(before)
                self.at += 1
                self._skip()
                item = {item if isinstance(item, Hashable) else str(item): self.value(depth + 1)}
            self._moved(before)
            found.append(item)
        return found

    def _map(self, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        merged: list[Any] = []
        self.at += 1
        while self._next("}"):
            before = self.at
            is_merge = self.text.startswith(MERGE, self.at)
            key = self.value(depth + 1)
            self._skip()
            value = None
            if self.text[self.at : self.at + 1] == ":":
                self._one_line(before)
                self.at += 1
                self._skip()
                value = self.value(depth + 1)
            self._moved(before)
            if is_merge and key == MERGE:
                merged += value if isinstance(value, list) else [value]
            else:
                put(found, key, value, 0 if isinstance(key, Hashable) and key not in found else self.line)
        return merge(found, merged, self.line) if merged else found

    def _one_line(self, begin: int) -> None:
        if "\n" in self.text[begin : self.at]:
            raise self.fail("a key and its colon must stand in one line")

    def _moved(self, before: int) -> None:
        if self.at == before:
            raise self.fail("a value is expected")
        self._skip()
        if self.text[self.at : self.at + 1] not in {",", "]", "}"}:
            raise self.fail("a comma or the closing bracket is expected")
