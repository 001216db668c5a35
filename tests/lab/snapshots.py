# SPDX-License-Identifier: Apache-2.0
"""What a host looks like, and what differs between two looks: proof that a command changed what it said, or nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .hosts import exec_on
from .steps import LabError

LOOK = Path(__file__).with_name("guest") / "snapshot.py"


@dataclass(frozen=True)
class Snapshot:
    """Files (mode, owner, sha256 or link), units, unit files, Docker, packages and holds of one host."""

    host: str
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    units: dict[str, dict[str, str]] = field(default_factory=dict)
    unit_files: tuple[str, ...] = ()
    docker: dict[str, Any] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


def snapshot(name: str) -> Snapshot:
    """Look at a host. Takes about a second, and writes nothing there."""
    done = exec_on(name, ["/usr/bin/python3", "-c", LOOK.read_text(encoding="utf-8")])
    if done.code != 0:
        said = done.stderr.strip()[-300:]
        message = f"host {name} could not be looked at ({said}); run: python -m tests.lab up --hosts {name}"
        raise LabError(message)
    seen = json.loads(done.stdout)
    return Snapshot(
        name,
        seen["files"],
        seen["units"],
        tuple(seen["unit_files"]),
        seen["docker"],
        tuple(seen["packages"]),
        tuple(seen["held"]),
    )


def _flat(prefix: str, value: Any) -> dict[str, str]:
    """Nested maps and lists as paths to words."""
    if isinstance(value, dict):
        found: dict[str, str] = {}
        for key, inner in value.items():
            found.update(_flat(f"{prefix} {key}", inner))
        return found
    if isinstance(value, (list, tuple)):
        return {f"{prefix} {item}": "present" for item in value}
    return {prefix: str(value)}


def _words(seen: Snapshot) -> dict[str, str]:
    files = {f"file {path}": " ".join(f"{k}={v}" for k, v in sorted(what.items())) for path, what in seen.files.items()}
    return {
        **files,
        **_flat("unit", seen.units),
        **_flat("unit file", seen.unit_files),
        **_flat("docker", seen.docker),
        **_flat("package", seen.packages),
        **_flat("hold", seen.held),
    }


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """One line for each thing that appeared, went or changed; empty when the two looks agree."""
    old, new = _words(before), _words(after)
    lines = [f"appeared: {key} ({new[key]})" for key in new if key not in old]
    lines += [f"went: {key} ({old[key]})" for key in old if key not in new]
    lines += [f"changed: {key}: {old[key]} -> {new[key]}" for key in old if key in new and old[key] != new[key]]
    return sorted(lines)
