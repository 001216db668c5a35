# SPDX-License-Identifier: Apache-2.0
"""Whether a host is in a state that it may be in: nothing is left over, nothing lies about what runs, nothing is lost.

`assert_legal(host)` ends every test that deploys to a host. It looks once (`guest/look.py`, one command on the host),
judges by what is written out here, and names every violation at once.
"""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.oracle import evidence, journal, releases, running

if TYPE_CHECKING:
    from testinfra.host import Host

LOOK = Path(__file__).with_name("guest") / "look.py"
SETTLE = 60.0  # seconds in which a host may finish what it is about: a stop, the last lines of a run


def assert_legal(host: Host, *, open_run: bool = False, docker_up: bool = True, settle: float = SETTLE) -> None:
    """Fail with every violation, each with the host and the service that it is about.

    ``open_run``: a run is under way on purpose, so a service may be between two states. ``docker_up=False``: Docker
    was stopped on purpose.
    """
    seen = look(host, open_run=open_run, settle=settle)
    found = violations(seen, open_run=open_run, docker_up=docker_up)
    lines = "".join(f"\n  {seen['name']} {line}" for line in found)
    assert not found, f"{seen['name']} is not in a legal state ({len(found)} violations):{lines}"


def look(host: Host, *, open_run: bool = False, settle: float = SETTLE) -> dict[str, Any]:
    """Look at a host once it has settled."""
    packed = base64.b64encode(zlib.compress(LOOK.read_bytes(), 9)).decode()
    program = f"import base64,zlib;exec(zlib.decompress(base64.b64decode('{packed}')))"
    asked = json.dumps({"settle": settle, "open_run": open_run})
    return dict(json.loads(host.check_output("python3 -c %s %s", program, asked)))


def violations(seen: dict[str, Any], *, open_run: bool = False, docker_up: bool = True) -> list[str]:
    """Judge what was seen; each line begins with the service that it is about, or with `host`."""
    found = [f"host: {line}" for line in running.judge_host(seen, open_run=open_run, docker_up=docker_up)]
    for name, service in seen["services"].items():
        lines = [
            *journal.judge(service["journal"], open_run=service["run"] if open_run else None),
            *running.judge_service(name, seen, open_run=open_run),
            *releases.judge(service, seen["units"][f"vllm-{name}.service"], open_run=open_run),
            *evidence.judge(name, service, seen["units"][f"vllm-{name}.service"], open_run=open_run),
        ]
        if service["journal"] is None and (service["starts"] or service["current"]):
            lines.append("was started, and has no journal.jsonl")
        found += [f"{name}: {line}" for line in lines]
    return found
