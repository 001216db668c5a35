# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The YAML that people write in configurations, read with nothing but the standard library.

Left out is what no compose file or rule file needs: keys that are lists or maps, tags that make objects.

Private to the collection.
"""

from __future__ import annotations

import re
from typing import Any

from .flow import MAX_DEPTH, MERGE, Flow, Store, is_sign, merge, put, tag_fault
from .scalars import YamlError, fold, plain

_HEADER = re.compile(r"[|>](?:([+-])([1-9])?|([1-9])([+-])?)?(?:[ \t]+#.*|[ \t]*)")
_PROPERTY = re.compile(r"([&!])(\S*)(?:[ \t]+|$)")
_COLON = re.compile(r":(?:[ \t]|$)")
_NO_KEY = frozenset("#&*!|>%@`[]{},")
_NO_PLAIN = frozenset("%@`]},")


def load(text: str) -> Any:
    """The first document; YamlError says what is wrong and where."""
    found = load_all(text)
    return found[0] if found else None


def load_all(text: str) -> list[Any]:
    """Every document of a text."""
    if "\x00" in text:
        raise YamlError(1, "a NUL is no text")
    reader = _Reader(text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    found = []
    while reader.begin_document():
        found.append(reader.document())
    return found


def key_end(content: str) -> int | None:
    """Where the colon of ``key: value`` stands, None where the text is no such line."""
    first = content[:1]
    if not first or first in _NO_KEY or (first in "-?:" and content[1:2] in {"", " ", "\t"}):
        return None
    at = 0
    if first in "\"'":
        match = re.match(r'"(?:[^"\\]|\\.)*"[ \t]*' if first == '"' else r"'(?:[^']|'')*'[ \t]*", content)
        if match is None or content[match.end() : match.end() + 1] != ":":
            return None
        return match.end() if content[match.end() + 1 : match.end() + 2] in {"", " ", "\t"} else None
    while True:
        at = content.find(":", at)
        if at < 0:
            return None
        if content[at + 1 : at + 2] in {"", " ", "\t"}:
            comment = content.find(" #")
            return None if 0 <= comment < at else at
        at += 1


class _Reader:
    """The lines, and the place. A dash that was read becomes a space, so that what follows it is a line of its own."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.at = 0
        self.store = Store()
        self.depth = 0

    def fail(self, message: str) -> YamlError:
        return YamlError(min(self.at, len(self.lines) - 1) + 1, message)

    def begin_document(self) -> bool:
        """Go to the next document; False at the end of the text."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith("---") and line[3:4] in {"", " ", "\t"}:
                self.lines[self.at] = "   " + line[3:]
                return True
            if not _is_nothing(line) and not line.startswith("%") and not _is_end(line):
                return True
            self.at += 1
        return False

    def document(self) -> Any:
        self.store = Store()
        found = self.node(-1)
        self._skip()
        if self.at < len(self.lines) and not _is_end(self.lines[self.at]):
            raise self.fail("this line belongs to nothing before it")
        return found

    def _skip(self) -> None:
        while self.at < len(self.lines) and _is_nothing(self.lines[self.at]):
            self.at += 1

    def _indent(self) -> int:
        """The indent of the next line that has something, -1 at the end of the document."""
        self._skip()
        if self.at >= len(self.lines) or _is_end(self.lines[self.at]):
            return -1
        line = self.lines[self.at]
        indent = len(line) - len(line.lstrip(" "))
        if line[indent] == "\t":
            raise self.fail("a tab stands where spaces are expected")
        return indent

    def node(self, parent: int) -> Any:
        """Whatever is indented more than its parent, None where nothing is."""
        indent = self._indent()
        return self._block(indent, parent) if indent > parent else None

    def _block(self, indent: int, parent: int) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail("nested too deep")
        self.store.count(self.at + 1)
        content = self.lines[self.at][indent:]
        if _is_item(content):
            found: Any = self._sequence(indent)
        elif key_end(content) is not None:
            found = self._mapping(indent)
        else:
            found = self._value(parent, indent)
        self.depth -= 1
        return found

    def _sequence(self, indent: int) -> list[Any]:
        found = []
        while self._indent() == indent and _is_item(self.lines[self.at][indent:]):
            line = self.lines[self.at]
            column = indent + 1 + len(line[indent + 1 :]) - len(line[indent + 1 :].lstrip(" \t"))
            rest = line[column:]
            if _is_item(rest) or key_end(rest) is not None:
                self.lines[self.at] = " " * column + rest
                found.append(self._block(column, indent))
            else:
                found.append(self._value(indent, indent + 1))
        if self._indent() > indent:
            raise self.fail("this line is indented more than the list that it stands in")
        return found

    def _mapping(self, indent: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        merged: list[Any] = []
        while self._indent() == indent:
            content = self.lines[self.at][indent:]
            end = key_end(content)
            if end is None:
                if _is_item(content):
                    break
                raise self.fail("`key: value` is expected")
            line, written = self.at + 1, content[:end].rstrip()
            key = Flow(written, 0, self.store).quoted() if written[0] in "\"'" else plain(written)
            value = self._value(indent, indent + end + 1, of_mapping=True)
            if written == MERGE:
                merged += value if isinstance(value, list) else [value]
            else:
                put(found, key, value, line)
        if self._indent() > indent:
            raise self.fail("this line is indented more than the map that it stands in")
        return merge(found, merged, self.at + 1) if merged else found

    def _value(self, parent: int, column: int, of_mapping: bool = False) -> Any:
        """The value that begins in this line or below it, with its anchor and tag."""
        line = self.lines[self.at]
        column += len(line[column:]) - len(line[column:].lstrip(" \t"))
        before, anchor, tag = self.store.nodes, None, ""
        match = _PROPERTY.match(line, column)
        while match is not None:
            anchor, tag = (match[2], tag) if match[1] == "&" else (anchor, match[2])
            column = match.end()
            match = _PROPERTY.match(line, column)
        fault = tag_fault(tag)
        if fault:
            raise self.fail(fault)
        value = self._bare(parent, column, of_mapping, tag)
        if anchor:
            self.store.keep(anchor, value, before)
        return value

    def _bare(self, parent: int, column: int, of_mapping: bool, tag: str) -> Any:
        self.store.count(self.at + 1)
        rest = self.lines[self.at][column:]
        first = rest[:1]
        if not first or first == "#":
            self.at += 1
            indent = self._indent()
            if of_mapping and indent == parent and indent >= 0 and _is_item(self.lines[self.at][indent:]):
                return self._sequence(indent)
            return self.node(parent)
        if first in "|>":
            return self._scalar_block(parent, rest)
        if first in "\"'[{*":
            return self._flow(column)
        if first in _NO_PLAIN or is_sign(rest):
            raise self.fail(f"a value cannot begin with {first}")
        text = self._plain(parent, rest)
        return text if tag == "!str" else plain(text)

    def _flow(self, column: int) -> Any:
        flow = Flow(self.text, self.starts[self.at] + column, self.store)
        value = flow.value(self.depth)
        while self.starts[self.at + 1] <= flow.at and self.at + 1 < len(self.lines):
            self.at += 1
        rest = self.text[flow.at : self.starts[self.at + 1] - 1]
        if not _is_nothing(rest):
            raise self.fail("something follows the end of a value")
        self.at += 1
        return value

    def _plain(self, parent: int, rest: str) -> str:
        """A text without quotes, which may go on in lines that are indented more."""
        text, commented = _without_comment(rest)
        if _COLON.search(text):
            raise self.fail("a value in this line has a colon and a space in it: put it in quotes")
        lines = [text]
        self.at += 1
        while not commented and self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and (len(line) - len(line.lstrip(" ")) <= parent or _is_end(line) or _is_nothing(line)):
                break
            text, commented = _without_comment(line.strip())
            if _COLON.search(text):
                raise self.fail("`key: value` stands where the text of the line before goes on")
            lines.append(text)
            self.at += 1
        while not lines[-1]:
            lines.pop()
        return fold(lines)

    def _scalar_block(self, parent: int, rest: str) -> str:
        header = _HEADER.fullmatch(rest)
        if header is None:
            raise self.fail(f"{rest[:20]!r} is no beginning of a text block")
        keep, digit = header[1] or header[4] or "", header[2] or header[3]
        self.at += 1
        indent = max(parent, 0) + int(digit) if digit else self._block_indent(parent)
        lines = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip(" ") and (len(line) - len(line.lstrip(" ")) < indent or _is_end(line)):
                break
            lines.append(line[indent:])
            self.at += 1
        body = "\n".join(lines).rstrip("\n")
        text = body if rest[0] == "|" else _fold_block(body.split("\n"))
        if keep == "+":
            kept = lines[:-1] if self.at >= len(self.lines) and lines and not lines[-1] else lines  # the text's own end
            return text + "\n" * (len(kept) - body.count("\n") if body else len(kept))
        return text + ("\n" if text and keep != "-" else "")

    def _block_indent(self, parent: int) -> int:
        for at in range(self.at, len(self.lines)):
            line = self.lines[at]
            if line.strip(" "):
                return max(parent + 1, len(line) - len(line.lstrip(" ")))
        return parent + 1


def _fold_block(lines: list[str]) -> str:
    """Fold lines; what is indented more keeps its line breaks."""
    lead = next((at for at, line in enumerate(lines) if line), len(lines) - 1)
    text = "\n" * lead + lines[lead]
    breaks = 0
    before = lines[lead]
    for line in lines[lead + 1 :]:
        if not line:
            breaks += 1
            continue
        kept = line[0] in " \t" or before[:1] in {" ", "\t"}
        text += ("\n" * (breaks + 1) if kept else "\n" * breaks or " ") + line
        before, breaks = line, 0
    return text


def _is_nothing(line: str) -> bool:
    stripped = line.strip(" \t")
    return not stripped or stripped[0] == "#"


def _is_end(line: str) -> bool:
    return line[:3] in {"---", "..."} and line[3:4] in {"", " ", "\t"}


def _is_item(content: str) -> bool:
    return content[:1] == "-" and content[1:2] in {"", " ", "\t"}


def _without_comment(text: str) -> tuple[str, bool]:
    match = re.search(r"(?:^|[ \t])#", text)
    return (text[: match.start()].rstrip(" \t"), True) if match else (text.rstrip(" \t"), False)
