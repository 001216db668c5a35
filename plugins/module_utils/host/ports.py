# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge if the ports that services want are free, or by whom they are held.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv6Address, ip_address

from ..findings import ERROR, Finding
from .facts import Engine, Host, Listener, Published
from .wanted import Wanted

_ANY = ("0.0.0.0", "::")


def judge_ports(host: Host, services: Iterable[Wanted]) -> Iterator[Finding]:
    """Say which wanted port is held by something else than the service's own container."""
    for service in services:
        holder = _holder(host, service)
        if holder:
            yield Finding(
                "port_held",
                ERROR,
                f"{service.name}: port {service.port}",
                f"{service.bind}:{service.port} is held by {holder}",
                expected="free, or held by the service itself",
                observed=holder,
                remedy=f"stop it, or give {service.name} another port; on the host: ss -ltnp 'sport = :{service.port}'",
            )


def _holder(host: Host, service: Wanted) -> str | None:
    for published in host.engine.published:
        if published.port == service.port and overlaps(published.address, service.bind):
            # Docker's own proxy process listens for a published port: the container is the holder.
            own = service.name == published.service or published.container in service.replaces
            return None if own else _container_text(published)
    for listener in host.listeners:
        if listener.port == service.port and overlaps(listener.address, service.bind):
            if listener.container and _is_own(listener.container, host, service):
                continue
            return _listener_text(listener, host.engine)
    return None


def _is_own(container: str, host: Host, service: Wanted) -> bool:
    return container in service.replaces or host.engine.containers.get(container) == service.name


def overlaps(held: str, wanted: str) -> bool:
    """Whether two addresses cannot both be listened on: equal, or one of them stands for all."""
    held, wanted = _plain(held), _plain(wanted)
    return held == wanted or held in _ANY or wanted in _ANY


def _plain(address: str) -> str:
    try:
        parsed = ip_address(address.strip("[]"))
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(parsed)


def _container_text(published: Published) -> str:
    owner = f" of the service {published.service}" if published.service else ""
    return f"container {published.container}{owner}"


def _listener_text(listener: Listener, engine: Engine) -> str:
    process = f"process {listener.process or 'unknown'} (pid {listener.pid or 'unknown'})"
    if listener.container:
        service = engine.containers.get(listener.container)
        return f"{process} in container {listener.container[:12]}" + (f" of the service {service}" if service else "")
    return process
