# SPDX-License-Identifier: Apache-2.0
"""What `vllm serve --help=all` prints, in the layout of vLLM 0.31 and 0.32: every option, its names and its default.

Groups, texts and choices of the real one are left out. Where an option of 0.32 is newer than the version that the
stand-in stands for, it is in none of its tables: `flags.NEW`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from .flags import ALIASES, NEW, ONE_WAY, SPREAD, SWITCHES, VALUES

_HEAD = """\
usage: vllm serve [model_tag] [options]

Launch a local OpenAI-compatible API server. This is the stand-in engine.

Search by using: `--help=<ConfigGroup>` to explore options by section (e.g.,
--help=ModelConfig, --help=Frontend)
  Use `--help=all` to show all available flags at once.

positional arguments:
  model_tag             The model tag to serve (optional if specified in
                        config) (default: None)

options:
"""
_TAIL = """\

When passing JSON CLI arguments, the following sets of arguments are equivalent:
   --json-arg '{"key1": "value1", "key2": {"key3": "value2"}}'
   --json-arg.key1 value1 --json-arg.key2.key3 value2
"""
_COLUMN, _WIDTH = 24, 78


def shown(name: str) -> str:
    """An option as it is written."""
    return "--" + name.replace("_", "-")


def known(version: tuple[int, ...]) -> tuple[dict[str, bool | None], dict[str, Any]]:
    """The switches and the options with a value that a version has."""
    later = {name for name, since in NEW.items() if version < since}
    switches = {name: default for name, default in SWITCHES.items() if name not in later}
    return switches, {name: default for name, default in VALUES.items() if name not in later}


def help_text(version: tuple[int, ...]) -> str:
    """The whole text."""
    switches, values = known(version)
    lines = [line for name in sorted({*switches, *values}) for line in _lines(name, {**switches, **values}[name])]
    entry = ["  -h, --help            show this help message and exit"]
    return _HEAD + "\n".join([*entry, *lines]) + "\n" + _TAIL


def _lines(name: str, default: Any) -> Iterator[str]:
    head = "  " + ", ".join(_names(name))
    text = textwrap.wrap(f"{shown(name)[2:].replace('-', ' ').capitalize()}. (default: {default})", _WIDTH - _COLUMN)
    if len(head) <= _COLUMN - 2:
        yield head.ljust(_COLUMN) + text.pop(0)
    else:
        yield head
    for line in text:
        yield " " * _COLUMN + line


def _names(name: str) -> list[str]:
    others = [("-" if len(also) <= 3 else "--") + also.replace("_", "-") for also, of in ALIASES.items() if of == name]
    if name in SWITCHES:
        return [shown(name), *([] if name in ONE_WAY else [shown("no_" + name)]), *others]
    value = name.upper() if name not in SPREAD else f"{name.upper()} [{name.upper()} ...]"
    return [f"{each} {value}" for each in (shown(name), *others)]
