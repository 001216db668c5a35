# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read all of a service, let it be judged, clean the report and pack the evidence. Nothing on the host changes.

Private to the collection.
"""

from __future__ import annotations

import platform
import time
from dataclasses import asdict, dataclass
from typing import Any

from ...diagnose.budget import MIDDLE, SMALL
from ...diagnose.case import Case
from ...diagnose.contents import DATA, parts_of
from ...diagnose.judge import diagnose
from ...diagnose.scrub import Scrubber
from ...diagnose.variables import shown_all
from ...release.by_hand import by_hand
from ...release.paths import Paths
from ..bundle import pack
from ..http import Requester, request
from ..observe import observe
from ..rights import other_than_root
from . import engine, machine, server, service
from .reader import Reader


@dataclass(frozen=True)
class Outcome:
    """The report, and the evidence as tar.gz; no secret is in either."""

    report: dict[str, Any]
    bundle: bytes = b""


def diagnose_service(paths: Paths, at: str, *, with_bundle: bool = True, http: Requester = request) -> Outcome:
    """Diagnose one service; ``at`` is now, as ``2026-01-31T12:00:00Z``."""
    reader = Reader(paths)
    case, scrubber = read_case(reader, at, http)
    report = scrubber.data(diagnose(case).to_dict())
    if not with_bundle:
        return Outcome(report)
    parts = parts_of(report, reader.raws, scrubber)
    return Outcome(report, pack(parts, f"vllm-diagnose-{paths.service}", int(time.time())))


def read_case(reader: Reader, at: str, http: Requester) -> tuple[Case, Scrubber]:
    """Everything that is judged, and what takes the secrets out of it."""
    paths = reader.paths
    user = other_than_root()
    if user:
        reader.unread["rights"] = f"this ran as {user}; what is for root alone was not read. Next: use sudo"
    state = reader.source("state", lambda: observe(paths, runner=reader.run))
    start, startup = service.read_starts(reader)
    record, gate = service.read_release(reader, start.get("release"))
    docker = engine.read_docker(reader)
    container = engine.read_container(reader, docker)
    content = _map(record.get("content"))
    image = engine.read_image(
        reader, docker, str(container.get("Image") or _map(record.get("host")).get("image_id") or "")
    )
    processes, inner = engine.read_processes(reader, container)
    variables = engine.read_variables(reader, content, container, processes)
    scrubber = Scrubber(*engine.all_secrets(reader, variables, container, processes))
    service.read_unit(reader)
    case = Case(
        service=paths.service,
        host=platform.node(),
        at=at,
        unread=reader.unread,
        state=state,
        by_hand=tuple(each.text for each in by_hand(state)) if state else (),
        record=record,
        gate=gate,
        start=start,
        startup=startup,
        container=container,
        image=image,
        processes=processes,
        variables=shown_all(variables),
        packages=engine.read_packages(reader, container, image, processes),
        model=server.read_model(reader, content),
        engine=docker,
        **inner,
        **server.read_server(reader, state, str(gate.get("url") or ""), http),
        **machine.read_machine(reader, content, docker),
    )
    _keep(reader, case)
    return case, scrubber


def _keep(reader: Reader, case: Case) -> None:
    processes = [{**asdict(process), "role": process.role} for process in case.processes]
    reader.keep("facts/processes.json", DATA, processes, MIDDLE, "/proc")
    reader.keep(
        "facts/variables.json", DATA, case.variables, SMALL, "environment: names, and values of a reviewed list"
    )
    reader.keep("facts/packages.json", DATA, case.packages, MIDDLE, "dist-info folders")
    reader.keep("facts/unread.json", DATA, reader.unread, SMALL, "what could not be read, and why")


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
