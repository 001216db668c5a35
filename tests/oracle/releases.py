# SPDX-License-Identifier: Apache-2.0
"""Whether the releases of a service are whole, and the links say what runs and what was committed."""

from __future__ import annotations

from typing import Any

FILES = ("release.json", "run", "entry", "args", "gate.json")
EXECUTABLE = ("run", "entry")


def judge(service: dict[str, Any], unit: dict[str, str], *, open_run: bool) -> list[str]:
    """Say what is wrong with links, release folders and the secrets file."""
    found = []
    for name in ("current", "last_good"):
        target = service[name]
        if target is not None and target.rpartition("/")[2] not in service["releases"]:
            found.append(f"{name} points to {target}, which is not there")
        elif target is not None and target != f"releases/{target.rpartition('/')[2]}":
            found.append(f"{name} points out of the folder: {target}")
    for name, release in service["releases"].items():
        found += [f"release {name}: {line}" for line in _judge_release(release)]
    if unit["ActiveState"] == "active" and not open_run and service["current"] != service["last_good"]:
        found.append(f"runs {service['current']}, and committed is {service['last_good']}")
    return found + _judge_secrets(service)


def _judge_release(release: dict[str, Any]) -> list[str]:
    found = []
    for name in FILES:
        size, mode = release["files"].get(name, (0, 0o755))
        if not size:
            found.append(f"{name} is missing or empty")
        if mode & 0o022 or (name in EXECUTABLE and not mode & 0o100):
            found.append(f"{name} has the mode {mode:o}")
    return found


def _judge_secrets(service: dict[str, Any]) -> list[str]:
    secrets = service["secrets"]
    current = service["releases"].get((service["current"] or "").rpartition("/")[2])
    if secrets is None:
        return ["has a current release and no secrets file"] if current else []
    found = [] if secrets["mode"] == 0o600 else [f"its secrets file has the mode {secrets['mode']:o}"]
    if current and current["uid"] is not None and secrets["uid"] != current["uid"]:
        found.append(f"its secrets file belongs to uid {secrets['uid']}, its container runs as {current['uid']}")
    return found
