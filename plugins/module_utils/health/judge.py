# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge what a server answers to GET requests: one finding a check, and the facts that the answers hold.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from ..findings import ERROR, INFO, WARNING, Finding
from ..metrics.parse import parse_metrics
from .answer import Answer, outcome, short

PATHS: Mapping[str, str] = {
    "health": "/health",
    "version": "/version",
    "models": "/v1/models",
    "load": "/load",
    "metrics": "/metrics",
}
CHECKS = tuple(PATHS)

_LIST_LIMIT = 64
_SHOWN = 3
_NAME_LIMIT = 200
_UNAVAILABLE = 503
_LOCKED = (401, 403)


@dataclass(frozen=True)
class Judged:
    """The verdict of one check, and what its answer told."""

    check: str
    finding: Finding
    facts: Mapping[str, Any] = field(default_factory=dict)
    timed_out: bool = False

    @property
    def passed(self) -> bool:
        """Whether the check found what a serving server shows."""
        return self.finding.severity == INFO


def judge_health(check: str, url: str, answer: Answer) -> Judged:
    """Judge one answer; ``url`` is the server's address, for the words only."""
    if not answer.ok:
        return Judged(check, _unanswered(check, url, answer), timed_out=answer.timed_out)
    return _JUDGES[check](check, url, answer)


def facts_of(judged: list[Judged]) -> dict[str, Any]:
    """The facts of all checks in one map."""
    return {name: value for one in judged for name, value in one.facts.items()}


def _finding(check: str, url: str, severity: str, message: str, **more: Any) -> Finding:
    suffix = "ok" if severity == INFO else "failed"
    name = more.pop("id", f"{check}_{suffix}")
    return Finding(id=name, severity=severity, subject=f"{url}{PATHS[check]}", message=message, **more)


def _unanswered(check: str, url: str, answer: Answer) -> Finding:
    said = outcome(answer)
    more = {"expected": "HTTP 200", "observed": said}
    if answer.status is None:
        hint = "an engine that is still loading refuses connections; see its service and its log"
        return _finding(check, url, ERROR, said, id=f"{check}_unreachable", remedy=hint, **more)
    if answer.status in _LOCKED:
        hint = "give the API key of the service in the environment as VLLM_API_KEY"
        return _finding(check, url, ERROR, said, id=f"{check}_unauthorized", remedy=hint, **more)
    if check == "health" and answer.status == _UNAVAILABLE:
        return _finding(check, url, ERROR, "the engine behind the server is dead", id="engine_dead", **more)
    return _finding(check, url, ERROR, said, **more)


def _judge_alive(check: str, url: str, answer: Answer) -> Judged:
    message = f"alive, answered in {answer.seconds:.2f} s"
    return Judged(check, _finding(check, url, INFO, message), {"health": answer.status})


def _judge_version(check: str, url: str, answer: Answer) -> Judged:
    data = answer.json()
    version = data.get("version") if isinstance(data, dict) else None
    if not isinstance(version, str) or not version:
        return Judged(check, _foreign(check, url, answer, '{"version": "X"}'))
    version = short(version, _NAME_LIMIT)
    return Judged(check, _finding(check, url, INFO, f"vLLM {version}"), {"version": version})


def _judge_models(check: str, url: str, answer: Answer) -> Judged:
    names = served_names(answer)
    if names is None:
        return Judged(check, _foreign(check, url, answer, "a list of models"))
    facts: dict[str, Any] = {
        "models": [short(name, _NAME_LIMIT) for name in names[:_LIST_LIMIT]],
        "model_count": len(names),
    }
    if not names:
        return Judged(check, _finding(check, url, ERROR, "the server lists no model"), facts)
    more = len(names) - _SHOWN
    shown = ", ".join(facts["models"][:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return Judged(check, _finding(check, url, INFO, f"serves {shown}"), facts)


def served_names(answer: Answer) -> list[str] | None:
    """The model names of a /v1/models answer; None when it is not such an answer."""
    data = answer.json()
    cards = data.get("data") if isinstance(data, dict) else None
    if not isinstance(cards, list):
        return None
    return [card["id"] for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str)]


def _judge_load(check: str, url: str, answer: Answer) -> Judged:
    data = answer.json()
    load = data.get("server_load") if isinstance(data, dict) else None
    if isinstance(load, bool) or not isinstance(load, int):
        return Judged(check, _foreign(check, url, answer, '{"server_load": N}'))
    return Judged(check, _finding(check, url, INFO, f"server load {load}"), {"server_load": load})


def _judge_metrics(check: str, url: str, answer: Answer) -> Judged:
    report = parse_metrics(answer.body)
    facts = {"metrics": report.to_dict()}
    if report.prefix is None:
        message = "no metric of vLLM among the metrics"
        more = {"id": "metrics_foreign", "expected": "names that begin with vllm: or ray_vllm", "observed": None}
        return Judged(check, _finding(check, url, ERROR, message, **more), facts)
    if report.state == "no_samples":
        message = "vLLM's metrics are declared, but none has a value"
        return Judged(check, _finding(check, url, WARNING, message, id="metrics_no_samples"), facts)
    usage = "" if report.kv_cache_usage is None else f", KV cache {report.kv_cache_usage:.0%} used"
    message = f"{report.state}: {report.number('running') or 0} running, {report.number('waiting') or 0} waiting{usage}"
    return Judged(check, _finding(check, url, INFO, message), facts)


def _foreign(check: str, url: str, answer: Answer, expected: str) -> Finding:
    begin = short(answer.text, 80) or "an empty body"
    message = "answers, but not as a vLLM server does"
    hint = "see which program listens on this port"
    return _finding(check, url, ERROR, message, id=f"{check}_foreign", expected=expected, observed=begin, remedy=hint)


_JUDGES: Mapping[str, Callable[[str, str, Answer], Judged]] = {
    "health": _judge_alive,
    "version": _judge_version,
    "models": _judge_models,
    "load": _judge_load,
    "metrics": _judge_metrics,
}
