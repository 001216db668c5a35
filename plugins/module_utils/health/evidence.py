# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What is expected of a server that serves, and what was seen of one.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..metrics.report import MetricsReport
from ..startup.parse import StartupReport
from .answer import Answer
from .golden_answers import GoldenReply
from .golden_kept import GoldenReference
from .golden_prompts import GoldenPrompt

FIRST_TOKEN_SECONDS = 60.0
ALL_SECONDS = 120.0
POOLING = "pooling"


@dataclass(frozen=True)
class Expected:
    """What the release of a service promises; ``url`` is the server's address without a path.

    A version of None is not judged; without served names the first one that the server lists is asked.
    """

    service: str
    url: str
    version: str | None = None
    served_names: tuple[str, ...] = ()
    runner: str = "generate"
    kv_floor_tokens: int | None = None
    warmup: int = 1
    golden: tuple[GoldenPrompt, ...] = ()


@dataclass(frozen=True)
class Reply:
    """One real request and what came of it; ``tokens`` of an embedding is the number of its dimensions."""

    route: str
    answer: Answer
    text: str = ""
    tokens: int = 0
    finish_reason: str | None = None
    problem: str | None = None
    attempts: int = 1


@dataclass(frozen=True)
class Identity:
    """Which start something is: systemd's id of it and Docker's id of its container."""

    invocation_id: str = ""
    container_id: str = ""


@dataclass(frozen=True)
class WayBack:
    """The release that the service would go back to, and what is missing of it here."""

    release: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class HostEvidence:
    """What the host knows of the server: its start, the container behind the port, the way back.

    ``recorded`` is the start as it was noted when it became ready, ``observed`` is what runs now; ``port_holder`` is
    the container (or process) that holds the port, None where the host could not tell; ``printed_secrets`` are the
    names of secrets whose values the engine wrote into its log. ``reference_tokens`` are what ``reference_release`` had
    room for with this configuration, ``golden`` what the last good release answered to the golden prompts.
    """

    recorded: Identity | None
    observed: Identity
    container: str = ""
    containers: tuple[str, ...] = ()
    port_holder: str | None = None
    startup: StartupReport | None = None
    start_seq: int | None = None
    start_seconds: float | None = None
    reference_tokens: int | None = None
    reference_release: str = ""
    golden: GoldenReference | None = None
    way_back: WayBack | None = None
    problems: tuple[str, ...] = ()
    printed_secrets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """All that was seen; without ``host`` only the claims that HTTP can prove are judged.

    ``metrics`` is None where the page could not be had, which no claim depends on.
    """

    health: Answer
    models: Answer
    version: Answer
    replies: tuple[Reply, ...] = ()
    host: HostEvidence | None = None
    metrics: MetricsReport | None = None
    golden: tuple[GoldenReply, ...] = ()


def verification_facts(expected: Expected, evidence: Evidence) -> dict[str, Any]:
    """The figures of a verification, for reports; what is not known is left out."""
    facts: dict[str, Any] = {
        "url": expected.url,
        "runner": expected.runner,
        "served_names": list(expected.served_names),
    }
    facts.update(_reply_facts(expected, evidence))
    if evidence.host is not None:
        facts.update(_start_facts(evidence.host, evidence.metrics or MetricsReport()))
    return {name: value for name, value in facts.items() if value is not None}


def _reply_facts(expected: Expected, evidence: Evidence) -> Mapping[str, Any]:
    if not evidence.replies:
        return {}
    reply = evidence.replies[0]
    seconds = {"request_seconds": [_rounded(each.answer) for each in evidence.replies]}
    if expected.runner == POOLING:
        embedding = {"dimensions": reply.tokens or None, "embedding_seconds": _rounded(reply.answer)}
        return {"route": reply.route, **embedding, **seconds}
    return {
        **seconds,
        "route": reply.route,
        "completion_tokens": reply.tokens,
        "completion_text": reply.text,
        "completion_seconds": _rounded(reply.answer),
        "first_token_seconds": None if reply.answer.first_seconds is None else round(reply.answer.first_seconds, 3),
        "finish_reason": reply.finish_reason,
    }


def _start_facts(host: HostEvidence, metrics: MetricsReport) -> Mapping[str, Any]:
    report = host.startup or StartupReport()
    tokens = report.kv_cache_tokens_usable
    least = min(report.max_concurrency, key=_factor, default=None)
    return {
        "start": host.start_seq,
        "start_seconds": host.start_seconds,
        "vllm_version": report.vllm_version,
        "kv_cache_tokens": metrics.kv_cache_size_tokens if tokens is None else tokens,
        "max_concurrency": None if least is None else list(least),
        "kv_cache_available_gib": min(report.kv_cache_available_gib, default=None),
        "model_memory_gib": max(report.model_memory_gib, default=None),
        "non_default_args": report.non_default_args,
    }


def _factor(pair: tuple[int, float]) -> float:
    return pair[1]


def _rounded(answer: Answer) -> float:
    return round(answer.seconds, 3)
