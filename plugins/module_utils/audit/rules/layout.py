# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""How a service is spread over GPUs and nodes, read from its command line.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...config.command_line import CommandLine
from ..case import Case

_OWN_PLACEMENT = frozenset({"ray", "external_launcher"})


@dataclass(frozen=True)
class Layout:
    """The sizes as vLLM reads them; ``readable`` is false where one of them is no number."""

    tensor: int
    pipeline: int
    context: int
    data: int
    nodes: int
    readable: bool

    @property
    def world(self) -> int:
        """GPUs of one data-parallel rank."""
        return self.tensor * self.pipeline * self.context

    @property
    def has_nodes(self) -> bool:
        """Whether one server is spread over several machines."""
        return self.nodes > 1


def layout(line: CommandLine) -> Layout:
    """The sizes of a command line, 1 where one is not given."""
    names = ("tensor-parallel-size", "pipeline-parallel-size", "prefill-context-parallel-size", "data-parallel-size")
    sizes = [_size(line, f"--{name}") for name in (*names, "nnodes")]
    tensor, pipeline, context, data, nodes = (1 if size is None else size for size in sizes)
    return Layout(tensor, pipeline, context, data, nodes, all(size is not None and size > 0 for size in sizes))


def _size(line: CommandLine, name: str) -> int | None:
    return line.integer(name) if line.has(name) else 1


def has_external_balancing(line: CommandLine) -> bool:
    """Whether a balancer of one's own chooses the rank: one server a rank."""
    return line.has("--data-parallel-external-lb") or line.has("--data-parallel-rank")


def places_itself(line: CommandLine) -> bool:
    """Whether something else than vLLM decides which GPUs its workers get."""
    own = line.value("--distributed-executor-backend") in _OWN_PLACEMENT
    return own or line.value("--data-parallel-backend") == "ray"


def gpus_of(case: Case) -> int | None:
    """How many GPUs the server sees, None where that is not known or where it is to have none."""
    asked = _asked(case)
    visible = _visible(case)
    known = [number for number in (asked, visible, _of_host(case)) if number is not None]
    return min(known) if known and min(known) > 0 else None


def _asked(case: Case) -> int | None:
    text = (case.subject.container.gpus if case.subject.container else None) or ""
    text = text.strip().strip("\"'")
    if text.isdigit():
        return int(text)
    head, _equals, devices = text.partition("=")
    if head == "count" and devices.isdigit():
        return int(devices)
    return _listed(devices) if head == "device" else None


def _visible(case: Case) -> int | None:
    env = case.subject.env or {}
    return _listed(env.get("CUDA_VISIBLE_DEVICES", ""))


def _listed(text: str) -> int | None:
    devices = [device.strip().strip("\"'") for device in text.split(",")]
    plain = all(device and device not in {"all", "none", "void", "-1"} and "$" not in device for device in devices)
    return len(devices) if plain else None


def _of_host(case: Case) -> int | None:
    return case.subject.host.gpu_count if case.subject.host else None
