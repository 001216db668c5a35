# SPDX-License-Identifier: Apache-2.0
"""The lab's hosts: containers that run systemd, sshd and a Docker of their own on the lab's network."""

from __future__ import annotations

import io
import subprocess
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import docker

from . import build, engine, names, rootfs, state
from .names import DEBIAN_12, DEBIAN_13_BARE, Place
from .steps import LabError, say, step

if TYPE_CHECKING:
    from docker.models.containers import Container

    from .debian import Source

BOOT_SECONDS = 90.0
EXEC_SECONDS = 900.0
_UP = ("running", "degraded", "starting")


@dataclass(frozen=True)
class Output:
    """What a command on a host left."""

    code: int
    stdout: str
    stderr: str


def image_for(client: docker.DockerClient, kind: str, source: Source) -> str:
    """The image of a kind of host, made when it is missing."""
    if kind == DEBIAN_12:
        base = rootfs.ensure(client, rootfs.BOOKWORM, source)
        return build.ensure(client, build.Recipe("debian12-docker", base, "bookworm", common=True), source)
    base = rootfs.ensure(client, rootfs.TRIXIE, source)
    bare = build.ensure(client, build.Recipe("debian13", base, "trixie", common=True), source)
    if kind == DEBIAN_13_BARE:
        return bare
    return build.ensure(client, build.Recipe("debian13-docker", bare, "trixie"), source)


def network(client: docker.DockerClient) -> None:
    """The lab's network, on which each host has its fixed address."""
    if client.networks.list(names=[f"^{names.NETWORK}$"]):
        return
    pool = docker.types.IPAMPool(subnet=names.SUBNET, gateway=names.GATEWAY)
    try:
        client.networks.create(
            names.NETWORK, driver="bridge", ipam=docker.types.IPAMConfig(pool_configs=[pool]), labels={names.LABEL: "1"}
        )
    except docker.errors.APIError as error:
        message = (
            f"the network {names.SUBNET} cannot be made ({error.explanation}): free that range, see docker network ls."
        )
        raise LabError(message) from error


def find(client: docker.DockerClient, place: Place) -> Container | None:
    """The container of a host or server, when there is one."""
    try:
        return client.containers.get(place.container)
    except docker.errors.NotFound:
        return None


def running(client: docker.DockerClient, name: str) -> Container:
    """The running container of a host, or an error that says how to get it."""
    found = find(client, Place(name, "", ""))
    if found is None or found.status != "running":
        message = f"the lab has no running host {name}; run: python -m tests.lab up --hosts {name}"
        raise LabError(message)
    return found


def labels(place: Place, recipe: str) -> dict[str, str]:
    return {
        names.LABEL: "1",
        names.LABEL_NAME: place.name,
        names.LABEL_KIND: place.kind,
        names.LABEL_ADDRESS: place.address,
        names.LABEL_RECIPE: recipe,
    }


def endpoint(client: docker.DockerClient, address: str) -> dict[str, object]:
    return {names.NETWORK: client.api.create_endpoint_config(ipv4_address=address)}


def _cgroup_words(client: docker.DockerClient, kind: str) -> dict[str, str]:
    """systemd 257 refuses version 1, so it always mounts version 2 itself; the old host takes what the machine has."""
    old_way = kind == DEBIAN_12 and engine.cgroup_version(client.info()) == 1
    return {"LAB_CGROUP": "v1" if old_way else "v2"}


def _create(client: docker.DockerClient, place: Place, image: str) -> Container:
    limits = client.api.create_host_config(
        # Not `privileged`: where the outer machine itself lacks a capability, Docker cannot give that one.
        cap_add=["ALL"],
        cap_drop=["SYS_RESOURCE"],
        security_opt=["seccomp=unconfined", "apparmor=unconfined"],
        device_cgroup_rules=["a *:* rwm"],
        tmpfs={"/run": "", "/run/lock": "", "/tmp": ""},
        binds={place.volume: {"bind": "/var/lib/docker", "mode": "rw"}},
        network_mode=names.NETWORK,
    )
    # What `--security-opt systempaths=unconfined` and `--cgroupns private` of the command line are in the API.
    limits.update(MaskedPaths=[], ReadonlyPaths=[], CgroupnsMode="private")
    made = client.api.create_container(
        image,
        name=place.container,
        hostname=place.name,
        labels=labels(place, image),
        environment=_cgroup_words(client, place.kind),
        stop_signal="SIGRTMIN+3",
        host_config=limits,
        networking_config=client.api.create_networking_config(endpoint(client, place.address)),
    )
    return client.containers.get(made["Id"])


def ensure_key() -> str:
    """The lab's own ssh key, made once; returns the public half."""
    key = state.private_key()
    if not key.exists():
        state.folder("ssh")
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "gpuhosts-lab", "-f", str(key)], check=True
        )
    return key.with_suffix(".pub").read_text(encoding="ascii")


def packed(files: dict[str, tuple[int, bytes]]) -> bytes:
    """A tar of files: path -> mode and content, all owned by root."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path, (mode, content) in files.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.mode, entry.size, entry.mtime = mode, len(content), 0
            archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def put(container: Container, files: dict[str, tuple[int, bytes]]) -> None:
    """Write files into a container's own file system; not for /run and /tmp, which are memory of the running one."""
    container.put_archive("/", packed(files))


def ensure(client: docker.DockerClient, place: Place, image: str) -> None:
    """A host that runs from this image; one from an older recipe is made anew, and keeps its Docker volume."""
    found = find(client, place)
    if found is not None and found.labels.get(names.LABEL_RECIPE) != image:
        say(f"host {place.name}: its image changed, making it anew")
        found.remove(force=True)
        found = None
    if found is not None and found.status == "running" and _state(found) in _UP:
        return  # a deployed service that starts or failed is the business of whoever deployed it
    with step(f"host {place.name} ({place.kind}, {place.address})"):
        made = found or _make(client, place, image)
        made.start()
        wait = wait_reachable if found else wait_running
        wait(made, place.name)


def _make(client: docker.DockerClient, place: Place, image: str) -> Container:
    if place.kind == DEBIAN_13_BARE:
        remove_volume(client, place)  # a bare host has no images of an earlier life
    made = _create(client, place, image)
    put(made, {"/root/.ssh/authorized_keys": (0o600, ensure_key().encode())})
    return made


def remove_volume(client: docker.DockerClient, place: Place) -> None:
    try:
        client.volumes.get(place.volume).remove(force=True)
    except docker.errors.NotFound:
        return


def _state(container: Container) -> str:
    return container.exec_run(["systemctl", "is-system-running"]).output.decode(errors="replace").strip()


def wait_running(container: Container, name: str) -> None:
    """Wait until systemd says that the host runs; name what failed when it does not."""
    deadline = time.monotonic() + BOOT_SECONDS
    said = "nothing"
    while time.monotonic() < deadline:
        container.reload()
        if container.status == "exited":
            break
        said = _state(container)
        if said in ("running", "degraded"):
            break
        time.sleep(0.3)
    if said == "running":
        return
    failed = ""
    if container.status == "running":
        failed = container.exec_run(["systemctl", "--failed", "--no-legend", "--plain"]).output.decode(errors="replace")
    message = (
        f"host {name} did not boot to `running` (it is `{said}`, container {container.status}; failed: "
        f"{' '.join(failed.split()) or 'none named'}); see: docker logs {container.name}"
    )
    raise LabError(message)


def wait_reachable(container: Container, name: str) -> None:
    """Wait until a host that has booted before lets one in; its services may still be starting, or have failed."""
    deadline = time.monotonic() + BOOT_SECONDS
    while time.monotonic() < deadline:
        if container.exec_run(["systemctl", "is-active", "--quiet", "ssh.service"]).exit_code == 0:
            return
        time.sleep(0.2)
    message = f"host {name} has no sshd {BOOT_SECONDS:.0f} s after its boot; see: docker logs {container.name}"
    raise LabError(message)


def up(client: docker.DockerClient, wanted: tuple[Place, ...], source: Source) -> None:
    """All these hosts, running; made and booted two at a time."""
    network(client)
    images = {kind: image_for(client, kind, source) for kind in dict.fromkeys(place.kind for place in wanted)}
    with ThreadPoolExecutor(max_workers=2) as pool:
        for done in [pool.submit(ensure, engine.client(), place, images[place.kind]) for place in wanted]:
            done.result()


def exec_on(name: str, command: str | list[str], client: docker.DockerClient | None = None) -> Output:
    """Run a command as root on a host, past ssh and Ansible: for tests that look or break things there."""
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else command
    container = running(client or engine.client(), name)
    # The library loses the first bytes of an answer that comes together with the headers; the client does not.
    done = subprocess.run(
        ["docker", "exec", str(container.name), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=EXEC_SECONDS,
        check=False,
    )
    return Output(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def reboot(name: str) -> None:
    """An orderly reboot: units stop, /run is emptied. Boot id and uptime stay the outer kernel's."""
    container = running(engine.client(), name)
    container.restart(timeout=120)
    wait_reachable(container, name)


def power_cut(name: str) -> None:
    """A power cut: nothing gets to stop. What was written survives in the page cache, so this says nothing of fsync."""
    container = running(engine.client(), name)
    container.kill(signal="SIGKILL")
    container.wait(timeout=60)
    container.start()
    wait_reachable(container, name)


def extras(client: docker.DockerClient) -> tuple[Place, ...]:
    """Hosts beside the standing set, made by `hosts-new`."""
    standing = {place.name for place in (*names.HOSTS, *names.SERVERS)}
    found = client.containers.list(all=True, filters={"label": names.LABEL_NAME})
    return tuple(
        Place(c.labels[names.LABEL_NAME], c.labels[names.LABEL_ADDRESS], c.labels[names.LABEL_KIND])
        for c in found
        if c.labels[names.LABEL_NAME] not in standing
    )


def new(client: docker.DockerClient, name: str, kind: str, source: Source) -> Place:
    """One more host, at the first free address."""
    known = {place.name: place for place in (*names.HOSTS, *extras(client))}
    taken = {place.address for place in known.values()}
    address = names.free_address(taken)
    if name in known:
        place = known[name]
    elif address is None:
        message = "the lab has no free address for one more host; run: python -m tests.lab clean"
        raise LabError(message)
    else:
        place = Place(name, address, kind)
    up(client, (place,), source)
    return place
