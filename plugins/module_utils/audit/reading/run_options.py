# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The options of ``docker run`` and ``podman run`` in front of the image, and what they say of the container.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...services.docker_options import SHORT, SWITCHES, VALUED
from ..subject import Problem

_PODMAN_SWITCHES = "env-host http-proxy no-hostname no-hosts passwd read-only-tmpfs replace rmi tls-verify unsetenv-all"
_PODMAN_VALUED = (
    "arch authfile cap-add cert-dir cgroup-conf cgroups chrootdirs conmon-pidfile creds gidmap group-entry "
    "health-log-destination health-on-failure health-startup-cmd health-startup-interval health-startup-retries "
    "health-startup-success health-startup-timeout hostuser image-volume init-ctr init-path log-level os "
    "passwd-entry personality pidfile pod pod-id-file preserve-fds requires retry retry-delay sdnotify secret "
    "shm-size-systemd subgidname subuidname systemd timeout tz uidmap umask unsetenv variant"
)
_SWITCHES, _VALUED = SWITCHES.union(_PODMAN_SWITCHES.split()), VALUED.union(_PODMAN_VALUED.split())


@dataclass(frozen=True)
class RunLine:
    """Options by their long names in their order, the image, the words after it."""

    options: tuple[tuple[str, str], ...] = ()
    image: str | None = None
    command: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    def all(self, *names: str) -> tuple[str, ...]:
        """Every value of options that mean the same."""
        return tuple(value for name, value in self.options if name in names)

    def last(self, *names: str) -> str | None:
        """The value that counts, None where the option is not given."""
        return next(reversed(self.all(*names)), None)

    def is_on(self, name: str) -> bool:
        """Whether a switch is given and not ``=false``."""
        return (self.last(name) or "false").lower() in {"true", "1", "t"}


def read_run_line(words: Sequence[str]) -> RunLine:
    """Read the words after ``run``."""
    options: list[tuple[str, str]] = []
    problems: list[Problem] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if not word.startswith("-") or word == "-":
            break
        at += 1
        for name, value in _long(word) if word.startswith("--") else _short(word):
            if value is None and at < len(words):
                value, at = words[at], at + 1  # noqa: PLW2901 - the value of this very option
            options.append((name, "" if value is None else value))
            if name not in _SWITCHES and name not in _VALUED:
                problems.append(
                    Problem(
                        word.partition("=")[0][:80],
                        "no option of docker run has this name, so it is not known where the image stands",
                        "an option of docker run",
                    )
                )
    image = words[at] if at < len(words) else None
    return RunLine(tuple(options), image, tuple(words[at + 1 :]), tuple(problems))


def _long(word: str) -> Iterator[tuple[str, str | None]]:
    """One long option; the value None means that the next word is it."""
    name, equals, value = word[2:].partition("=")
    if equals:
        yield name, value
    else:
        yield name, None if name in _VALUED and name not in _SWITCHES else "true"


def _short(word: str) -> Iterator[tuple[str, str | None]]:
    """A cluster of short options: ``-itd``, ``-p8000:8000``, ``-e=K=V``."""
    letters = word[1:]
    for at, letter in enumerate(letters):
        name = SHORT.get(letter, letter)
        if name in _VALUED:
            rest = letters[at + 1 :]
            rest = rest[1:] if rest.startswith("=") else rest
            yield name, rest or None
            return
        yield name, "true"
