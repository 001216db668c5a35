# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What was seen of a server that somebody started by hand: its container and image as ``docker inspect`` tells them.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..release.paths import LABEL_PROBE, LABEL_SERVICE

COMPOSE_PROJECT = "com.docker.compose.project"
COMPOSE_SERVICE = "com.docker.compose.service"
COMPOSE_FILES = "com.docker.compose.project.config_files"
COMPOSE_FOLDER = "com.docker.compose.project.working_dir"


@dataclass(frozen=True)
class UnitSeen:
    """The systemd unit that starts a container; ``others`` are the other containers that it starts, too."""

    name: str
    enabled: bool = False
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """One container with its image, and what its host and its server said besides."""

    container: Mapping[str, Any] = field(repr=False)
    image: Mapping[str, Any] = field(repr=False)
    unit: UnitSeen | None = None
    api_version: str | None = None
    commit: str | None = None
    config_file: Mapping[str, Any] | None = field(default=None, repr=False)
    start_seconds: float | None = None

    @property
    def id(self) -> str:
        """The full id of the container."""
        return str(self.container.get("Id") or "")

    @property
    def name(self) -> str:
        """The name of the container."""
        return str(self.container.get("Name") or "").lstrip("/")

    @property
    def config(self) -> Mapping[str, Any]:
        """What was asked of the container apart from the host."""
        return part(self.container, "Config")

    @property
    def host(self) -> Mapping[str, Any]:
        """What was asked of the host."""
        return part(self.container, "HostConfig")

    @property
    def image_config(self) -> Mapping[str, Any]:
        """What the image brings along."""
        return part(self.image, "Config")

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the container."""
        return {str(key): str(value) for key, value in part(self.config, "Labels").items()}

    @property
    def is_ours(self) -> bool:
        """Whether this collection started it."""
        return bool({LABEL_SERVICE, LABEL_PROBE} & set(self.labels))

    @property
    def network(self) -> str:
        """The network as it was asked for; Docker's own default is ``bridge``."""
        said = str(self.host.get("NetworkMode") or "bridge")
        return "bridge" if said == "default" else said

    @property
    def mounts(self) -> tuple[Mapping[str, Any], ...]:
        """Binds and volumes."""
        return maps(self.container.get("Mounts"))

    @property
    def own_env(self) -> dict[str, str]:
        """The variables that the image does not bring along."""
        brought = set(texts(self.image_config.get("Env")))
        pairs = (text.partition("=") for text in texts(self.config.get("Env")) if text not in brought)
        return {name: value for name, sign, value in pairs if sign}

    def env(self, name: str) -> str | None:
        """A variable, whoever set it."""
        pairs = (text.partition("=") for text in texts(self.config.get("Env")))
        return next((value for key, sign, value in pairs if sign and key == name), None)


def part(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A map below a key; an empty one where Docker says null."""
    found = data.get(key)
    return found if isinstance(found, Mapping) else {}


def texts(value: object) -> tuple[str, ...]:
    """A list of texts; an empty one where Docker says null."""
    return tuple(str(item) for item in value) if isinstance(value, (list, tuple)) else ()


def maps(value: object) -> tuple[Mapping[str, Any], ...]:
    """A list of maps; an empty one where Docker says null."""
    return tuple(item for item in value if isinstance(item, Mapping)) if isinstance(value, (list, tuple)) else ()


def whole(value: object) -> int:
    """A number; 0 where Docker says null."""
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


def published(seen: Seen) -> Iterator[tuple[int, str, int]]:
    """Each published TCP port: inside, the address of the host (empty: all), the port of the host."""
    ports = part(seen.container, "NetworkSettings")
    for inner, places in part(ports, "Ports").items():
        port, _slash, protocol = str(inner).partition("/")
        for place in maps(places) if protocol == "tcp" else ():
            yield int(port), str(place.get("HostIp") or ""), int(place.get("HostPort") or 0)
