# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The containers of a service, through Docker's command line. No decisions.

No secret ever is an argument here. ``docker exec`` is not used: its arguments show in ``docker events``.
Private to the collection.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, cast

from ..release.service_state import ContainerSeen
from .commands import TIMED_OUT, Result, Runner, run
from .docker_socket import asleep

_ASK = 30.0
# After so long without an answer it is worth a look whether Docker has died meanwhile.
_FIRST_ASK = 5.0
# A line that is longer comes in parts, so that no log takes memory without end.
_LONGEST_LINE = 1 << 16
_MOST_AT_ONCE = 4 << 20
_SET_PIPE_SIZE, _PIPE_SIZE = 1031, 1 << 20  # fcntl has the name of the first from Python 3.10 on


class DockerError(Exception):
    """Docker refused or did not answer; the message is Docker's own."""


@dataclass(frozen=True)
class ContainerState:
    """What Docker says of one container."""

    id: str
    name: str
    status: str
    exit_code: int
    oom_killed: bool
    error: str
    started_at: str
    finished_at: str
    image: str
    labels: dict[str, str]

    @property
    def is_running(self) -> bool:
        """Whether its process lives."""
        return self.status in ("running", "paused", "restarting")


def with_label(label: str, value: str, *, runner: Runner = run) -> list[str]:
    """The full ids of all containers with this label, running or not; DockerError when Docker does not answer."""
    return _list(["--all", "--quiet", "--no-trunc", "--filter", f"label={label}={value}"], runner).split()


def listed(label: str, value: str, *, runner: Runner = run) -> list[ContainerSeen]:
    """The same with their names and states; DockerError when Docker does not answer."""
    words = ["--all", "--no-trunc", "--filter", f"label={label}={value}", "--format", "{{.ID}} {{.Names}} {{.State}}"]
    return [ContainerSeen(*line.split()) for line in _list(words, runner).splitlines()]


def publishing(port: int, *, runner: Runner = run) -> list[str]:
    """The names of the running containers that publish a port; nothing when Docker does not answer."""
    try:
        return _list(["--filter", f"publish={port}", "--format", "{{.Names}}"], runner).split()
    except DockerError:
        return []


def _list(words: Sequence[str], runner: Runner) -> str:
    """The first question to Docker, so the one that must not start it, nor wait for it when it dies just now."""
    argv = ["docker", "ps", *words]
    _require_awake(runner)
    result = runner(argv, timeout=_FIRST_ASK)
    if result.rc == TIMED_OUT:
        _require_awake(runner)
        result = runner(argv, timeout=_ASK - _FIRST_ASK)
    return _checked(result).out


def inspect(name: str, *, awake: bool = False, runner: Runner = run) -> ContainerState | None:
    """One container by id or name; None when there is none; DockerError when Docker does not answer.

    ``awake``: Docker has answered just now, so this question cannot start it.
    """
    if not awake:
        _require_awake(runner)
    result = runner(["docker", "container", "inspect", name], timeout=_ASK)
    if not result.ok and "no such container" in result.err.lower():
        return None
    return _state(json.loads(_checked(result).out)[0])


def stop(name: str, grace: float, *, runner: Runner = run) -> Result:
    """SIGTERM, and SIGKILL after ``grace`` seconds."""
    return runner(["docker", "stop", "-t", str(int(grace)), name], timeout=grace + _ASK)


def remove(name: str, *, runner: Runner = run) -> bool:
    """Remove a container whatever its state; False when it was not there; DockerError when Docker cannot."""
    result = runner(["docker", "rm", "--force", "--volumes", name], timeout=60.0)
    if not result.ok and "no such container" in result.err.lower():
        return False
    _checked(result)
    return True


def events(container_id: str, since: str, *, runner: Runner = run) -> list[str]:
    """What was done to a container since a moment, oldest first: ``kill 15``, ``die``, ``stop``, ``destroy`` ...

    Nothing when Docker does not answer. Docker remembers the last few hundred of all its events. It takes `0s` for the
    beginning of this second, and what ended a container just now is younger: so the end is told to the microsecond.
    """
    words = "{{.Action}}{{with .Actor.Attributes.signal}} {{.}}{{end}}"
    span = ["--since", since, "--until", f"{time.time():.6f}"]
    argv = ["docker", "events", *span, "--filter", f"container={container_id}", "--format", words]
    result = runner(argv, timeout=_ASK)
    return [line.strip() for line in result.out.splitlines() if line.strip()] if result.ok else []


def image_present(image_id: str, *, runner: Runner = run) -> bool:
    """Whether an image is here by its id; DockerError when Docker does not answer."""
    _require_awake(runner)
    result = runner(["docker", "image", "inspect", "--format", "{{.Id}}", image_id], timeout=_ASK)
    if not result.ok and "no such image" in result.err.lower():
        return False
    return _checked(result).out.strip() == image_id


def user_of(image_id: str, user: str | None, *, runner: Runner = run) -> tuple[int, int]:
    """The uid and gid that ``user`` (or the image's own user) is inside the image; DockerError when it is nobody."""
    if user is None:
        argv = ["docker", "image", "inspect", "--format", "{{.Config.User}}", image_id]
        user = _checked(runner(argv, timeout=_ASK)).out.strip()
    name, _colon, group = user.partition(":")
    if name.isdigit() and (group.isdigit() or not group):
        return int(name), int(group or 0)
    if name in ("", "root") and group in ("", "root"):
        return 0, 0
    argv = ["docker", "run", "--rm", "--pull", "never", "--network", "none", "--user", user, "--entrypoint", "/bin/sh"]
    uid, gid = _checked(runner([*argv, image_id, "-c", "id -u; id -g"], timeout=120.0)).out.split()
    return int(uid), int(gid)


def run_probe(argv: Sequence[str], *, runner: Runner = run) -> str | None:
    """Run a throw-away container to its end; None when it ended well, else what Docker or the container said."""
    result = runner(argv, timeout=180.0)
    return None if result.ok else docker_reason(result)


def docker_reason(result: Result) -> str:
    """Docker's own words without the parts that say nothing."""
    lines = [line.strip() for line in (result.err or result.out).splitlines() if line.strip()]
    useful = [line for line in lines if not line.startswith(("See 'docker", "Run 'docker"))]
    return " ".join(useful)[-1000:].replace("docker: Error response from daemon: ", "").strip() or f"exit {result.rc}"


class LogStream:
    """The log of a container as it grows; reading never waits."""

    def __init__(self, name: str) -> None:
        argv = ["docker", "logs", "--follow", name]
        self._process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._stream = cast(IO[bytes], self._process.stdout)
        os.set_blocking(self._stream.fileno(), False)
        with contextlib.suppress(OSError):  # what is read at once; the kernel's own size is a sixteenth
            fcntl.fcntl(self._stream.fileno(), _SET_PIPE_SIZE, _PIPE_SIZE)
        self._rest = b""

    def read(self) -> list[str]:
        """The lines that came since the last call, some thousand at most of a log that never ends."""
        ended = self.ended
        parts, size = [self._rest], 0
        with contextlib.suppress(BlockingIOError):
            while size < _MOST_AT_ONCE and (chunk := os.read(self._stream.fileno(), 65536)):
                parts.append(chunk)
                size += len(chunk)
        *whole, self._rest = b"".join(parts).replace(b"\r", b"\n").split(b"\n")
        if ended or len(self._rest) > _LONGEST_LINE:
            whole, self._rest = [*whole, self._rest], b""
        return [line for raw in whole for line in _lines(raw)]

    @property
    def ended(self) -> bool:
        """Whether the container has ended (or Docker has)."""
        return self._process.poll() is not None

    def close(self) -> None:
        """Stop following."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._stream.close()


def log_lines(name: str) -> Iterator[str]:
    """The whole log of a container, line by line, however long it is; DockerError where Docker cannot go on.

    Docker's own word then is the last line: it goes where the container's errors go.
    """
    argv = ["docker", "logs", name]
    with subprocess.Popen(  # pylint: disable=ansible-bad-function
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        stream = cast(IO[bytes], process.stdout)
        held = b""
        while raw := stream.readline(_LONGEST_LINE):
            yield from _lines(held)
            held = raw
    if process.returncode:
        raise DockerError(held.decode("utf-8", "replace").strip() or f"docker logs: exit {process.returncode}")
    yield from _lines(held)


def _lines(raw: bytes) -> Iterator[str]:
    """A progress bar rewrites its line, so ``\\r`` ends one too; empty ones say nothing."""
    parts = raw.decode("utf-8", "replace").rstrip("\n").split("\r")
    return (part[start : start + _LONGEST_LINE] for part in parts for start in range(0, len(part), _LONGEST_LINE))


def _require_awake(runner: Runner) -> None:
    down = asleep(runner=runner)
    if down:
        raise DockerError(down)


def _checked(result: Result) -> Result:
    if not result.ok:
        raise DockerError(docker_reason(result))
    return result


def _state(data: dict[str, Any]) -> ContainerState:
    state = data.get("State") or {}
    return ContainerState(
        id=data["Id"],
        name=str(data.get("Name", "")).lstrip("/"),
        status=str(state.get("Status", "")),
        exit_code=int(state.get("ExitCode", 0)),
        oom_killed=bool(state.get("OOMKilled")),
        error=str(state.get("Error", "")),
        started_at=str(state.get("StartedAt", "")),
        finished_at=str(state.get("FinishedAt", "")),
        image=str(data.get("Image", "")),
        labels=dict((data.get("Config") or {}).get("Labels") or {}),
    )
