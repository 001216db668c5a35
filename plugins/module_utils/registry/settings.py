# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What an inventory says about registries.

Private to the collection.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ..host.refusal import refusal
from .reference import DOCKER_HUB

# Docker keeps the login of its own hub under this old name.
_HUB_LOGIN = "https://index.docker.io/v1/"
HUB_HOST = "registry-1.docker.io"


@dataclass(frozen=True)
class RegistrySettings:
    """Mirror, login, CA and proxy; ``server`` is who the login and the CA are for."""

    mirror: str | None = None
    insecure: tuple[str, ...] = ()
    server: str = DOCKER_HUB
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_cert: str | None = None
    proxy: str | None = None
    no_proxy: tuple[str, ...] = ()

    def login_for(self, server: str) -> tuple[str, str] | None:
        """The login to show to ``server``, and to nobody else."""
        if server == self.server and self.username:
            return (self.username, self.password or "")
        return None

    def docker_config(self) -> str | None:
        """The text of Docker's configuration file that holds the login; None when there is no login."""
        login = self.login_for(self.server)
        if login is None:
            return None
        key = _HUB_LOGIN if self.server == DOCKER_HUB else self.server
        auth = base64.b64encode(":".join(login).encode()).decode()
        return json.dumps({"auths": {key: {"auth": auth}}})


def registry_settings(data: Mapping[str, Any] | None) -> RegistrySettings:
    """Read the inventory's map; keys that are not set keep their defaults. A proxy with a password is refused."""
    given = {key: value for key, value in (data or {}).items() if value not in (None, "", [])}
    for key in ("insecure", "no_proxy"):
        if key in given:
            given[key] = tuple(given[key])
    if "@" in given.get("proxy", ""):
        raise refusal(
            "proxy_secret",
            "vllm_registry.proxy",
            "the URL holds a login, which Docker and systemd would show to every user of the host",
            "use a proxy that knows its hosts by address, or a mirror",
        )
    return RegistrySettings(**given)


def proxy_environment(settings: RegistrySettings) -> dict[str, str]:
    """The environment variables that say the same."""
    if not settings.proxy:
        return {}
    names = {"HTTP_PROXY": settings.proxy, "HTTPS_PROXY": settings.proxy}
    return {**names, "NO_PROXY": ",".join(settings.no_proxy)} if settings.no_proxy else names


@dataclass(frozen=True)
class Endpoint:
    """A place to ask: its base URL, the server it stands for, and how people call it."""

    base: str
    server: str
    label: str


def endpoints_for(server: str, settings: RegistrySettings) -> tuple[Endpoint, ...]:
    """Where to ask for an image of ``server``, in order: for Docker Hub's names the mirror first, as Docker does."""
    if server != DOCKER_HUB:
        scheme = "http" if server in settings.insecure else "https"
        return (Endpoint(f"{scheme}://{server}", server, server),)
    hub = Endpoint(f"https://{HUB_HOST}", DOCKER_HUB, HUB_HOST)
    if not settings.mirror:
        return (hub,)
    mirror = Endpoint(settings.mirror.rstrip("/"), urlsplit(settings.mirror).netloc, f"mirror {settings.mirror}")
    return (mirror, hub)
