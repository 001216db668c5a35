# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What /metrics of a vLLM server says: whose metrics, busy or idle, how full and how large the KV cache is, counters.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from .families import MAPS, SHARES, SUMS

Number = Union[int, float]
_NUMBERS = (*SUMS.values(), *SHARES.values())


@dataclass(frozen=True)
class MetricsReport:
    """``state`` is ``idle``, ``busy``, ``no_samples`` (families without a value), or None where nothing is vLLM's.

    ``numbers`` and ``maps`` have the names of ``families``; the rest of ``cache_config_info`` is in ``cache_config``
    as it was printed. What the page does not tell is None, an empty list or an empty map.
    """

    prefix: str | None = None
    state: str | None = None
    model_name: str | None = None
    engines: tuple[str, ...] = ()
    numbers: Mapping[str, Number] = field(default_factory=dict)
    maps: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    by_engine: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    block_size: int | None = None
    num_gpu_blocks: int | None = None
    num_cpu_blocks: int | None = None
    cache_dtype: str | None = None
    kv_cache_size_tokens: int | None = None
    kv_cache_max_concurrency: float | None = None
    cache_config: Mapping[str, str] = field(default_factory=dict)
    max_lora: int | None = None
    running_lora_adapters: tuple[str, ...] = ()
    waiting_lora_adapters: tuple[str, ...] = ()

    def number(self, name: str) -> Number | None:
        """One of the numbers."""
        return self.numbers.get(name)

    @property
    def requests(self) -> int:
        """How many requests the server works on or lets wait."""
        return round(sum(self.numbers.get(name, 0) for name in ("running", "waiting", "swapped")))

    @property
    def kv_cache_usage(self) -> float | None:
        """The used share of the KV cache, 0 to 1, under its old name or its new one."""
        usage = self.numbers.get("kv_cache_usage_perc", self.numbers.get("gpu_cache_usage_perc"))
        return None if usage is None or usage < 0 else float(usage)

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data, every name always there; finished requests are ``requests_REASON``, too."""
        success = self.maps.get("success", {})
        return {
            "prefix": self.prefix,
            "state": self.state,
            "model_name": self.model_name,
            "engines": list(self.engines),
            **{name: self.numbers.get(name) for name in _NUMBERS},
            **{name: dict(self.maps.get(name, {})) for _label, name in MAPS.values()},
            **{f"requests_{reason}": count for reason, count in success.items()},
            **{name: dict(values) for name, values in self.by_engine.items()},
            "kv_cache_usage": self.kv_cache_usage,
            "block_size": self.block_size,
            "num_gpu_blocks": self.num_gpu_blocks,
            "num_cpu_blocks": self.num_cpu_blocks,
            "cache_dtype": self.cache_dtype,
            "kv_cache_size_tokens": self.kv_cache_size_tokens,
            "kv_cache_max_concurrency": self.kv_cache_max_concurrency,
            "cache_config": dict(self.cache_config),
            "max_lora": self.max_lora,
            "running_lora_adapters": list(self.running_lora_adapters),
            "waiting_lora_adapters": list(self.waiting_lora_adapters),
        }
