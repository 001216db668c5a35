# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Short texts with a grammar: service names, addresses, networks, users, units, paths.

Each reader takes a value and gives it back judged; ValueError says what is allowed.
Private to the collection.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from typing import Any

SERVICE_NAME = "lower case letters, digits, - and _, beginning and ending with a letter or digit, at most 40"
_SERVICE_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?")
# A service has a folder of its name beside these files of the host.
_TAKEN = ("boot",)
_NETWORK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_USER = re.compile(r"\d{1,10}(?::\d{1,10})?")
_UNIT = re.compile(
    r"[A-Za-z0-9:_.\\@-]{1,200}\.(?:service|mount|target|socket|path|automount|device|swap|slice|scope|timer)"
)
_HOST_DEVICE = re.compile(r"/dev/[^\s:,]+(?::/[^\s:,]+)?(?::[rwm]{1,3})?")
_CDI_DEVICE = re.compile(r"[a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9_.-]*=[A-Za-z0-9][A-Za-z0-9_.:-]*")
_GPU_DEVICE = re.compile(r"/dev/(?:nvidia|dri/)\S*|nvidia\.com/gpu=\S*")
LARGEST_PORT = 65_535


def service_name(value: str) -> str:
    """A name that is a systemd unit, a container and a folder at the same time."""
    if not _SERVICE_NAME.fullmatch(value):
        raise ValueError(SERVICE_NAME)
    if value in _TAKEN:
        raise ValueError(f"another name than {' and '.join(_TAKEN)}, which this collection needs itself")
    return value


def port(value: int) -> int:
    """A TCP port."""
    if not 1 <= value <= LARGEST_PORT:
        raise ValueError(f"1 to {LARGEST_PORT}")
    return value


def bind(value: str) -> str:
    """An IP address of the host, in its shortest spelling, so that one address is one text."""
    allowed = "an IP address of the host, 127.0.0.1 for loopback, 0.0.0.0 for all"
    try:
        found = str(ipaddress.ip_address(value))
    except ValueError as error:
        raise ValueError(allowed) from error
    if "%" in found:  # a zone means something on one host only, and Docker publishes on none
        raise ValueError(allowed)
    return found


def network(value: str) -> str:
    """Where the container's network is."""
    if value in {"none", "default", "container"} or not _NETWORK.fullmatch(value):
        raise ValueError("bridge, host, or the name of a Docker network that exists; the server must be reachable")
    return value


def user(value: str) -> str:
    """A numeric user: the file with the secrets must be made its own before the image has been looked into."""
    if not _USER.fullmatch(value):
        raise ValueError('uid or uid:gid as numbers in quotes, "2000:0" say (unquoted, YAML makes one number of it)')
    return value


def unit(value: str) -> str:
    """A systemd unit with its suffix."""
    if not _UNIT.fullmatch(value):
        raise ValueError("a systemd unit with its suffix, srv-models.mount say")
    return value


def device(value: str) -> str:
    """A device that is no GPU."""
    if _GPU_DEVICE.match(value):
        raise ValueError("devices other than GPUs; GPUs are the service's key gpus")
    if not (_HOST_DEVICE.fullmatch(value) or _CDI_DEVICE.fullmatch(value)):
        raise ValueError("/dev/NAME, /dev/NAME:/dev/IN_CONTAINER:rwm, or a CDI name VENDOR/CLASS=NAME")
    return value


def path(value: str) -> str:
    """An absolute path, in its shortest spelling."""
    if not value.startswith("/"):
        raise ValueError("an absolute path")
    return "/" + posixpath.normpath(value).lstrip("/")


def text_list(value: list[Any]) -> list[str]:
    """A list of texts."""
    if not all(isinstance(item, str) for item in value):
        raise ValueError("a list of texts; put each item in quotes that YAML reads as something else")
    return value
