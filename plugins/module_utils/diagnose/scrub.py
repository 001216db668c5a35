# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Take everything secret out of what a diagnosis shows: by value where it is known, by name and shape where it is not.

Private to the collection.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from ..release.redact import Redactor
from ..services.secrecy import secret_name, secret_option
from ..startup.lines import redact
from .variables import HIDDEN, pairs_of, shown

MASK = "***"
# Shorter values could be any word, and are only taken out where their name says what they are.
SHORTEST = 8
# Options of Docker and of vLLM that are followed by NAME=VALUE, or by a secret.
_VARIABLE_OPTIONS = ("--env", "-e")
_HEADER_OPTIONS = ("--header", "-H")
_LOGIN = re.compile(r"(://)[^/\s@]{0,256}:[^/\s]{0,256}@|(://)[^/\s@]{8,256}@")
_LOGIN_PARTS = re.compile(r"://([^/\s:@]{0,256}):([^/\s]{0,256})@")
# A longer line is cut: patterns are tried at every place of it.
_LONGEST_LINE = 1 << 16
_ENVIRONMENT = re.compile(r"^(\s*Environment\s*=)(.*)$")
_ASSIGNED = re.compile(r"[\"']?([A-Za-z_]\w*)=")
_DEEPEST = 40
# Where inspect tells variables; the second is of images that older releases of Docker made.
_CONFIGS = ("Config", "ContainerConfig")


def found_secrets(variables: Mapping[str, str], words: Iterable[str] = ()) -> dict[str, str]:
    """Secrets that nobody told us of: variables and options with the name of a secret, passwords in addresses."""
    found = {name: value for name, value in variables.items() if secret_name(name)}
    listed = list(words)
    for word, after in zip(listed, [*listed[1:], ""]):
        option, sign, value = word.partition("=")
        if option.startswith("--") and secret_option(option):
            found[option] = value if sign else after
    for text in [*variables.values(), *listed]:
        for user, password in _LOGIN_PARTS.findall(text):
            found[f"password of {user or 'an address'}"] = password
            found[f"the decoded password of {user or 'an address'}"] = unquote(password)
    return {name: value for name, value in found.items() if len(value) >= SHORTEST}


def loose_secrets(text: str) -> dict[str, str]:
    """What may be a secret in a secrets file that somebody broke: whatever follows a sign, and every long word."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        value = line.partition("=")[2] or line
        for piece in {value, value.strip(), value.strip().strip("'\""), *line.replace("=", " ").split()}:
            found[f"line {number} of the secrets, {len(found)}"] = piece
    return {name: value for name, value in found.items() if len(value) >= SHORTEST}


class Scrubber:
    """Cleans text and plain data of one service; ``met`` has the names of the secrets that were found."""

    def __init__(self, *secrets: Mapping[str, str]) -> None:
        self._redactor = Redactor(*secrets)
        # What cuts a text cuts so much more of it that no piece of a secret is left at the cut.
        self.margin = 1024 + 6 * max((len(value) for each in secrets for value in each.values()), default=0)

    @property
    def met(self) -> set[str]:
        """The secrets that were taken out by their value, by name."""
        return self._redactor.met

    def text(self, text: str) -> str:
        """A text: values first, wherever they are, then what looks like a secret, line by line."""
        whole = self._redactor.line(text.replace("\0", ""))
        return "".join(self._line(line) for line in whole.splitlines(keepends=True))

    def _line(self, line: str) -> str:
        clean = _LOGIN.sub(_masked, redact(line[:_LONGEST_LINE]))
        if len(line) <= _LONGEST_LINE:
            return clean
        return f"{clean[: max(0, len(clean) - self.margin)]} [... the rest of a line of {len(line):,} characters]\n"

    def data(self, value: Any, depth: int = 0) -> Any:
        """Plain data; a key with the name of a secret loses its value, an option of one the word after it."""
        if depth > _DEEPEST:
            return "(too deep)"
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._entry(str(key), item, depth) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(item, depth + 1) for item in masked_words(value)]
        if isinstance(value, str):
            return self.text(value)
        return value if value is None or isinstance(value, (bool, int, float)) else self.text(str(value))

    def _entry(self, key: str, value: Any, depth: int) -> Any:
        if secret_option(key) and value not in (None, "", True, False):
            return MASK
        return self.data(value, depth + 1)


def masked_words(words: Iterable[Any]) -> list[Any]:
    """Words of a command line: what follows the option of a secret is masked, of a variable the name is kept."""
    shown_words: list[Any] = []
    before = ""
    for word in words:
        shown_words.append(_masked_word(before, word) if isinstance(word, str) else word)
        before = word if isinstance(word, str) else ""
    return shown_words


def _masked_word(before: str, word: str) -> str:
    if before in _VARIABLE_OPTIONS:
        return _variable(word)
    if before in _HEADER_OPTIONS or (before.startswith("--") and "=" not in before and secret_option(before)):
        return MASK
    option, sign, value = word.partition("=")
    if sign and option in _VARIABLE_OPTIONS:
        return f"{option}={_variable(value)}"
    return f"{option}={MASK}" if sign and option.startswith("--") and secret_option(option) else word


def _variable(text: str) -> str:
    name, sign, value = text.partition("=")
    return f"{name}={shown(name, value)}" if sign else name


def run_file(text: str) -> str:
    """The file that starts a container, its words one option a line; the values of variables are left out.

    ValueError when it is no command that a shell reads.
    """
    lines: list[list[str]] = [[]]
    for word in masked_words(shlex.split(text, comments=True)):
        if word.startswith("--") or not lines[-1]:
            lines.append([])
        lines[-1].append(word)
    return "".join(shlex.join(line) + "\n" for line in lines if line)


def unit_text(text: str) -> str:
    """A unit or a drop-in without the values of its variables."""
    whole = text.replace("\\\n", " ")
    return "\n".join(_unit_line(line) for line in whole.splitlines()) + "\n"


def _unit_line(line: str) -> str:
    match = _ENVIRONMENT.match(line)
    if not match:
        return line
    names = _ASSIGNED.findall(match.group(2))
    return match.group(1) + " ".join(f"{name}={HIDDEN}" for name in names)


def inspected(data: Mapping[str, Any]) -> dict[str, Any]:
    """What ``docker inspect`` says of a container or an image, without the values of its variables."""
    return {name: _without_values(value) if name in _CONFIGS else value for name, value in data.items()}


def _without_values(config: Any) -> Any:
    env = config.get("Env") if isinstance(config, Mapping) else None
    if not isinstance(env, list):
        return config
    pairs = pairs_of(str(line) for line in env)
    return {**config, "Env": [f"{name}={shown(name, value)}" for name, value in pairs.items()]}


def recorded(record: Mapping[str, Any]) -> dict[str, Any]:
    """A release as it is recorded, without the values of its variables."""
    content = record.get("content")
    if not isinstance(content, Mapping) or not isinstance(content.get("env"), Mapping):
        return dict(record)
    env = {name: shown(str(name), str(value)) for name, value in content["env"].items()}
    return {**record, "content": {**content, "env": env}}


def _masked(match: re.Match[str]) -> str:
    return f"{match.group(1) or match.group(2)}{MASK}@"
