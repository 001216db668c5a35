# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a unit waits for, what waits for it, and how it is installed.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...findings import INFO, WARNING
from ..case import Case
from ..rules.saying import Said, case_rule
from .shown import SEEN, seconds, text, unit

_SERVICE = "systemd.service(5)"
_GATE = re.compile(r"wait|ready|health|until|while|curl|sleep|/v1/models")


@case_rule("timeoutstartsec_without_notify", INFO, f"{_SERVICE} (Type=, TimeoutStartSec=)")
def _timeout(case: Case) -> Iterator[Said]:
    shown = unit(case)
    limit = seconds(shown.last("TimeoutStartSec", "Service"))
    kind = shown.last("Type", "Service") or "simple"
    gate = [*shown.all("ExecStartPost", "Service"), *shown.all("ExecStartPre", "Service")]
    if (
        limit is not None
        and 0 < limit < float("inf")
        and kind in {"simple", "exec"}
        and not gate
        and shown.all("ExecStart")
    ):
        yield Said(
            "TimeoutStartSec=",
            f"with Type={kind} the unit is started as soon as the process runs: the limit does not bound the load",
            "add an ExecStartPost that waits for /health, or leave the limit out",
        )


@case_rule("wanted_by_multi_user_with_gate", WARNING, f"{_SERVICE} (ExecStartPost=); systemd.special(7)")
def _gate(case: Case) -> Iterator[Said]:
    shown = unit(case)
    wanted = " ".join(shown.all("WantedBy", "Install")).split()
    if "multi-user.target" in wanted and any(_GATE.search(line) for line in shown.all("ExecStartPost", "Service")):
        yield Said(
            "WantedBy=multi-user.target",
            "the gate in ExecStartPost is part of the boot: the host is not up until the model is loaded",
            "write WantedBy=docker.service",
        )


@case_rule("system_unit_wanted_by_default_target", INFO, "systemd.special(7) (default.target)")
def _default_target(case: Case) -> Iterator[Said]:
    shown = unit(case)
    user = "systemctl --user" in text(case) or any("%h" in value for _place, _name, value in shown.entries)
    system = shown.last("User", "Service") is not None or "docker.service" in " ".join(shown.all("After", "Unit"))
    if "default.target" in " ".join(shown.all("WantedBy", "Install")).split() and system and not user:
        yield Said(
            "WantedBy=default.target",
            "default.target is whatever the host boots to, rescue included; it is meant for units of users",
            "write WantedBy=multi-user.target",
        )


@case_rule("no_gpu_ordering", INFO, SEEN)
def _gpu(case: Case) -> Iterator[Said]:
    shown = unit(case)
    starts = " ".join(shown.all("ExecStart", "Service"))
    native = re.search(r"\bvllm(\s+serve|\.entrypoints)", starts) and not re.search(r"\b(docker|podman)\b", starts)
    order = " ".join(
        [*shown.all("After", "Unit"), *shown.all("Requires", "Unit"), *shown.all("ExecStartPre", "Service")]
    )
    if native and not re.search(r"nvidia|dev-kfd|rocm|amdgpu", order) and "cpu" not in starts:
        yield Said(
            "After=",
            "nothing orders the start after the GPU driver: at boot the server may find no GPU and fail",
            "add After=nvidia-persistenced.service and Wants=nvidia-persistenced.service",
        )


@case_rule("unit_linked_into_release", WARNING, "systemctl(1) (enable, disable)")
def _linked(case: Case) -> Iterator[Said]:
    linked = re.search(
        r"\bln\s+-\S*s\S*\s[^\n]*/etc/systemd/system/|\bsystemctl\s+(?:enable|link)\s+(?:-\S+\s+)*/\S+\.service",
        text(case),
    )
    if linked:
        yield Said(
            "unit",
            "the unit is a link: systemctl enable pins its target, and disable deletes the link",
            "install the unit as a file in /etc/systemd/system",
        )


RULES = (_timeout, _gate, _default_target, _gpu, _linked)
