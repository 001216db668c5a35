# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A ``docker run`` or ``podman run`` line, alone or in a script.

Private to the collection.
"""

from __future__ import annotations

from ...versions import Version
from ..errors import AuditError
from ..subject import DOCKER_RUN, Container, Problem, Subject
from .inside import Inside, read_inside
from .parts import SIZE_EXPECTED, environment, go_seconds, publish, size_bytes
from .reach import EVERY, reached_on
from .run_options import RunLine, read_run_line
from .script import read_script, start_of_run
from .shell import split_words

_KEY = "VLLM_API_KEY"
_NVIDIA = "nvidia.com/gpu"
ENOUGH = 1 << 50  # a size that a variable says: nobody is warned of what is not known


def read_docker_run(text: str, version: Version, name: str | None = None) -> Subject:
    """Read the line, or the script that has it, as a subject."""
    return read_docker_runs(text, version, name)[0]


def read_docker_runs(text: str, version: Version, name: str | None = None) -> tuple[Subject, ...]:
    """Every container of a script that runs vLLM; where none says so, every container."""
    commands, problems = read_script(text)
    found: list[Subject] = []
    for command in commands:
        begin = start_of_run(command.words)
        if begin is None:
            continue
        line = read_run_line(command.words[begin:])
        found.append(subject_of_run(line, version, name, text, tuple(problems)))
    if not found:
        raise AuditError("no command of the text runs a container; expected `docker run [OPTIONS] IMAGE ...`")
    return tuple(one for one in found if runs_vllm(one)) or tuple(found)


def runs_vllm(subject: Subject) -> bool:
    """Whether the image or the command names vLLM."""
    image = subject.container.image if subject.container else None
    return "vllm" in (image or "").lower() or (subject.command is None and subject.words is not None)


def subject_of_run(
    line: RunLine, version: Version, name: str | None, text: str, problems: tuple[Problem, ...] = ()
) -> Subject:
    """One ``docker run`` as a subject; ``name`` None is the container's own name, or ``docker run``."""
    found: list[Problem] = [*problems, *line.problems]
    entrypoint = _entrypoint(line)
    inside = read_inside(entrypoint, line.command)
    container = container_of_run(line, entrypoint, found)
    if line.image is None:
        found.append(Problem("image", "docker run has no image", "docker run [OPTIONS] IMAGE [COMMAND]"))
    known, _bare = environment(line.all("env", "e")) or ({}, [])
    return Subject(
        kind=DOCKER_RUN,
        name=name or line.last("name") or DOCKER_RUN,
        words=inside.words if line.image is not None else None,
        command=inside.command if line.image is not None else None,
        env={**known, **inside.env},
        container=container,
        host_bind=_reached(line, inside, container, version),
        has_key=True if _KEY in container.secret_env else None,
        shell_text=inside.shell_text,
        raw_text=text,
        problems=(*found, *inside.problems),
    )


def container_of_run(line: RunLine, entrypoint: tuple[str, ...] | None, problems: list[Problem]) -> Container:
    """What the options say of the container; a size or a time that cannot be read becomes a problem."""
    _known, bare = environment(line.all("env", "e")) or ({}, [])
    has_check = False if line.is_on("no-healthcheck") else (True if line.last("health-cmd") else None)
    return Container(
        runner=DOCKER_RUN,
        image=line.image,
        entrypoint=entrypoint,
        shm_bytes=_size(line, "shm-size", problems),
        ipc=line.last("ipc"),
        network=line.last("network", "net"),
        publishes=tuple(publish(word) for word in line.all("publish")),
        user=line.last("user"),
        restart=line.last("restart"),
        remove=line.is_on("rm"),
        memory_bytes=_size(line, "memory", problems),
        gpus=line.last("gpus") or next((word for word in line.all("device") if word.startswith(_NVIDIA)), None),
        mounts=line.all("volume", "mount", "tmpfs"),
        env_files=line.all("env-file"),
        secret_env=tuple(bare),
        security_opts=line.all("security-opt"),
        ulimits=line.all("ulimit"),
        log_options=line.all("log-opt"),
        stop_seconds=_seconds(line, "stop-timeout", problems),
        has_healthcheck=has_check,
        start_period_seconds=_seconds(line, "health-start-period", problems),
    )


def _entrypoint(line: RunLine) -> tuple[str, ...] | None:
    """The entry point that the line sets; podman takes a JSON list, too."""
    said = line.last("entrypoint")
    if said is None:
        return None
    if said.startswith("["):
        return tuple(word.strip(",") for word in split_words(said.strip("[]").replace(",", " "))[0])
    return (said,) if said else ()


def _reached(line: RunLine, inside: Inside, container: Container, version: Version) -> str | None:
    if line.is_on("publish-all") and not container.publishes and container.network != "host":
        return EVERY if inside.words is not None else None
    return reached_on(inside.words, version, container)


def _size(line: RunLine, name: str, problems: list[Problem]) -> int | None:
    written = line.last(name)
    read = None if written is None else size_bytes(written)
    if written is not None and "$" in written:
        return ENOUGH
    if written is not None and read is None:
        problems.append(Problem(f"--{name}", f"{written[:80]!r} is no size", SIZE_EXPECTED))
    return read


def _seconds(line: RunLine, name: str, problems: list[Problem]) -> float | None:
    written = line.last(name)
    read = None if written is None else go_seconds(written)
    if written is not None and read is None and "$" not in written:
        problems.append(Problem(f"--{name}", f"{written[:80]!r} is no time", "a time such as 90s or 30m"))
    return read
