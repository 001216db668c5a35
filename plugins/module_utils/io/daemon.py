# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Docker's configuration files and its unit: read, write, check, reload. No decisions.

Private to the collection.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..host.daemon import Situation
from .commands import Result, Runner, run
from .docker import engine_info
from .files import make_folder, write_atomic
from .system import read_text

DROPIN = "/etc/systemd/system/docker.service.d/gpuhosts-vllm-proxy.conf"
PENDING = "/run/gpuhosts-vllm-docker-pending.json"
_UNITS = "/etc/systemd/system"
_RESTART = 180.0


@dataclass(frozen=True)
class Unit:
    """Docker's unit: the command line of dockerd, if it runs, and the id of this run of it."""

    command: tuple[str, ...]
    active: bool
    invocation: str


def unit(*, runner: Runner = run) -> Unit:
    """Ask systemd about Docker; a host without it answers an empty, inactive unit."""
    words = ["systemctl", "show", "docker.service", "--property=ExecStart,ActiveState,InvocationID"]
    lines = dict(line.split("=", 1) for line in runner(words, timeout=20).out.splitlines() if "=" in line)
    command = lines.get("ExecStart", "").partition("argv[]=")[2].partition(" ;")[0]
    return Unit(tuple(command.split()), lines.get("ActiveState") == "active", lines.get("InvocationID", ""))


def situation(*, runner: Runner = run) -> Situation:
    """What runs on this Docker, and which vLLM services are installed."""
    engine = engine_info(runner=runner)
    running = sorted({name for name in engine.containers.values() if name})
    units = sorted(each.stem[len("vllm-") :] for each in Path(_UNITS).glob("vllm-*.service"))
    return Situation(engine.reachable, len(engine.containers), tuple(running), tuple(units))


def validate(text: str, *, runner: Runner = run) -> str | None:
    """Let dockerd judge a configuration before it is written; None when it is right, or when it cannot be asked."""
    if shutil.which("dockerd") is None or "--validate" not in runner(["dockerd", "--help"], timeout=20).out:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        asked = runner(["dockerd", "--validate", f"--config-file={file.name}"], timeout=30)
    return None if asked.ok else (asked.err.strip() or asked.out.strip()).splitlines()[-1]


def write_configuration(path: str, text: str, stamp: str) -> str | None:
    """Replace the file and keep what was there beside it; the backup's name."""
    target, backup = Path(path), None
    make_folder(target.parent)
    before = read_text(target)
    if before:
        backup = f"{path}.{stamp}.bak"
        write_atomic(Path(backup), before)
    write_atomic(target, text)
    return backup


def certificate_path(configuration: str, server: str) -> str:
    """Where dockerd looks for the CA of a registry; it looks anew at each pull."""
    return str(Path(configuration).parent / "certs.d" / server / "ca.crt")


def write_new(path: str, text: str) -> None:
    """Write a file with the folders above it. Of a drop-in systemd is told only when dockerd is restarted."""
    make_folder(Path(path).parent)
    write_atomic(Path(path), text)


def reload_docker(*, runner: Runner = run) -> Result:
    """Let dockerd read again what it reads while it runs (SIGHUP)."""
    return runner(["systemctl", "reload", "docker.service"], timeout=60)


def restart_docker(*, runner: Runner = run) -> Result:
    """Restart dockerd with its newest unit."""
    done = runner(["systemctl", "daemon-reload"], timeout=60)
    return runner(["systemctl", "restart", "docker.service"], timeout=_RESTART) if done.ok else done


def read_pending(invocation: str) -> tuple[str, ...]:
    """The keys that this run of dockerd has not seen yet; another run of it has."""
    try:
        data = json.loads(read_text(PENDING) or "{}")
    except ValueError:
        return ()
    return tuple(data.get("keys") or ()) if data.get("invocation") == invocation else ()


def write_pending(keys: tuple[str, ...], invocation: str) -> None:
    """Remember them until dockerd is restarted, by whomever; a reboot forgets the file, rightly."""
    write_atomic(Path(PENDING), json.dumps({"keys": list(keys), "invocation": invocation}) + "\n")
