# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Data parallelism: who balances, which rank this server is, and what fault tolerance asks for.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config.command_line import CommandLine
from ...findings import ERROR
from ...versions import Version
from ..case import Case
from .dense import is_dense
from .layout import has_external_balancing, layout
from .saying import Said, line_rule

_LOCAL, _RANK, _EXTERNAL = "--data-parallel-size-local", "--data-parallel-rank", "--data-parallel-external-lb"
_HYBRID, _MULTI_PORT = "--data-parallel-hybrid-lb", "--data-parallel-multi-port-external-lb"
_ENGINE = "vllm/engine/arg_utils.py (create_engine_config) 0.9.2, 0.11.1, 0.19.1, 0.22.0, 0.28.0, 0.33.0"
_PARALLEL = "vllm/config/parallel.py 0.11.1, 0.19.1, 0.28.0, 0.33.0; vllm/config.py 0.9.2"


def _external_part(line: CommandLine) -> str:
    return _RANK if line.has(_RANK) else _EXTERNAL


@line_rule("external_balancing_without_rank", ERROR, _ENGINE, since=Version(0, 11, 1))
def _rank_missing(case: Case, line: CommandLine) -> Iterator[Said]:
    spread = layout(line)
    inferred = spread.has_nodes and spread.data > 1
    if line.has(_EXTERNAL) and not line.has(_RANK) and not inferred:
        yield Said(
            _EXTERNAL,
            "external balancing needs to know which rank this server is, and no rank is given: vLLM refuses to start",
            "give each server its own --data-parallel-rank",
            expected=_RANK,
        )


@line_rule("external_balancing_local_size", ERROR, _ENGINE)
def _local_size(case: Case, line: CommandLine) -> Iterator[Said]:
    size = line.integer(_LOCAL)
    if has_external_balancing(line) and size is not None and size != 1:
        yield Said(
            _LOCAL,
            f"with external balancing a server is one rank, {_LOCAL} is {size}: vLLM refuses to start",
            f"leave {_LOCAL} out, or balance inside ({_HYBRID})",
            expected=1,
            observed=size,
        )


@line_rule("external_balancing_of_one", ERROR, _PARALLEL)
def _one(case: Case, line: CommandLine) -> Iterator[Said]:
    spread = layout(line)
    if spread.readable and has_external_balancing(line) and spread.data == 1:
        part = _external_part(line)
        yield Said(
            part,
            f"{part} needs --data-parallel-size above 1, it is 1: vLLM refuses to start",
            f"give the number of all ranks, or leave {part} out",
            expected="--data-parallel-size 2 or more",
            observed=1,
        )


@line_rule("data_parallel_rank_out_of_range", ERROR, _PARALLEL)
def _rank_range(case: Case, line: CommandLine) -> Iterator[Said]:
    spread, rank = layout(line), line.integer(_RANK)
    if spread.readable and rank is not None and spread.data > 1 and not 0 <= rank < spread.data:
        yield Said(
            _RANK,
            f"rank {rank} does not exist among {spread.data} ranks: vLLM refuses to start",
            "count the ranks from 0",
            expected=f"0 to {spread.data - 1}",
            observed=rank,
        )


@line_rule("data_parallel_local_above_all", ERROR, _PARALLEL)
def _local_above(case: Case, line: CommandLine) -> Iterator[Said]:
    spread, local = layout(line), line.integer(_LOCAL)
    if spread.readable and local is not None and local > spread.data and not has_external_balancing(line):
        yield Said(
            _LOCAL,
            f"{local} local ranks are more than the {spread.data} of --data-parallel-size: vLLM refuses to start",
            "--data-parallel-size counts the ranks of all nodes",
            expected=f"at most {spread.data}",
            observed=local,
        )


@line_rule(
    "external_balancing_of_dense_model",
    ERROR,
    "vllm/engine/arg_utils.py (Non-MoE models do not support external data parallel mode) 0.21.0, 0.33.0; "
    "not in 0.20.2",
    since=Version(0, 21),
)
def _dense(case: Case, line: CommandLine) -> Iterator[Said]:
    model = line.model or ""
    if has_external_balancing(line) and layout(line).data > 1 and is_dense(model):
        yield Said(
            _external_part(line),
            f"{model} is a dense model, and external data parallelism is for mixture-of-experts models only: "
            "vLLM refuses to start",
            "start independent servers without --data-parallel options behind the balancer",
            observed=model,
        )


@line_rule("balancing_modes_together", ERROR, f"{_ENGINE}; vllm/entrypoints/cli/serve.py", since=Version(0, 10))
def _together(case: Case, line: CommandLine) -> Iterator[Said]:
    modes = [name for name in (_EXTERNAL, _HYBRID, _MULTI_PORT) if line.has(name)]
    if len(modes) > 1:
        yield Said(
            modes[1],
            f"{' and '.join(modes)} exclude each other: vLLM refuses to start",
            "keep one way to balance",
            observed=modes,
        )


@line_rule("hybrid_balancing_incomplete", ERROR, _ENGINE, since=Version(0, 10))
def _hybrid(case: Case, line: CommandLine) -> Iterator[Said]:
    if not line.has(_HYBRID):
        return
    if line.has("--headless"):
        yield Said(
            _HYBRID,
            "a headless node has no server that could balance: vLLM refuses to start",
            f"leave {_HYBRID} or --headless out",
        )
    elif not line.has(_LOCAL) and not has_external_balancing(line) and not layout(line).has_nodes:
        yield Said(
            _HYBRID,
            f"hybrid balancing needs the number of ranks on this node ({_LOCAL}): vLLM refuses to start",
            f"add {_LOCAL}",
            expected=_LOCAL,
        )


@line_rule(
    "multi_port_balancing",
    ERROR,
    "vllm/entrypoints/launchers/dp_supervisor.py 0.33.0; vllm/entrypoints/cli 0.22.0 to 0.31.0",
    since=Version(0, 22),
)
def _multi_port(case: Case, line: CommandLine) -> Iterator[Said]:
    if not line.has(_MULTI_PORT):
        return
    spread, local = layout(line), line.integer(_LOCAL) if line.has(_LOCAL) else 0
    if spread.readable and local is not None and (local <= 1 or spread.data % local):
        yield Said(
            _LOCAL,
            f"one port a rank needs {_LOCAL} of 2 or more that divides --data-parallel-size {spread.data}, "
            f"it is {local or 'not given'}: vLLM refuses to start",
            f"set {_LOCAL} to the ranks of this node",
            observed=local or None,
        )
    for name in ("--grpc", "--uds", _RANK):
        if line.has(name):
            yield Said(
                name,
                f"{_MULTI_PORT} starts a server a rank by itself, {name} excludes that: vLLM refuses to start",
                f"leave {name} out",
            )


@line_rule(
    "fault_tolerance_without_external_balancing",
    ERROR,
    "vllm/engine/arg_utils.py, vllm/config/parallel.py (enable_fault_tolerance) 0.27.1, 0.28.0, 0.33.0",
    since=Version(0, 27),
)
def _fault_tolerance(case: Case, line: CommandLine) -> Iterator[Said]:
    part = "--enable-fault-tolerance"
    if not line.has(part):
        return
    if not has_external_balancing(line):
        yield Said(
            part,
            f"fault tolerance works with external balancing only ({_EXTERNAL} or an explicit {_RANK}): "
            "vLLM refuses to start",
            f"give each server its {_RANK}",
            expected=_RANK,
        )
    servers = line.integer("--api-server-count")
    if servers is not None and servers > 1:
        yield Said(
            part,
            f"fault tolerance works with one API server, --api-server-count is {servers}: vLLM refuses to start",
            "set --api-server-count 1",
            expected=1,
            observed=servers,
        )


RULES = (
    _rank_missing,
    _local_size,
    _one,
    _rank_range,
    _local_above,
    _dense,
    _together,
    _hybrid,
    _multi_port,
    _fault_tolerance,
)
