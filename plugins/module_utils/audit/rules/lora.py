# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Adapters: switched on or not, how many, of which rank, and who may load new ones.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config.command_line import CommandLine
from ...findings import ERROR, WARNING
from ...versions import Version
from ..case import Case
from .reach import is_loopback
from .saying import Said, case_rule, line_rule
from .values import is_true

_CONFIG = "vllm/config/lora.py 0.11.1, 0.19.1, 0.28.0, 0.33.0; vllm/config.py 0.9.2"
_SETTINGS = ("--max-loras", "--max-lora-rank", "--max-cpu-loras", "--fully-sharded-loras", "--lora-dtype")
_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
_RANK_ONE = Version(0, 11, 1)
_RUNTIME = "VLLM_ALLOW_RUNTIME_LORA_UPDATING"


@line_rule(
    "lora_modules_without_lora",
    ERROR,
    "vllm/entrypoints/openai/models/serving.py (init_static_loras) 0.19.1, 0.33.0; serving_models.py 0.9.2",
)
def _modules(case: Case, line: CommandLine) -> Iterator[Said]:
    if line.has("--lora-modules") and not line.has("--enable-lora"):
        yield Said(
            "--lora-modules",
            "adapters are named and LoRA is not switched on: loading the first one fails, and the start with it",
            "add --enable-lora",
            expected="--enable-lora",
        )


@line_rule("lora_settings_without_lora", WARNING, "vllm/engine/arg_utils.py (lora_config) 0.9.2, 0.19.1, 0.33.0")
def _settings(case: Case, line: CommandLine) -> Iterator[Said]:
    given = [name for name in _SETTINGS if line.has(name)]
    if given and not line.has("--enable-lora") and not line.has("--lora-modules"):
        yield Said(
            given[0],
            f"{', '.join(given)} do nothing: LoRA is not switched on, and requests for an adapter answer 404",
            "add --enable-lora, or leave the settings out",
            expected="--enable-lora",
            observed=given,
        )


@line_rule("lora_fewer_on_cpu", ERROR, _CONFIG)
def _fewer(case: Case, line: CommandLine) -> Iterator[Said]:
    batch = line.integer("--max-loras") if line.has("--max-loras") else 1
    cpu = line.integer("--max-cpu-loras")
    if line.has("--enable-lora") and cpu is not None and batch is not None and 0 < cpu < batch:
        yield Said(
            "--max-cpu-loras",
            f"--max-cpu-loras {cpu} is below --max-loras {batch}: vLLM refuses to start",
            "set it to --max-loras or more, or leave it out",
            expected=f"at least {batch}",
            observed=cpu,
        )


@line_rule("lora_rank", ERROR, f"{_CONFIG} (possible_max_ranks, MaxLoRARanks)")
def _rank(case: Case, line: CommandLine) -> Iterator[Said]:
    rank = line.integer("--max-lora-rank")
    allowed = (1, *_RANKS) if case.version >= _RANK_ONE else _RANKS
    if line.has("--enable-lora") and rank is not None and rank not in allowed:
        yield Said(
            "--max-lora-rank",
            f"there are kernels for some ranks only, and {rank} is none of them: vLLM refuses to start",
            "give the next larger rank; adapters of a smaller rank load into it",
            expected=list(allowed),
            observed=rank,
        )


@case_rule(
    "lora_runtime_updating_exposed",
    WARNING,
    "vllm/entrypoints/serve/lora/api_router.py 0.19.1, 0.33.0; docs/features/lora.md",
)
def _runtime(case: Case) -> Iterator[Said]:
    bind = case.subject.host_bind
    if not is_true((case.subject.env or {}).get(_RUNTIME)) or bind is None or is_loopback(bind):
        return
    if case.subject.has_key is False:
        yield Said(
            _RUNTIME,
            f"{_RUNTIME} lets whoever reaches {bind} load adapters from any path or repository, and no key is asked",
            "switch it off, or set an API key and keep the port behind a gateway",
            observed=bind,
        )


@line_rule(
    "lora_runtime_updating_api_servers",
    ERROR,
    "vllm/entrypoints/cli/serve.py (run_multi_api_server) 0.9.2, 0.11.1, 0.19.1, 0.28.0, 0.33.0",
)
def _servers(case: Case, line: CommandLine) -> Iterator[Said]:
    servers = line.integer("--api-server-count")
    if servers is not None and servers > 1 and is_true((case.subject.env or {}).get(_RUNTIME)):
        yield Said(
            "--api-server-count",
            f"{_RUNTIME} works with one API server, --api-server-count is {servers}: vLLM refuses to start",
            "set --api-server-count 1, or name the adapters in --lora-modules",
            expected=1,
            observed=servers,
        )


RULES = (_modules, _settings, _fewer, _rank, _runtime, _servers)
