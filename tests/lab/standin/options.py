# SPDX-License-Identifier: Apache-2.0
"""Read the words after `vllm serve` the way vLLM's own parser does, near enough for tests.

Known: `--x y`, `--x=y`, `--no-x`, `-tp 2`, `--x_y`, lists of words, JSON values, `--a-config.key value`. An unknown
option, a missing value or a word too many is an argparse error: one line on stderr and exit status 2.
Not known: `--config FILE` (the collection passes words) and unique prefixes of option names.
"""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn

from .flags import ALIASES, NEW, ONE_WAY, SPREAD, SWITCHES, VALUES

_JSON_NAMES = {"hf_overrides", "media_io_kwargs", "limit_mm_per_prompt", "default_chat_template_kwargs"}
_INTEGERS = {"max_model_len", "max_num_seqs", "max_num_batched_tokens", "block_size", "api_server_count", "max_log_len"}
_UNITS = {"k": 1000, "m": 1000**2, "g": 1000**3, "K": 1024, "M": 1024**2, "G": 1024**3}


def refuse(text: str) -> NoReturn:
    """End the way argparse ends."""
    sys.stderr.write("usage: vllm serve [model_tag] [options]\n")
    sys.stderr.write(f"vllm serve: error: {text}\n")
    sys.exit(2)


def _shown(name: str) -> str:
    return "--" + name.replace("_", "-")


def _whole_number(name: str, word: str) -> int:
    try:
        factor = _UNITS.get(word[-1:]) if name in _INTEGERS else None
        return int(float(word[:-1]) * factor) if factor else int(word)
    except ValueError:
        refuse(f"argument {_shown(name)}: invalid int value: {word!r}")


def _json(name: str, word: str) -> Any:
    try:
        return json.loads(word)
    except ValueError:
        refuse(f"argument {_shown(name)}: Value {word} cannot be converted to <function loads>.")


def _typed(name: str, word: str) -> Any:
    """One word as the option's own type, judged by the option's default."""
    default = VALUES[name]
    if name.endswith("_config") or name in _JSON_NAMES:
        return _json(name, word)
    if word == "None" and default is None:
        return None
    if isinstance(default, float):
        try:
            return float(word)
        except ValueError:
            refuse(f"argument {_shown(name)}: invalid float value: {word!r}")
    if isinstance(default, int) or name in _INTEGERS or name == "cudagraph_capture_sizes":
        return _whole_number(name, word)
    return word


class _Words:
    """The words that are still to be read."""

    def __init__(self, words: list[str]) -> None:
        self.rest = list(words)

    def value(self, name: str, glued: str | None) -> str:
        if glued is not None:
            return glued
        if not self.rest or self.rest[0].startswith("--"):
            refuse(f"argument {_shown(name)}: expected one argument")
        return self.rest.pop(0)

    def values(self, name: str, glued: str | None) -> list[str]:
        found = [self.value(name, glued)]
        while glued is None and self.rest and not self.rest[0].startswith("-"):
            found.append(self.rest.pop(0))
        return found


def _nested(found: dict[str, Any], name: str, path: str, word: str) -> None:
    """Put `--a-config.b.c word` into the map of `a_config`."""
    try:
        value = json.loads(word)
    except ValueError:
        value = word
    target = found.setdefault(name, {})
    *parents, last = path.replace("-", "_").split(".")
    for key in parents:
        target = target.setdefault(key, {})
    target[last] = value


def _switch(name: str) -> tuple[str, bool] | None:
    """The switch that a name turns on or off; None when it is none."""
    if name in SWITCHES:
        return name, True
    other = name[3:]
    return (other, False) if name.startswith("no_") and other in SWITCHES and other not in ONE_WAY else None


def _one_option(word: str, words: _Words, found: dict[str, Any], version: tuple[int, ...]) -> bool:
    """Read one option into `found`; False when there is no such option."""
    head, mark, tail = word.partition("=")
    glued = tail if mark else None
    bare, _, path = head.lstrip("-").partition(".")
    name = bare.replace("-", "_")
    name = ALIASES.get(name, name)
    switch = _switch(name)
    if version < NEW.get(switch[0] if switch else name, ()):
        return False
    if switch:
        if glued is not None:
            refuse(f"argument {_shown(name)}: ignored explicit argument {glued!r}")
        found[switch[0]] = switch[1]
    elif name not in VALUES:
        return False
    elif path:
        _nested(found, name, path, words.value(name, glued))
    elif name in SPREAD:
        found[name] = [_typed(name, one) for one in words.values(name, glued)]
    else:
        found[name] = _typed(name, words.value(name, glued))
    return True


def read_options(argv: list[str], version: tuple[int, ...]) -> dict[str, Any]:
    """The options that were given to that version; the model is `model`, and `model_tag` too where it has no option."""
    words, found, unknown = _Words(argv), {}, []
    while words.rest:
        word = words.rest.pop(0)
        if not word.startswith("-"):
            if "model_tag" in found or found:
                unknown.append(word)
            found.setdefault("model_tag", word)
        elif not _one_option(word, words, found, version):
            unknown.append(word)
    if unknown:
        refuse("unrecognized arguments: " + " ".join(unknown))
    found.setdefault("model", found.get("model_tag", VALUES["model"]))
    if "model_tag" in found:
        found["model"] = found["model_tag"]
    return found


def non_defaults(found: dict[str, Any], version: tuple[int, ...]) -> dict[str, Any]:
    """What vLLM prints as "non-default args": given values that differ from the default; keys are hidden from 0.29."""
    defaults = {**SWITCHES, **VALUES}
    kept = {name: value for name, value in found.items() if name == "model_tag" or value != defaults.get(name)}
    secret = {"api_key", "hf_token"} & set(kept) if version >= (0, 29) else set()
    return {**kept, **dict.fromkeys(secret, "***")}
