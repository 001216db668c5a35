# SPDX-License-Identifier: Apache-2.0
"""The lab's servers: the open registry that mirrors Docker Hub's names, the private one, and the model hub."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from . import build, hosts, names, pki, rootfs, state
from .names import HUB, PRIVATE, REGISTRY, Place
from .registry_api import Registry
from .steps import say, step

if TYPE_CHECKING:
    import docker

    from .debian import Source


def registry() -> Registry:
    """The open registry, as this machine reaches it."""
    return Registry(f"http://{REGISTRY.address}:{names.REGISTRY_PORT}")


def private() -> Registry:
    """The registry with a password and a CA of its own."""
    url = f"https://{PRIVATE.address}:{names.PRIVATE_PORT}"
    return Registry(url, (names.PRIVATE_USER, names.PRIVATE_PASSWORD), str(pki.ca_file()))


def _start(client: docker.DockerClient, place: Place, image: str, **more: Any) -> None:
    found = hosts.find(client, place)
    if found is not None and found.labels.get(names.LABEL_RECIPE) != image:
        say(f"{place.name}: its image changed, making it anew")
        found.remove(force=True)
        found = None
    if found is not None and found.status == "running":
        return
    with step(f"{place.name} ({place.address})"):
        if found is None:
            found = client.containers.create(
                image,
                name=place.container,
                hostname=place.name,
                labels=hosts.labels(place, image),
                network=names.NETWORK,
                networking_config=hosts.endpoint(client, place.address),
                **more,
            )
        found.start()


# The lane of the hosts and that of the engines both need the registries, and may come at the same moment.
ONE_BY_ONE = threading.Lock()


def registry_image(client: docker.DockerClient, source: Source) -> str:
    base = rootfs.ensure(client, rootfs.TRIXIE, source)
    return build.ensure(client, build.Recipe("registry", base, "trixie"), source)


def ensure_registry(client: docker.DockerClient, source: Source) -> None:
    """The open registry; its images outlive its container."""
    with ONE_BY_ONE:
        hosts.network(client)
        _start(client, REGISTRY, registry_image(client, source), volumes=_volume(REGISTRY))
    registry().wait()


def _volume(place: Place) -> dict[str, dict[str, str]]:
    return {place.volume: {"bind": "/var/lib/registry", "mode": "rw"}}


def ensure_private(client: docker.DockerClient, source: Source) -> None:
    """The private registry."""
    with ONE_BY_ONE:
        _ensure_private(client, source)
    private().wait()


def _ensure_private(client: docker.DockerClient, source: Source) -> None:
    hosts.network(client)
    pki.ensure()
    image = registry_image(client, source)
    passwords = pki.folder() / "htpasswd"
    if not passwords.exists():
        words = ["-Bbn", names.PRIVATE_USER, names.PRIVATE_PASSWORD]
        passwords.write_bytes(client.containers.run(image, words, entrypoint=["htpasswd"], remove=True))
    settings = {
        "REGISTRY_HTTP_ADDR": f":{names.PRIVATE_PORT}",
        "REGISTRY_HTTP_TLS_CERTIFICATE": "/pki/server.crt",
        "REGISTRY_HTTP_TLS_KEY": "/pki/server.key",
        "REGISTRY_AUTH": "htpasswd",
        "REGISTRY_AUTH_HTPASSWD_REALM": "lab",
        "REGISTRY_AUTH_HTPASSWD_PATH": "/pki/htpasswd",
    }
    mounts = {**_volume(PRIVATE), str(pki.folder()): {"bind": "/pki", "mode": "ro"}}
    _start(client, PRIVATE, image, volumes=mounts, environment=settings)


def ensure_hub(client: docker.DockerClient, source: Source) -> None:
    """The stand-in of the model hub. It serves the model folder, whatever is in it when it is asked."""
    hosts.network(client)
    base = rootfs.ensure(client, rootfs.BOOKWORM, source)
    image = build.ensure(client, build.Recipe("hub", base, "bookworm"), source)
    state.model_folder().mkdir(parents=True, exist_ok=True)
    mounts = {str(state.model_folder()): {"bind": "/models/tiny-llama", "mode": "ro"}}
    _start(
        client, HUB, image, volumes=mounts, environment={"HUB_TOKEN": names.HUB_TOKEN, "HUB_PORT": str(names.HUB_PORT)}
    )
