# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Where a hand-made server listens on its host: the keys ``port`` and ``bind``.

Private to the collection.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from ..findings import WARNING
from ..services.exposure import API_KEY
from .notes import Notes
from .seen import Seen, published

LOOPBACK = "127.0.0.1"
_EVERY = "0.0.0.0"
_DEFAULT_PORT = 8000


@dataclass(frozen=True)
class Place:
    """An address and a port of the host; ``is_published`` is false where only other containers reach the server."""

    address: str
    port: int
    is_published: bool = True

    @property
    def url(self) -> str:
        """Where the host itself reaches the server."""
        address = LOOPBACK if self.address in ("", _EVERY, "::") else self.address
        return f"http://[{address}]:{self.port}" if ":" in address else f"http://{address}:{self.port}"


def place_of(seen: Seen, host: str | None, port: str | None) -> Place:
    """Where the server of these words is reached."""
    inside = int(port) if port and port.isdigit() and len(port) < 6 else _DEFAULT_PORT  # noqa: PLR2004 - a port
    if seen.network == "host":
        return Place(_address(host or _EVERY), inside)
    outside = sorted((address or _EVERY, number) for own, address, number in published(seen) if own == inside)
    plain = [place for place in outside if ":" not in place[0]] or outside
    return Place(_address(plain[0][0]), plain[0][1]) if plain else Place(LOOPBACK, inside, is_published=False)


def _address(written: str) -> str:
    if written == "localhost":
        return LOOPBACK
    try:
        return str(ipaddress.ip_address(written.strip("[]")))
    except ValueError:
        return _EVERY


def read_place(place: Place, notes: Notes) -> dict[str, object]:
    """The keys of the definition: an address beyond loopback only where a key protects it."""
    keys: dict[str, object] = {"port": place.port}
    if not place.is_published:
        message = f"published no port; the service listens on {LOOPBACK}:{place.port}"
        notes.say("port_unpublished", WARNING, message, "write port: and bind: as clients shall reach it", "port")
        return keys
    if ipaddress.ip_address(place.address).is_loopback:
        return keys if place.address == LOOPBACK else {**keys, "bind": place.address}
    where = f"is reached on {place.address}:{place.port}"
    if API_KEY in notes.secrets:
        notes.say(
            "published", WARNING, f"{where}, with a key", "keep it only if clients of other machines need it", "bind"
        )
        return {**keys, "bind": place.address}
    message = f"{where} without a key; the service listens on {LOOPBACK} until you say more"
    remedy = (
        f"for clients of other machines write bind: {place.address!r} and put {API_KEY} into vllm_secrets, or write "
    )
    notes.say("published", WARNING, message, f"{remedy}exposed_without_key: true", "bind")
    return keys
