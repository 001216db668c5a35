# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The argument list of ``vllm serve``: computed here and nowhere else, for the release that will read it.

``vllm serve --config FILE`` reads the same definition differently from release to release (before 0.28.0 it drops
``false`` in silence, it writes ``null`` as the word ``None``). So the list is words on the command line, made from
how each option of that release takes its value.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..findings import WARNING, Finding
from ..versions import Version
from . import options as known
from .options import Option, nearest_option, option, releases_with

Scalar = (str, int, float)


class ArgumentFault(ValueError):
    """One option got a value that its kind cannot take."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        """Keep what the caller needs for its message."""
        super().__init__(f"{key}: {allowed}")
        self.key, self.value, self.allowed = key, value, allowed


def argument_list(model: str, config: Mapping[str, Any], version: Version) -> tuple[str, ...]:
    """The words after ``vllm serve``: the model, then the options sorted by name; ArgumentFault at the first fault."""
    words = [model]
    for key in sorted(config, key=option_name):
        words += option_words(option_name(key), config[key], version)
    return tuple(words)


def option_name(key: str) -> str:
    """vLLM takes underscores for dashes; one spelling is used, so that one option is one key."""
    return key.replace("_", "-")


def option_words(name: str, value: object, version: Version) -> tuple[str, ...]:
    """The words of one option; none when the value is null, or false where that is all that can be meant."""
    if value is None:
        return ()
    found = option(name, version)
    if isinstance(value, bool):
        return _bool_words(found, value)
    return _WRITERS[found.kind](found, value)


def argument_notes(subject: str, config: Mapping[str, Any], version: Version) -> tuple[Finding, ...]:
    """What deserves a warning and no more: options that no release read here has, or that this release has not."""
    names = [option_name(key) for key, value in config.items() if value is not None]
    return tuple(note for name in sorted(names) for note in _notes(subject, option(name, version), version))


def _notes(subject: str, found: Option, version: Version) -> Iterator[Finding]:
    where = f"{subject} config.{found.name}"
    if not found.known:
        near = nearest_option(found.name)
        yield Finding(
            "unknown_option",
            WARNING,
            where,
            f"no vLLM release up to {known.NEWEST_READ} has an option of this name; it is passed as written",
            observed=found.name,
            remedy=f"did you mean {near}?" if near else "check its name with: vllm serve --help=all",
        )
    elif not found.present:
        yield Finding(
            "option_not_in_version",
            WARNING,
            where,
            f"vLLM {version} does not have this option ({releases_with(found.name)}); the engine will refuse to start",
            observed=found.name,
            remedy="take it out, or change the image",
        )


def _bool_words(found: Option, value: bool) -> tuple[str, ...]:
    if found.kind not in {known.FLAG, known.SWITCH, known.FLAG_VALUE, known.UNKNOWN}:
        raise ArgumentFault(found.name, value, f"{_EXPECTED[found.kind]}; it is no switch")
    if value:
        return (f"--{found.name}",)
    return (f"--no-{found.name}",) if found.negatable else ()


def _text(found: Option, value: object) -> str:
    """One value as one word; numbers keep the text that YAML read them from as far as Python keeps it."""
    if isinstance(value, Scalar) and not isinstance(value, bool):
        return str(value)
    raise ArgumentFault(found.name, value, _EXPECTED[found.kind])


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False)


def _pair(name: str, text: str) -> tuple[str, ...]:
    """Option and value; a value that begins with a dash would be read as an option, so it is joined with ``=``."""
    return (f"--{name}={text}",) if text.startswith("-") else (f"--{name}", text)


def _flag(found: Option, value: object) -> tuple[str, ...]:
    raise ArgumentFault(found.name, value, _EXPECTED[found.kind])


def _value(found: Option, value: object) -> tuple[str, ...]:
    return _pair(found.name, _text(found, value))


def _items(found: Option, value: object) -> list[str]:
    items = value if isinstance(value, (list, tuple)) else [value]
    if not items:
        raise ArgumentFault(found.name, value, f"{_EXPECTED[found.kind]}; null leaves the option out")
    return [_json(item) if isinstance(item, Mapping) else _text(found, item) for item in items]


def _list(found: Option, value: object) -> tuple[str, ...]:
    items = _items(found, value)
    if len(items) == 1:
        return _pair(found.name, items[0])
    for item in items:
        if item.startswith("-") and not item[1:].isdigit():
            raise ArgumentFault(
                found.name, value, "items that do not begin with a dash, which vLLM would take for an option"
            )
    return (f"--{found.name}", *items)


def _append(found: Option, value: object) -> tuple[str, ...]:
    return tuple(word for item in _items(found, value) for word in _pair(found.name, item))


def _comma(found: Option, value: object) -> tuple[str, ...]:
    items = _items(found, value)
    if len(items) > 1 and any("," in item for item in items):
        raise ArgumentFault(found.name, value, "items without a comma: vLLM splits this option at commas")
    return _pair(found.name, ",".join(items))


def _json_word(found: Option, value: object) -> tuple[str, ...]:
    if isinstance(value, str):  # JSON that the user wrote, or one of the option's own words
        return _pair(found.name, value)
    if isinstance(value, (Mapping, list, tuple)):
        return _pair(found.name, _json(value))
    raise ArgumentFault(found.name, value, _EXPECTED[found.kind])


def _json_list(found: Option, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return _pair(found.name, value if value.startswith("[") else _json([value]))
    if isinstance(value, (list, tuple)):
        return _pair(found.name, _json(value))
    raise ArgumentFault(found.name, value, _EXPECTED[found.kind])


def _as_written(found: Option, value: object) -> tuple[str, ...]:
    if isinstance(value, Mapping):
        return _json_word(found, value)
    return _list(found, value)


_EXPECTED = {
    known.FLAG: "true or false, without quotes",
    known.SWITCH: "true or false, without quotes",
    known.FLAG_VALUE: "true or one text",
    known.VALUE: "one text or one number",
    known.LIST: "a list of texts or numbers",
    known.JSON: "a map",
    known.JSON_LIST: "a list of texts",
    known.APPEND: "a list of texts",
    known.COMMA: "a list of texts or numbers",
    known.UNKNOWN: "true, false, a text, a number, a list of these, or a map",
}
_WRITERS = {
    known.FLAG: _flag,
    known.SWITCH: _flag,
    known.FLAG_VALUE: _value,
    known.VALUE: _value,
    known.LIST: _list,
    known.JSON: _json_word,
    known.JSON_LIST: _json_list,
    known.APPEND: _append,
    known.COMMA: _comma,
    known.UNKNOWN: _as_written,
}
