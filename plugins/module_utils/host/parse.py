# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read the small texts in which Linux describes itself.

Private to the collection.
"""

from __future__ import annotations

import json
import re
import shlex
import struct
from collections.abc import Iterator
from ipaddress import ip_address

from .facts import Listener, OperatingSystem, Package

_LISTEN = "0A"
_COLUMNS = 10
_CONTAINER = re.compile(r"docker[-/]([0-9a-f]{64})")
_CDI_NAME = re.compile(r"^\s*(?:-\s+)?name\s*:\s*['\"]?([A-Za-z0-9_.:-]+)['\"]?\s*$", re.MULTILINE)
_CDI_KIND = re.compile(r"^kind\s*:\s*['\"]?nvidia\.com/gpu['\"]?\s*$", re.MULTILINE)
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def parse_os_release(text: str, dgx: bool = False) -> OperatingSystem:
    """Read /etc/os-release; what it does not say is ``unknown``."""
    values = dict(word.split("=", 1) for word in shlex.split(text, comments=True) if "=" in word)
    name, version = values.get("ID", "unknown"), values.get("VERSION_ID", "unknown")
    pretty = values.get("PRETTY_NAME", f"{name} {version}")
    return OperatingSystem(name, version, pretty, dgx, values.get("VERSION_CODENAME"))


def parse_meminfo(text: str) -> tuple[int, int]:
    """Total and available bytes of /proc/meminfo."""
    rows = (line.split() for line in text.splitlines())
    values = {cells[0].rstrip(":"): int(cells[1]) * 1024 for cells in rows if len(cells) > 1 and cells[1].isdigit()}
    return values.get("MemTotal", 0), values.get("MemAvailable", 0)


def parse_systemd_version(text: str) -> str | None:
    """The number in the first line of ``systemctl --version``: ``systemd 257 (257.9-1~deb13u1)``."""
    words = text.split()
    return words[1] if words[:1] == ["systemd"] and len(words) > 1 else None


def parse_packages(text: str) -> tuple[Package, ...]:
    """Read name, version, what is wanted and what is, of each package; only what is installed counts."""
    rows = (line.split() for line in text.splitlines())
    found = [Package(cells[0], cells[1], cells[2] == "hold") for cells in rows if cells[3:] == ["installed"]]
    return tuple(sorted(found, key=lambda package: package.name))


def platform_of(system: str, machine: str) -> str:
    """Write ``Linux``, ``x86_64`` as ``linux/amd64``."""
    return f"{system.lower()}/{_MACHINES.get(machine, machine)}"


def parse_listening(text: str) -> Iterator[tuple[str, Listener]]:
    """Read /proc/net/tcp or tcp6: the socket's inode, and the listener without its holder."""
    for line in text.splitlines()[1:]:
        cells = line.split()
        if len(cells) >= _COLUMNS and cells[3] == _LISTEN:
            address, port = cells[1].split(":")
            yield cells[9], Listener(_address(address), int(port, 16))


def _address(text: str) -> str:
    """The kernel prints each 32-bit word in the host's byte order."""
    words = [int(text[start : start + 8], 16) for start in range(0, len(text), 8)]
    packed = b"".join(struct.pack("=I", word) for word in words)
    return str(ip_address(packed))


def container_of(cgroup: str) -> str | None:
    """The id of the container that a process is in, from its /proc/<pid>/cgroup."""
    match = _CONTAINER.search(cgroup)
    return match.group(1) if match else None


def parse_cdi(text: str) -> tuple[str, ...]:
    """The GPU names of a CDI specification, JSON or YAML; none when it is of another kind.

    A YAML reader is not to be had on a managed host: of YAML the form that ``nvidia-ctk`` writes is read, by lines.
    """
    try:
        data = json.loads(text)
    except ValueError:
        return tuple(dict.fromkeys(_CDI_NAME.findall(text))) if _CDI_KIND.search(text) else ()
    if not isinstance(data, dict) or data.get("kind") != "nvidia.com/gpu":
        return ()
    return tuple(str(device.get("name")) for device in data.get("devices") or ())
