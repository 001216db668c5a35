# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge the claims of a server that serves; a claim that holds is an information with its evidence.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ..findings import ERROR, INFO, WARNING, Finding
from ..metrics.capacity import compare_capacity
from ..metrics.report import MetricsReport
from ..startup.parse import StartupReport
from ..versions import parse_version
from .answer import outcome, short
from .evidence import POOLING, Evidence, Expected, HostEvidence, Identity, Reply
from .golden import judge_golden
from .judge import served_names

KV_SHARE = 0.95
_BROKEN = ("abort", "error")
_ID = 12


def judge_verification(expected: Expected, evidence: Evidence) -> list[Finding]:
    """One finding a claim, in the order of the claims; golden prompts have theirs behind the one that it generates."""
    findings = [
        _alive(expected, evidence),
        _right_model(expected, evidence),
        _right_build(expected, evidence),
        _generates(expected, evidence),
        *judge_golden(expected.service, evidence.golden, evidence.host.golden if evidence.host else None),
    ]
    if evidence.host is not None:
        findings += [
            _fits(expected, evidence.host, evidence.metrics),
            _is_the_new_one(expected, evidence.host),
            _way_back(expected, evidence.host),
            *_disagrees(expected, evidence.host, evidence.metrics),
            *_printed(expected, evidence.host),
        ]
    return findings


def _holds(service: str, claim: str, message: str, **more: Any) -> Finding:
    return Finding(f"claim_{claim}", INFO, service, message, source="verification", **more)


def _fails(service: str, claim: str, message: str, **more: Any) -> Finding:
    return Finding(f"claim_{claim}", ERROR, service, message, source="verification", **more)


def _alive(expected: Expected, evidence: Evidence) -> Finding:
    answer = evidence.health
    if answer.ok:
        return _holds(expected.service, "alive", f"/health answers 200 in {answer.seconds:.2f} s")
    said = outcome(answer)
    remedy = f"vllm-host startup-log {expected.service}, vllm-host status {expected.service}"
    return _fails(expected.service, "alive", f"/health: {said}", expected="HTTP 200", observed=said, remedy=remedy)


def _right_model(expected: Expected, evidence: Evidence) -> Finding:
    names = served_names(evidence.models) if evidence.models.ok else None
    wanted = list(expected.served_names)
    if names is None:
        said = outcome(evidence.models) if not evidence.models.ok else "an answer that is no list of models"
        return _fails(
            expected.service, "right_model", f"/v1/models: {said}", expected=wanted or "a list", observed=said
        )
    missing = [name for name in wanted if name not in names]
    shown = [short(name) for name in names[:8]]
    if missing or not names:
        message = f"/v1/models does not list {', '.join(missing) or 'any model'}"
        return _fails(expected.service, "right_model", message, expected=wanted, observed=shown)
    return _holds(expected.service, "right_model", f"/v1/models lists {', '.join(wanted or shown)}", observed=shown)


def _right_build(expected: Expected, evidence: Evidence) -> Finding:
    data = evidence.version.json() if evidence.version.ok else None
    found = data.get("version") if isinstance(data, dict) else None
    if not isinstance(found, str):
        said = outcome(evidence.version) if not evidence.version.ok else "an answer without a version"
        return _fails(expected.service, "right_build", f"/version: {said}", expected=expected.version, observed=said)
    found = short(found)
    if expected.version is None:
        return _holds(expected.service, "right_build", f"vLLM {found} (no version is expected)", observed=found)
    if not _same_build(found, expected.version):
        message = f"/version says {found}, the release is {expected.version}"
        return _fails(expected.service, "right_build", message, expected=expected.version, observed=found)
    return _holds(expected.service, "right_build", f"vLLM {found}", expected=expected.version, observed=found)


def _same_build(found: str, wanted: str) -> bool:
    """Whether two version texts name one release; a local part such as ``+cpu`` does not count."""
    try:
        return parse_version(found) == parse_version(wanted)
    except ValueError:
        return found.partition("+")[0] == wanted.partition("+")[0]


def _generates(expected: Expected, evidence: Evidence) -> Finding:
    if not evidence.replies:
        return _fails(expected.service, "generates", "not asked: the server does not answer on /health")
    for number, reply in enumerate(evidence.replies, 1):
        problem = _problem(reply)
        if problem:
            turn = f"request {number}: " if len(evidence.replies) > 1 else ""
            wanted = "an embedding" if expected.runner == POOLING else "tokens with a finish_reason"
            message = f"{turn}{reply.route}: {problem}"
            return _fails(expected.service, "generates", message, expected=wanted, observed=problem)
    return _holds(expected.service, "generates", _served(expected, evidence.replies[0]))


def _problem(reply: Reply) -> str | None:
    if reply.problem is not None or not reply.answer.ok:
        return reply.problem or outcome(reply.answer)
    if reply.tokens < 1:
        return "answered without a token"
    if reply.finish_reason is None:
        return "the answer has no finish_reason"
    return f"finish_reason is {reply.finish_reason}" if reply.finish_reason in _BROKEN else None


def _served(expected: Expected, reply: Reply) -> str:
    seconds = reply.answer.seconds
    retried = " after one 503" if reply.attempts > 1 else ""
    if expected.runner == POOLING:
        return f"{reply.route}: {reply.tokens} dimensions in {seconds:.2f} s{retried}"
    first = "" if reply.answer.first_seconds is None else f", first after {reply.answer.first_seconds:.2f} s"
    return f"{reply.route}: {reply.tokens} tokens in {seconds:.2f} s{first}, ended by {reply.finish_reason}{retried}"


def _fits(expected: Expected, host: HostEvidence, metrics: MetricsReport | None) -> Finding:
    if host.startup is None:
        return _fails(expected.service, "fits", "the log of this start was not kept", expected="KV cache figures")
    found = _logged(host.startup) or _measured(metrics)
    if found is None:
        if expected.runner == POOLING and host.startup.kv_cache_tokens_usable is None:
            return _holds(expected.service, "fits", "a pooling model that uses no KV cache")
        look = f"vllm-host startup-log {expected.service}"
        return _fails(expected.service, "fits", "the start did not say how much fits into the KV cache", remedy=look)
    tokens, figures = found
    floor, why = _floor(expected, host)
    if floor is not None and tokens < floor:
        remedy = "see what else holds memory of the GPUs, or lower the floor if this is meant"
        return _fails(
            expected.service, "fits", f"{figures}: less than {why}", expected=floor, observed=tokens, remedy=remedy
        )
    return _holds(
        expected.service, "fits", figures + (f" (at least {why})" if floor is not None else ""), observed=tokens
    )


def _logged(report: StartupReport) -> tuple[int, str] | None:
    """The usable tokens and the words for them, as the log of the start has them."""
    tokens = report.kv_cache_tokens_usable
    if tokens is None or not report.max_concurrency:
        return None
    length, factor = min(report.max_concurrency, key=lambda pair: pair[1])
    return tokens, f"KV cache {tokens:,} tokens, {factor:.2f} requests of {length:,} tokens at once"


def _measured(metrics: MetricsReport | None) -> tuple[int, str] | None:
    """The same from the metrics, which have it from 0.24.0 on: a log level above INFO keeps it out of the log."""
    tokens = metrics.kv_cache_size_tokens if metrics else None
    factor = metrics.kv_cache_max_concurrency if metrics else None
    if tokens is None or factor is None:
        return None
    words = f"KV cache {tokens:,} tokens, {factor:.2f} requests of full length at once"
    return tokens, f"{words} (/metrics says so, the log of this start does not say)"


def _disagrees(expected: Expected, host: HostEvidence, metrics: MetricsReport | None) -> Iterator[Finding]:
    finding = compare_capacity(expected.service, host.startup, metrics) if host.startup and metrics else None
    if finding:
        yield finding


def _floor(expected: Expected, host: HostEvidence) -> tuple[int | None, str]:
    if expected.kv_floor_tokens is not None:
        return expected.kv_floor_tokens, f"the floor of {expected.kv_floor_tokens:,} that the service sets"
    if host.reference_tokens is not None:
        floor = int(KV_SHARE * host.reference_tokens)
        whose = f" of {host.reference_release} with this configuration" if host.reference_release else ""
        return floor, f"{KV_SHARE:.0%} of the {host.reference_tokens:,}{whose}"
    return None, ""


def _is_the_new_one(expected: Expected, host: HostEvidence) -> Finding:
    problems = [*host.problems, *_strangers(host)]
    if problems:
        remedy = f"vllm-host status {expected.service}"
        message = "; ".join(problems)
        return _fails(
            expected.service,
            "is_the_new_one",
            message,
            expected=_plain(host.recorded),
            observed=_plain(host.observed),
            remedy=remedy,
        )
    start = f"start {host.start_seq}, " if host.start_seq is not None else ""
    holder = "which holds the port" if host.port_holder else "the only one of the service"
    message = f"{start}container {host.observed.container_id[:_ID]}, {holder}"
    return _holds(expected.service, "is_the_new_one", message)


def _strangers(host: HostEvidence) -> Iterator[str]:
    recorded, observed = host.recorded, host.observed
    if recorded is None:
        yield "no start of what runs now is recorded"
    else:
        if recorded.invocation_id != observed.invocation_id:
            yield f"systemd runs invocation {observed.invocation_id or 'none'}, recorded is {recorded.invocation_id}"
        if recorded.container_id != observed.container_id:
            yield f"container {_brief(observed.container_id)} runs, recorded is {_brief(recorded.container_id)}"
    if len(host.containers) != 1:
        yield f"{len(host.containers)} containers of this service exist, expected one"
    if host.port_holder is not None and host.port_holder not in (host.container, observed.container_id):
        yield f"the port is held by {host.port_holder}"


def _plain(identity: Identity | None) -> dict[str, str] | None:
    return None if identity is None else asdict(identity)


def _brief(container_id: str) -> str:
    return container_id[:_ID] or "none"


def _printed(expected: Expected, host: HostEvidence) -> Iterator[Finding]:
    """The engine's own log is Docker's and the journal's before anybody can take a secret out of it."""
    if host.printed_secrets:
        yield Finding(
            "secret_printed",
            WARNING,
            expected.service,
            f"the engine printed the value of {', '.join(host.printed_secrets)}: the journal and Docker's log have it",
            source="verification",
            remedy="take out what prints it (a plug-in, VLLM_LOGGING_LEVEL), then change the secret; "
            "see the runbook on secrets",
        )


def _way_back(expected: Expected, host: HostEvidence) -> Finding:
    if host.way_back is None:
        return _holds(expected.service, "way_back", "nothing was committed before this: the way back is to stop")
    if host.way_back.problems:
        message = f"{host.way_back.release} cannot be started again: {'; '.join(host.way_back.problems)}"
        return _fails(
            expected.service, "way_back", message, remedy="run the deploy playbook again, which fetches what is missing"
        )
    return _holds(expected.service, "way_back", f"{host.way_back.release} with its image, arguments and model is here")
