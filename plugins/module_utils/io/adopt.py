# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Look at the servers of a host that somebody started by hand. GET only, nothing is run in a container. No decisions.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ..adopt.propose import Questions, questions, runs_vllm
from ..adopt.seen import Seen, part, whole
from ..adopt.units import PROPERTIES, Unit, parse_units, unit_of_cgroup, with_unit
from ..audit.reading.script import start_of_server
from ..host.parse import container_of
from ..yaml_text import block
from ..yaml_text.scalars import YamlError
from .commands import Runner, run
from .containers import DockerError, docker_reason
from .docker_socket import asleep
from .http import request
from .observe import services_on_host
from .peek import ends_of_command, inside, read_small
from .system import read_text

_ASK, _ANSWER = 30.0, 3.0
_LOG, _LOG_SECONDS = 4 << 20, 10.0
_READY = "Application startup complete"
_HEX = frozenset("0123456789abcdef")
_CLIENTS = ("docker", "docker-compose", "podman")


@dataclass(frozen=True)
class HostSeen:
    """The servers in containers that are not ours, and what stands in the way of names."""

    servers: tuple[Seen, ...] = ()
    containers: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()


def look(*, runner: Runner = run, proc: str = "/proc") -> HostSeen:
    """Everything that a proposal is made from; DockerError when Docker does not answer."""
    down = asleep(runner=runner)
    if down:
        raise DockerError(down)
    running = [Seen(each, _image(each, runner)) for each in _containers(runner)]
    units = _units(runner)
    owners = with_unit(running, units, list(_clients(proc)))
    servers = [replace(seen, unit=owners.get(seen.id)) for seen in running if runs_vllm(seen)]
    names = runner(["docker", "ps", "--all", "--format", "{{.Names}}"], timeout=_ASK).out.split()
    return HostSeen(
        tuple(_asked(seen, proc) for seen in servers),
        tuple(names),
        tuple(unit.name for unit in units if not unit.is_ours),
        tuple(services_on_host()),
        tuple(_bare(proc)),
    )


def _containers(runner: Runner) -> list[dict[str, Any]]:
    listed = runner(["docker", "ps", "--quiet", "--no-trunc"], timeout=_ASK)
    if not listed.ok:
        raise DockerError(docker_reason(listed))
    ids = listed.out.split()
    asked = runner(["docker", "container", "inspect", *ids], timeout=_ASK).out if ids else "[]"
    with contextlib.suppress(ValueError):
        return [dict(each) for each in json.loads(asked or "[]")]
    return []


def _image(container: Mapping[str, Any], runner: Runner) -> dict[str, Any]:
    asked = runner(["docker", "image", "inspect", str(container.get("Image"))], timeout=_ASK)
    with contextlib.suppress(ValueError, IndexError):
        return dict(json.loads(asked.out)[0])
    return {}


def _units(runner: Runner) -> tuple[Unit, ...]:
    words = ["systemctl", "show", "--no-pager", "--type=service", "--all", f"--property={','.join(PROPERTIES)}", "*"]
    return parse_units(runner(words, timeout=_ASK).out)


def _processes(proc: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    for folder in Path(proc).iterdir():
        if folder.name.isdigit():
            words = read_text(f"{folder}/cmdline").rstrip("\0").split("\0")
            if words[0]:
                yield int(folder.name), tuple(words)


def _clients(proc: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Docker's clients that belong to a unit, with their words."""
    for pid, words in _processes(proc):
        if words[0].rpartition("/")[2] in _CLIENTS:
            unit = unit_of_cgroup(read_text(f"{proc}/{pid}/cgroup"))
            if unit is not None:
                yield unit, words


def _bare(proc: str) -> Iterator[str]:
    """Servers outside of containers, by pid and unit: their words may hold secrets."""
    for pid, words in sorted(_processes(proc)):
        cgroup = read_text(f"{proc}/{pid}/cgroup")
        if start_of_server(words) is not None and container_of(cgroup) is None:
            unit = unit_of_cgroup(cgroup)
            yield f"pid {pid}" + (f" of the unit {unit}" if unit else "")


def _asked(seen: Seen, proc: str) -> Seen:
    """What the server, its files and its log say besides."""
    asks = questions(seen)
    root = f"{proc}/{whole(part(seen.container, 'State').get('Pid'))}/root"
    return replace(
        seen,
        api_version=_version(asks.url),
        commit=_commit(root, asks),
        config_file=_config_file(root, asks.config_path, str(seen.config.get("WorkingDir") or "/")),
        start_seconds=_start_seconds(seen),
    )


def _version(url: str) -> str | None:
    with contextlib.suppress(ValueError, AttributeError):
        found = json.loads(request(f"{url}/version", timeout=_ANSWER, max_bytes=4096).body or b"{}")
        return str(found["version"]) if "version" in found else None
    return None


def _commit(root: str, asks: Questions) -> str | None:
    """The commit that the hub's cache of the container has for the branch."""
    if not asks.model or asks.model.startswith("/"):
        return None
    name = "models--" + asks.model.replace("/", "--")
    with contextlib.suppress(OSError):
        text = read_small(inside(root, f"{asks.hub}/{name}/refs/{asks.revision or 'main'}"), 4096).strip()
        return text if len(text) == 40 and set(text) <= _HEX else None  # noqa: PLR2004 - a commit
    return None


def _config_file(root: str, path: str | None, folder: str) -> Mapping[str, Any] | None:
    if not path:
        return None
    with contextlib.suppress(OSError, YamlError):
        found = block.load(read_small(inside(root, path if path.startswith("/") else f"{folder}/{path}")))
        return found if isinstance(found, Mapping) else None
    return None


def _start_seconds(seen: Seen) -> float | None:
    """How long the last start took, by the times that Docker gives to the lines of its log."""
    began = str(part(seen.container, "State").get("StartedAt") or "")
    log = ends_of_command(["docker", "logs", "--timestamps", "--since", began, seen.id], _LOG, 0, _LOG_SECONDS)
    ready = next((line for line in log.head.decode("utf-8", "replace").splitlines() if _READY in line), "")
    first, last = _moment(began), _moment(ready.partition(" ")[0])
    return round((last - first).total_seconds(), 1) if first and last and last > first else None


def _moment(text: str) -> datetime | None:
    with contextlib.suppress(ValueError):
        return datetime.fromisoformat(text.partition(".")[0].rstrip("Z"))
    return None
