# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What one start-up log came to: facts, verdict, diagnosis.

Lists hold the distinct values in order of appearance (ranks and starts may differ); a fact that was not printed is None
or empty. Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .slugs import NONE

READY, STARTING, FAILED = "ready", "starting", "failed"
CRASHED, STOPPED, SERVING_ERROR = "crashed", "stopped", "serving_error"


@dataclass(frozen=True)
class StartupReport:
    """The verdict (``state``, ``diagnosis``) is on the last start in the text; the facts are of all of them.

    Units are in the names: GiB, seconds, tokens. ``max_concurrency`` is (tokens per request, factor),
    ``graph_capture`` (seconds, GiB or None), ``engine_init_seconds`` (seconds, of which compilation or None),
    ``gpu_blocks`` the words as printed (device, its blocks, blocks on the CPU). ``details`` holds what the text names
    as culprit, ``evidence`` the causal lines without secrets.
    """

    vllm_version: str | None = None
    engine: str | None = None
    model: str | None = None
    state: str = STARTING
    diagnosis: str = NONE
    startup_complete: bool = False
    earlier_starts: tuple[Mapping[str, str], ...] = ()
    model_memory_gib: tuple[float, ...] = ()
    model_load_seconds: tuple[float, ...] = ()
    weights_load_seconds: tuple[float, ...] = ()
    kv_cache_available_gib: tuple[float, ...] = ()
    kv_cache_tokens: tuple[int, ...] = ()
    kv_cache_tokens_usable: int | None = None
    max_concurrency: tuple[tuple[int, float], ...] = ()
    gpu_blocks: tuple[tuple[str, ...], ...] = ()
    compile_seconds: tuple[float, ...] = ()
    graph_capture: tuple[tuple[float, float | None], ...] = ()
    engine_init_seconds: tuple[tuple[float, float | None], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    first_error_line: str | None = None
    remedy: str | None = None
    truncated: bool = False
    non_default_args: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data (lists, not tuples)."""
        return {name: _listed(value) for name, value in asdict(self).items()}


def startup_from_dict(data: dict[str, Any]) -> StartupReport:
    """Read a report back from its plain data; keys that a newer tool wrote are left out."""
    names = StartupReport.__dataclass_fields__
    return StartupReport(**{name: _tupled(value) for name, value in data.items() if name in names})


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value
