# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What ``vllm serve --config FILE`` makes of the file: words that it puts before those of the command line.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..versions import Version
from .options import FLAG, option

CONFIG = "--config"
_LISTS = Version(0, 10, 2)
_MAPS = Version(0, 16, 0)
_FALSE = Version(0, 28, 0)


def file_words(content: Mapping[str, Any], version: Version) -> tuple[str, ...]:
    """The words of a parsed file; before 0.28.0 a ``false`` is dropped in silence, null is the word ``None``."""
    return tuple(word for key, value in content.items() for word in _words(str(key), value, version))


def with_file(words: Sequence[str], content: Mapping[str, Any], version: Version) -> tuple[str, ...]:
    """The words of the command line with those of the file in front, so that the command line wins.

    The model of the command line stays the first word and ``--config FILE`` goes. ``--config=FILE`` in one word is not
    the word that vLLM looks for: that file is never read.
    """
    if any(word.startswith(f"{CONFIG}=") for word in words):
        return tuple(words)
    rest = _without_config(words)
    of_file = file_words(content, version)
    if rest and not rest[0].startswith("-"):
        return (rest[0], *of_file, *rest[1:])
    return (*of_file, *rest)


def _without_config(words: Sequence[str]) -> list[str]:
    at = words.index(CONFIG) if CONFIG in words else len(words)
    return [*words[:at], *words[at + 2 :]]


def _words(key: str, value: object, version: Version) -> Iterator[str]:
    name = f"--{key}"
    if isinstance(value, bool):
        yield from _switch(key, value, version)
    elif isinstance(value, (list, tuple)) and version >= _LISTS:
        if value:
            yield name
            yield from (str(item) for item in value)
    elif isinstance(value, Mapping) and version >= _MAPS:
        yield name
        yield json.dumps(value, default=str)
    else:
        yield name
        yield str(value)


def _switch(key: str, value: bool, version: Version) -> Iterator[str]:
    if value:
        yield f"--{key}"
    elif version >= _FALSE and _has_negation(key, version):
        yield f"--no-{key}"


def _has_negation(key: str, version: Version) -> bool:
    """vLLM looks for the very name: a key with underscores has none."""
    found = option(key, version)
    return found.present and found.kind == FLAG
