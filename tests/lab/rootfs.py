# SPDX-License-Identifier: Apache-2.0
"""Debian base images made by debootstrap: nothing is pulled, so no image registry is needed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import threading
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import docker

from . import names, state
from .shell import as_root, run
from .steps import LabError, step

if TYPE_CHECKING:
    from pathlib import Path

    from .debian import Source

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True)
class Base:
    """A base image: a Debian suite with a few packages."""

    suite: str
    packages: tuple[str, ...]

    @property
    def tag(self) -> str:
        digest = hashlib.sha256(" ".join((self.suite, *sorted(self.packages))).encode()).hexdigest()[:12]
        return f"{names.PREFIX}/{self.suite}:{digest}"


TRIXIE = Base(
    "trixie",
    (
        *("systemd", "systemd-sysv", "dbus", "python3", "ca-certificates", "curl", "iproute2", "iptables"),
        *("procps", "openssh-server", "sudo"),
    ),
)
BOOKWORM = Base("bookworm", ("python3", "ca-certificates"))  # the ground of the engine images and of the old host


_LOCKS: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def one_maker(tag: str) -> threading.Lock:
    """The lock of whoever makes this image."""
    return _LOCKS[tag]


def present(client: docker.DockerClient, tag: str) -> bool:
    """Whether an image is there."""
    try:
        client.images.get(tag)
    except docker.errors.ImageNotFound:
        return False
    return True


def ensure(client: docker.DockerClient, base: Base, source: Source) -> str:
    """Make the base image when it is missing; return its tag. Two lanes may want the same one: the second waits."""
    with one_maker(base.tag):
        if not present(client, base.tag):
            with step(f"make a Debian {base.suite} root file system with debootstrap"):
                _make(client, base, source)
    return base.tag


def _make(client: docker.DockerClient, base: Base, source: Source) -> None:
    target = state.folder("rootfs") / base.suite
    remove_tree(target)
    command = [
        *("debootstrap", "--variant=minbase", f"--include={','.join(base.packages)}", f"--keyring={KEYRING}"),
        *(base.suite, str(target), source.mirror),
    ]
    try:
        run(as_root(command), env=source.environment, what=f"debootstrap of {base.suite}")
        _import(client, target, base)
    finally:
        remove_tree(target)


def _import(client: docker.DockerClient, target: Path, base: Base) -> None:
    repository, tag = base.tag.split(":")
    packing = subprocess.Popen(
        as_root(["tar", "-C", str(target), "--numeric-owner", "--exclude=./var/cache/apt/archives/*.deb", "-c", "."]),
        stdout=subprocess.PIPE,
    )
    try:
        client.api.import_image(
            src=packing.stdout,
            repository=repository,
            tag=tag,
            changes=['CMD ["/bin/bash"]', f"LABEL {names.LABEL}=1"],
        )
    finally:
        if packing.stdout:
            packing.stdout.close()
    if packing.wait() != 0:
        message = f"packing {target} failed; is the disk full? See: df -h {target}"
        raise LabError(message)


def remove_tree(target: Path) -> None:
    """Remove a root file system, which may belong to root."""
    if target.exists():
        try:
            shutil.rmtree(target)
        except PermissionError:
            run(as_root(["rm", "-rf", "--one-file-system", str(target)]), what=f"removing {target}")
