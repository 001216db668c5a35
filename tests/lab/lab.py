# SPDX-License-Identifier: Apache-2.0
"""The whole lab: bring it up in two lanes, stop it, remove it, tell its state."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import docker

from . import debian, engine, engine_images, hosts, model, names, prerequisites, servers, state
from .steps import LabError, say, step

if TYPE_CHECKING:
    from collections.abc import Callable

    from .debian import Source
    from .names import Place

REAL, STANDIN = "real", "standin"


@dataclass(frozen=True)
class Wish:
    """What `up` is asked for."""

    hosts: tuple[Place, ...]
    engines: tuple[str, ...] = (REAL, STANDIN)
    versions: tuple[str, ...] = engine_images.VERSIONS


def up(wish: Wish) -> None:
    """Make and start what is not there. The hosts and the engines do not need each other, and there are two cores."""
    engine.ensure()
    hosts.ensure_key()
    hosts.network(engine.client())
    source = debian.of_this_machine()
    with ThreadPoolExecutor(max_workers=2) as pool:
        lanes = [pool.submit(_hosts_lane, wish, source), pool.submit(_engines_lane, wish, source)]
        problems = [lane.exception() for lane in lanes]
    for problem in problems:
        if problem is not None:
            raise problem
    client = engine.client()
    for place in (*names.HOSTS, *hosts.extras(client)):
        found = hosts.find(client, place)
        if found is not None and found.status == "running":
            model.place(found, place.name)
    say("the lab is up: " + ", ".join(f"{place.name} {place.address}" for place in (*wish.hosts, *names.SERVERS)))


def _hosts_lane(wish: Wish, source: Source) -> None:
    client = engine.client()
    servers.ensure_registry(client, source)
    hosts.up(client, wish.hosts, source)
    servers.ensure_private(client, source)


def _engines_lane(wish: Wish, source: Source) -> None:
    client = engine.client()
    servers.ensure_hub(client, source)
    if REAL in wish.engines:
        engine_images.ensure_real(client, source, wish.versions)
    if STANDIN in wish.engines:
        servers.ensure_registry(client, source)
        engine_images.ensure_standin(client, servers.registry(), source)
        servers.ensure_private(client, source)
        engine_images.ensure_standin(client, servers.private(), source)


def ours(client: docker.DockerClient) -> list[docker.models.containers.Container]:
    return list(client.containers.list(all=True, filters={"label": names.LABEL}))


def down() -> None:
    """Stop hosts and servers; keep them, their images and the state."""
    client = engine.client()
    running = [container for container in ours(client) if container.status == "running"]
    with ThreadPoolExecutor(max_workers=4) as pool:
        for done in [pool.submit(container.stop, timeout=60) for container in running]:
            done.result()
    say(f"stopped {len(running)} containers; the next `up` starts them again in seconds")


def _each(what: str, found: list[object], remove: Callable[[object], None]) -> None:
    """Remove things; one that is used by somebody else stays, and is named."""
    for thing in found:
        try:
            remove(thing)
        except docker.errors.APIError as error:
            say(f"a {what} of the lab stays: {error.explanation}")
    if found:
        say(f"removed: {len(found)} {what}s")


def _image_names(client: docker.DockerClient) -> list[str]:
    """All tags that the lab made. Children before parents, or the parents cannot go."""
    found = [image for image in client.images.list() if any(tag.startswith(f"{names.PREFIX}/") for tag in image.tags)]
    found.sort(key=lambda image: len(image.history()), reverse=True)
    return [tag for image in found for tag in image.tags if tag.startswith(f"{names.PREFIX}/")]


def clean() -> None:
    """Remove all that the lab made, the dockerd that it started too; the apt packages stay, and are listed."""
    if engine.answers():
        with step("remove the lab's containers, volumes, network and images"):
            _clean_engine(engine.client())
    elif state.home().exists():
        say("Docker does not run, so its containers, volumes and images cannot be removed; start it and run this again")
    engine.stop_ours()
    if state.home().exists():
        state.wipe()
        say(f"removed: the lab's files in {state.home()}")
    say("these system packages stay: " + " ".join(need.package for need in prerequisites.NEEDS))


def _clean_engine(client: docker.DockerClient) -> None:
    _each("container", list(ours(client)), lambda container: container.remove(force=True, v=True))
    volumes = [volume for volume in client.volumes.list() if volume.name.startswith(f"{names.PREFIX}-")]
    _each("volume", list(volumes), lambda volume: volume.remove(force=True))
    _each("network", client.networks.list(names=[f"^{names.NETWORK}$"]), lambda network: network.remove())
    _each("image", _image_names(client), lambda tag: client.images.remove(tag, force=True))


def status() -> None:
    """What there is: engine, containers, images in the registry, model."""
    if not engine.answers():
        say("Docker does not answer; run: python -m tests.lab up")
        return
    client = engine.client()
    pid = engine.started_by_us()
    say("Docker runs, " + (f"started by the lab (pid {pid})" if pid else "not started by the lab"))
    for container in sorted(ours(client), key=lambda one: one.name):
        address = container.labels.get(names.LABEL_ADDRESS, "-")
        kind = container.labels.get(names.LABEL_KIND, "-")
        say(f"  {container.labels.get(names.LABEL_NAME, container.name):10} {address:13} {kind:14} {container.status}")
    say(f"model: {'made' if model.files() else 'not made yet'}, in {state.model_folder()}")
    for repository in (engine_images.REAL, engine_images.STANDIN):
        for version in engine_images.VERSIONS:
            say(f"  {repository}:v{version}: {_digest(repository, version)}")
    free = shutil.disk_usage(state.folder()).free / 2**30
    say(f"{free:.0f} GiB are free where the state is")


def _digest(repository: str, version: str) -> str:
    try:
        found = servers.registry().manifest(repository, f"v{version}")
    except LabError:
        return "the registry does not run"
    return found["digest"] if found else "not in the registry"
