# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Step 2: does the engine run with the configuration that was given, and how much does it hold?

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..findings import ERROR, INFO, WARNING, Finding
from ..metrics.capacity import compare_capacity
from .case import SERVER, Case
from .model import SOURCE, Section, facts, unread_of
from .words import number

SOURCES = ("release", "gate", "health", "models", "metrics", "start-up log")
_LOW_CONCURRENCY = 2.0
# Frontends that are looked at; more of them have the same words.
_SERVERS = 8
_FULL = 0.95
_GIB = 1 << 30
_SERVED = ("preemptions_total", "prompt_tokens_total", "generation_tokens_total")


def section(case: Case) -> Section:
    """The section."""
    said, metrics = case.said, case.health.get("metrics") or {}
    memory = case.memory
    rows = facts(
        ("arguments", list(case.args), "release.json"),
        ("options that the engine took", said.get("non_default_args"), "start-up log"),
        ("served models", case.health.get("models"), "/v1/models"),
        ("longest request", _longest(case), "/v1/models"),
        ("memory of the model, GiB", said.get("model_memory_gib"), "start-up log"),
        ("memory for the KV cache, GiB", said.get("kv_cache_available_gib"), "start-up log"),
        ("KV cache, tokens", said.get("kv_cache_tokens"), "start-up log"),
        ("KV cache, tokens (metric)", metrics.get("kv_cache_size_tokens"), "/metrics"),
        ("requests at once", said.get("max_concurrency"), "start-up log"),
        ("KV cache floor", case.gate.get("kv_floor_tokens"), "gate.json"),
        ("load", _some(metrics, "running", "waiting", "kv_cache_usage"), "/metrics"),
        ("served so far", _some(metrics, *_SERVED), "/metrics"),
        ("health", case.health.get("health"), "/health"),
        ("host memory, GiB", [round(value / _GIB, 1) for value in memory] if memory else None, "/proc/meminfo"),
    )  # fmt: skip
    findings = tuple([*_record(case), *_answers(case), *_arguments(case), *_capacity(case), *_load(case)])
    title = "2. Resolved configuration and capacity"
    return Section("configuration", title, rows, findings, unread_of(case.unread, SOURCES))


def _some(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if values.get(name) is not None}


def _longest(case: Case) -> Any:
    return next((card["max_model_len"] for card in case.models if card.get("max_model_len")), None)


def _record(case: Case) -> Iterator[Finding]:
    problem = case.unread.get("release", "")
    if "edited" in problem:
        yield Finding(
            "record_edited",
            ERROR,
            case.service,
            problem,
            remedy="never edit a release: change the inventory, remove and deploy",
            source=SOURCE,
        )


def _answers(case: Case) -> Iterator[Finding]:
    if not case.serves:
        return
    for source in ("health", "models"):
        if source in case.unread:
            yield Finding(
                f"{source}_unanswered",
                ERROR,
                f"{case.service} {case.gate.get('url') or ''}".strip(),
                f"systemd says that it serves, and it does not answer: {case.unread[source]}",
                remedy=f"ansible-playbook gpuhosts.vllm.verify -e vllm_only={case.service}",
                source="docs/runbooks/verify.md",
            )


def _arguments(case: Case) -> Iterator[Finding]:
    """The command line of the server beside the recorded one, and the values that the engine says it took."""
    wanted = case.args
    for process in case.of_role(SERVER)[:_SERVERS]:
        words = process.words
        runs = words[words.index("serve") + 1 :] if "serve" in words else None
        if wanted and runs is not None and list(runs) != list(wanted):
            yield Finding(
                "arguments_differ",
                ERROR,
                f"{case.service} pid {process.pid}",
                "the server runs with other arguments than the release has",
                expected=[word for word in wanted if word not in runs],
                observed=[word for word in runs if word not in wanted],
                remedy=f"its files were edited by hand; on the host: systemctl restart vllm-{case.service}",
                source=SOURCE,
            )
    took = case.said.get("non_default_args") or {}
    for name, given in case.options.items():
        resolved = took.get(name.replace("-", "_"))
        if isinstance(resolved, bool) or not isinstance(resolved, (int, float)) or not isinstance(given, str):
            continue
        value = _figure(given)
        if value is not None and abs(value - resolved) > 1e-9 * max(1.0, abs(value)):
            yield Finding(
                "argument_taken_otherwise",
                WARNING,
                f"{case.service} config.{name}",
                f"was given as {given}, and the engine took {resolved}",
                expected=given,
                observed=resolved,
                source=SOURCE,
            )
    asked, listed = number(case.options.get("max-model-len")), _longest(case)
    if asked and asked > 0 and isinstance(listed, int) and listed != asked:
        yield Finding(
            "max_model_len_differs",
            ERROR,
            f"{case.service} config.max-model-len",
            f"the server takes requests of {listed:,} tokens, {asked:,} were asked for",
            expected=asked,
            observed=listed,
            source=SOURCE,
        )


def _figure(text: str) -> float | None:
    whole_number = number(text)
    try:
        return float(whole_number) if whole_number is not None else float(text)
    except ValueError:
        return None


def _capacity(case: Case) -> Iterator[Finding]:
    said, metrics = case.said, case.health.get("metrics") or {}
    tokens = said.get("kv_cache_tokens_usable") or metrics.get("kv_cache_size_tokens")
    floor = case.gate.get("kv_floor_tokens")
    disagrees = compare_capacity(case.service, case.startup, case.metrics) if case.startup and case.metrics else None
    if disagrees is not None:
        yield disagrees
    if tokens and floor and tokens < floor:
        yield Finding(
            "kv_below_floor",
            ERROR,
            case.service,
            f"the KV cache has {tokens:,} tokens, the floor of the service is {floor:,}",
            expected=floor,
            observed=tokens,
            remedy="free GPU memory, raise gpu-memory-utilization, or lower max-model-len and max-num-seqs",
            source=SOURCE,
        )
    if len(set(said.get("kv_cache_tokens") or ())) > 1:
        yield Finding(
            "ranks_differ",
            INFO,
            case.service,
            "its ranks have KV caches of different sizes; the smallest one counts",
            observed=said["kv_cache_tokens"],
            source=SOURCE,
        )
    for length, factor in said.get("max_concurrency") or ():
        if factor < _LOW_CONCURRENCY:
            yield Finding(
                "low_concurrency",
                ERROR if factor < 1 else WARNING,
                case.service,
                f"only {factor:.2f} requests of {length:,} tokens fit at once",
                expected=f"{_LOW_CONCURRENCY:g} or more",
                observed=factor,
                remedy=f"lower max-model-len from {length:,}, give it more GPU memory, or an FP8 KV cache",
                source=SOURCE,
            )


def _load(case: Case) -> Iterator[Finding]:
    metrics = case.health.get("metrics") or {}
    usage, waiting = metrics.get("kv_cache_usage"), metrics.get("waiting")
    if usage and waiting and usage >= _FULL:
        yield Finding(
            "kv_cache_full",
            WARNING,
            case.service,
            f"the KV cache is {usage:.0%} full and {waiting} requests wait",
            remedy="fewer or shorter requests, or more KV cache",
            source=SOURCE,
        )
