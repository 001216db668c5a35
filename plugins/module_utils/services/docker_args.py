# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Further words for ``docker run``: read the way Docker reads them, so that none repeats what the collection says.

A word that is neither an option nor the value of one would be taken for the image, and all after it for arguments.
Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .docker_options import SHORT, SWITCHES, VALUED
from .owned import OWNED_TARGETS
from .problems import Complaints, nearest

_BY_COLLECTION = "nothing here: the collection sets it"
_OWNED = {
    "env": "the service's key env, or vllm_secrets",
    "env-file": "the service's key env, or vllm_secrets: an env file shows in docker inspect",
    "gpus": "the service's key gpus",
    "device": "the service's key devices",
    "volume": "the service's key mounts",
    "mount": "the service's key mounts",
    "volumes-from": "the service's key mounts",
    "publish": "the service's keys bind and port",
    "publish-all": "the service's keys bind and port",
    "network": "the service's key network",
    "net": "the service's key network",
    "shm-size": "the service's key shm_size",
    "ipc": "the service's key shm_size: with another ipc mode Docker ignores it",
    "ulimit": "the service's key ulimits",
    "user": "the service's key user",
    "restart": "nothing here: systemd restarts the server, and one supervisor is enough",
    "rm": "nothing here: the evidence of a dead server would be gone with its container",
    "detach": "nothing here: systemd watches the server in the foreground",
    "interactive": "nothing here: a server has no terminal",
    "tty": "nothing here: a server has no terminal",
    "attach": "nothing here: a server has no terminal",
    "help": "nothing here: it would print a help text and start no server",
    **dict.fromkeys(
        [
            "name",
            "cidfile",
            "entrypoint",
            "init",
            "pull",
            "platform",
            "log-driver",
            "log-opt",
            "stop-signal",
            "stop-timeout",
            "label-file",
            "detach-keys",
            "sig-proxy",
            "quiet",
            "use-api-socket",
        ],
        _BY_COLLECTION,
    ),
}
_OWNED_LABEL = "io.gpuhosts."


@dataclass(frozen=True)
class DockerOption:
    """One option of the list: its long name, its value, and whether Docker's reading of it is certain."""

    index: int
    name: str
    value: str | None
    fault: str | None = None
    takes_next: bool = False


def read_docker_args(words: Sequence[str], complaints: Complaints) -> tuple[str, ...]:
    """Judge the list; what is wrong goes to ``complaints``."""
    for found in docker_options(words):
        fault = found.fault or _fault(found)
        if fault:
            complaints.at(f"docker_args[{found.index}]", _first_part(words[found.index]), fault)
    return tuple(words)


def docker_options(words: Sequence[str]) -> Iterator[DockerOption]:
    """Read the words the way Docker does: long options, short ones and clusters of short ones."""
    index = 0
    while index < len(words):
        found = list(_word(words, index))
        yield from found
        index += 2 if any(option.takes_next for option in found) else 1


def _word(words: Sequence[str], index: int) -> Iterator[DockerOption]:
    word = words[index]
    if word.startswith("--") and len(word) > len("--"):
        yield _long(words, index)
    elif word.startswith("-") and re.match(r"-[A-Za-z]", word):
        yield from _cluster(words, index)
    else:
        yield DockerOption(index, word, None, "options and their values; Docker would take this word for the image")


def _with_next(words: Sequence[str], index: int, name: str) -> DockerOption:
    if index + 1 < len(words):
        return DockerOption(index, name, words[index + 1], takes_next=True)
    return DockerOption(index, name, None, "a value after this option")


def _long(words: Sequence[str], index: int) -> DockerOption:
    name, equals, value = words[index][2:].partition("=")
    if equals:
        return DockerOption(index, name, value)
    if name in SWITCHES:
        return DockerOption(index, name, None)
    if name in VALUED or name in _OWNED:
        return _with_next(words, index, name)
    near = nearest(name, VALUED | SWITCHES)
    hint = f" (did you mean --{near}?)" if near else ""
    return DockerOption(index, name, None, f"an option of docker run{hint}; one unknown here is written --{name}=VALUE")


def _cluster(words: Sequence[str], index: int) -> Iterator[DockerOption]:
    letters = words[index][1:]
    for at, letter in enumerate(letters):
        name = SHORT.get(letter)
        if name is None:
            yield DockerOption(index, letter, None, "options of docker run; write this one by its long name")
            return
        if name in SWITCHES:
            yield DockerOption(index, name, None)
            continue
        rest = letters[at + 1 :].lstrip("=")
        yield DockerOption(index, name, rest) if rest else _with_next(words, index, name)
        return


def _fault(found: DockerOption) -> str | None:
    if found.name in _OWNED:
        return _OWNED[found.name]
    value = found.value or ""
    if found.name == "label" and value.startswith(_OWNED_LABEL):
        return f"labels that do not begin with {_OWNED_LABEL}: by these the collection finds its containers"
    if found.name == "tmpfs" and owned_target(value.split(":", 1)[0]):
        return f"a target outside {', '.join(OWNED_TARGETS)}"
    return None


def owned_target(path: str) -> bool:
    """Whether the collection fills this folder of the container; the whole of it (/) counts."""
    here = path.rstrip("/") + "/"
    return here == "/" or any(here.startswith(target + "/") for target in OWNED_TARGETS)


def _first_part(word: str) -> str:
    return word.partition("=")[0] if word.startswith("--") else word[:2]
