# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor and pipeline parallelism, nodes, and whether the machine has the GPUs for them.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config.command_line import CommandLine
from ...findings import ERROR
from ...versions import Version
from ..case import Case
from .layout import gpus_of, has_external_balancing, layout, places_itself
from .saying import Said, line_rule

_PARTITION = "VLLM_PP_LAYER_PARTITION"
_CONTEXT_COUNTS = Version(0, 30)


@line_rule(
    "pipeline_layer_partition",
    ERROR,
    "vllm/distributed/utils.py (get_pp_indices) 0.9.2, 0.19.1, 0.33.0",
)
def _partition(case: Case, line: CommandLine) -> Iterator[Said]:
    text = (case.subject.env or {}).get(_PARTITION, "").strip()
    spread = layout(line)
    if not text or "$" in text or not spread.readable:
        return
    parts = [part.strip() for part in text.split(",")]
    numbers = all(part.isdigit() for part in parts)
    if numbers and len(parts) == spread.pipeline:
        return
    wrong = f"names {len(parts)} stages" if numbers else "is not a list of whole numbers"
    yield Said(
        _PARTITION,
        f"{_PARTITION}={text} {wrong}, --pipeline-parallel-size is {spread.pipeline}: the workers fail while they load",
        "give one number of layers a stage; together they are the layers of the model",
        expected=f"{spread.pipeline} numbers",
        observed=text,
    )


@line_rule(
    "nodes_do_not_divide",
    ERROR,
    "vllm/engine/arg_utils.py (create_engine_config) 0.11.1, 0.19.1, 0.22.0, 0.28.0, 0.33.0",
    since=Version(0, 11, 1),
)
def _nodes(case: Case, line: CommandLine) -> Iterator[Said]:
    spread = layout(line)
    if not spread.readable or not spread.has_nodes:
        return
    total = spread.data * spread.pipeline * spread.tensor
    total *= spread.context if case.version >= _CONTEXT_COUNTS else 1
    if total % spread.nodes:
        yield Said(
            "--nnodes",
            f"{spread.nodes} nodes do not divide the {total} GPUs that the sizes ask for (data {spread.data} x "
            f"pipeline {spread.pipeline} x tensor {spread.tensor}): vLLM refuses to start",
            "choose sizes whose product is a multiple of --nnodes",
            expected=f"a multiple of {spread.nodes}",
            observed=total,
        )


@line_rule(
    "node_rank_out_of_range",
    ERROR,
    "vllm/engine/arg_utils.py (create_engine_config) 0.11.1, 0.19.1, 0.22.0, 0.28.0, 0.33.0",
    since=Version(0, 11, 1),
)
def _node_rank(case: Case, line: CommandLine) -> Iterator[Said]:
    spread, rank = layout(line), line.integer("--node-rank")
    if spread.readable and spread.has_nodes and rank is not None and not 0 <= rank < spread.nodes:
        yield Said(
            "--node-rank",
            f"node rank {rank} does not exist among {spread.nodes} nodes: vLLM refuses to start",
            "count the nodes from 0",
            expected=f"0 to {spread.nodes - 1}",
            observed=rank,
        )


@line_rule(
    "nodes_with_ray",
    ERROR,
    "vllm/engine/arg_utils.py and vllm/config/parallel.py 0.11.1, 0.19.1, 0.22.0, 0.33.0",
    since=Version(0, 11, 1),
)
def _nodes_with_ray(case: Case, line: CommandLine) -> Iterator[Said]:
    if not layout(line).has_nodes:
        return
    for name in ("--data-parallel-backend", "--distributed-executor-backend"):
        if line.value(name) == "ray":
            yield Said(
                name,
                f"--nnodes {layout(line).nodes} starts the nodes without Ray, and {name} asks for Ray: "
                "vLLM refuses to start",
                f"leave --nnodes out and let Ray place the workers, or set {name} mp",
                expected="mp",
                observed="ray",
            )


@line_rule(
    "more_gpus_than_there_are",
    ERROR,
    "vllm/config/parallel.py (world size against device_count) 0.11.1, 0.19.1, 0.28.0, 0.33.0; vllm/config.py 0.9.2",
)
def _gpus(case: Case, line: CommandLine) -> Iterator[Said]:
    spread, there = layout(line), gpus_of(case)
    if there is None or not spread.readable or spread.has_nodes or places_itself(line):
        return
    needed = spread.world * _local_ranks(line, spread.data)
    if needed > there:
        yield Said(
            "--tensor-parallel-size",
            f"the server asks for {needed} GPUs (tensor {spread.tensor} x pipeline {spread.pipeline} x local data "
            f"ranks {needed // spread.world}), and it sees {there}: the start fails",
            "lower the sizes, give the container more GPUs, or spread over nodes (--nnodes, or Ray)",
            expected=f"at most {there}",
            observed=needed,
        )


def _local_ranks(line: CommandLine, data: int) -> int:
    """Data-parallel ranks of this server; a size that is no number counts as one rank."""
    if has_external_balancing(line):
        return 1
    if not line.has("--data-parallel-size-local"):
        return data
    local = line.integer("--data-parallel-size-local")
    return local if local is not None and local >= 0 else 1


@line_rule(
    "decode_context_does_not_divide",
    ERROR,
    "vllm/config/parallel.py (tp_size must be divisible by dcp_size) 0.26.0, 0.28.0, 0.33.0",
    since=Version(0, 26),
)
def _decode_context(case: Case, line: CommandLine) -> Iterator[Said]:
    spread, size = layout(line), line.integer("--decode-context-parallel-size")
    if spread.readable and spread.context == 1 and size is not None and size > 0 and spread.tensor % size:
        yield Said(
            "--decode-context-parallel-size",
            f"{size} does not divide --tensor-parallel-size {spread.tensor}: vLLM refuses to start",
            "choose a divisor of the tensor parallel size",
            observed=size,
        )


@line_rule(
    "expert_balancing_without_expert_parallel",
    ERROR,
    "vllm/config/parallel.py (enable_expert_parallel must be True to use EPLB) 0.10.0, 0.19.1, 0.33.0",
    since=Version(0, 10),
)
def _experts(case: Case, line: CommandLine) -> Iterator[Said]:
    if line.has("--enable-eplb") and not line.has("--enable-expert-parallel"):
        yield Said(
            "--enable-eplb",
            "balancing experts needs expert parallelism, which is not switched on: vLLM refuses to start",
            "add --enable-expert-parallel, or leave --enable-eplb out",
            expected="--enable-expert-parallel",
        )


RULES = (_partition, _nodes, _node_rank, _nodes_with_ray, _gpus, _decode_context, _experts)
