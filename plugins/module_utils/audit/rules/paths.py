# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Files that the server is to read, and that no mount brings into the container.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath

from ...config.command_line import CommandLine
from ...findings import WARNING
from ..case import Case
from ..subject import COMPOSE, DOCKER_RUN, Container
from .saying import Said, line_rule
from .values import is_official

_OPTIONS = (
    "--chat-template",
    "--tool-parser-plugin",
    "--reasoning-parser-plugin",
    "--config",
    "--ssl-keyfile",
    "--ssl-certfile",
    "--ssl-ca-certs",
    "--tokenizer",
    "--log-config-file",
)
_KNOWN = frozenset({DOCKER_RUN, COMPOSE})
_OF_THE_IMAGE = (
    "/vllm-workspace",
    "/usr",
    "/opt",
    "/etc/ssl",
    "/proc",
    "/sys",
    "/dev",
    "/tmp",
    "/root",
    "/home",
    "/run",
)


@line_rule("path_not_in_container", WARNING, "docker/Dockerfile 0.11.1, 0.19.1, 0.33.0; docs/deployment/docker.md")
def _paths(case: Case, line: CommandLine) -> Iterator[Said]:
    container = case.subject.container
    if container is None or not _is_plain(container) or case.subject.shell_text:
        return
    places = [("--model", line.model or "")]
    places += [(name, line.value(name) or "") for name in _OPTIONS]
    inside = _destinations(container)
    for part, path in places:
        if inside is not None and path.startswith("/") and "$" not in path and not _is_there(path, inside):
            yield Said(
                part,
                f"{path} is not of the image, and no mount of the container brings it: the start fails",
                "mount the folder that holds it, and name the path as the container sees it",
                observed=path,
            )


def _is_plain(container: Container) -> bool:
    """Whether what the image holds and what its mounts bring is known: the published image, its own entry point."""
    return container.runner in _KNOWN and is_official(container.image) and container.entrypoint is None


def _is_there(path: str, inside: list[str]) -> bool:
    path = normpath(path)
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in (*_OF_THE_IMAGE, *inside))


def _destinations(container: Container) -> list[str] | None:
    """Where mounts lead, None where one of them cannot be read."""
    places = [_destination(mount) for mount in container.mounts]
    return None if any(place is None for place in places) else [place for place in places if place]


def _destination(mount: str) -> str | None:
    if "=" in mount and "," in mount:
        fields = dict(field.partition("=")[::2] for field in mount.split(","))
        place = fields.get("target") or fields.get("dst") or fields.get("destination")
    else:
        parts = [part for part in mount.split(":") if part.startswith("/")]
        place = parts[-1] if parts else None
    return normpath(place) if place and "$" not in place else None


RULES = (_paths,)
