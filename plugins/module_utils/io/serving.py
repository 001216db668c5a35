# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Ask a server: the GET checks of its health, and the real requests that prove that it serves.

Private to the collection.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

from ..health.answer import Answer
from ..health.evidence import ALL_SECONDS, FIRST_TOKEN_SECONDS, POOLING, Evidence, Expected, Reply
from ..health.golden_answers import GoldenAnswer, GoldenReply, read_golden
from ..health.golden_prompts import GoldenPrompt
from ..health.judge import PATHS, Judged, judge_health, served_names
from ..health.report import HealthReport, not_checked
from ..health.stream import read_embedding, read_stream
from ..metrics.parse import parse_metrics
from ..metrics.report import MetricsReport
from .clock import CLOCK, Clock
from .http import Requester, request
from .patterns import fault_of

_BODY_LIMIT = 4 << 20
_LEAST_SECONDS = 0.01
_GET_SECONDS = 10.0
_RETRY_PAUSE = 1.0
_MOST_REQUESTS = 64
# For all golden prompts of a service together: an engine that is slow must not hold a gate for ever.
GOLDEN_SECONDS = 300.0
_NO_ROUTE = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)

_STREAMED = {"max_tokens": 8, "temperature": 0, "stream": True, "stream_options": {"include_usage": True}}
_GENERATE_ASKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/completions", {"prompt": "The quick brown fox", **_STREAMED}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Say one word."}], **_STREAMED}),
)
_POOLING_ASKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/embeddings", {"input": "The quick brown fox"}),
    ("/pooling", {"input": "The quick brown fox"}),
)


def authorization(api_key: str | None) -> dict[str, str]:
    """The header that carries an API key."""
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def check_health(
    url: str,
    checks: Sequence[str],
    *,
    timeout: float,
    api_key: str | None = None,
    http: Requester = request,
) -> HealthReport:
    """Make the checks one after another with GET, ``timeout`` seconds for all of them together."""
    began = time.monotonic()
    judged: list[Judged] = []
    for check in checks:
        left = timeout - (time.monotonic() - began)
        if left < _LEAST_SECONDS:
            judged.append(not_checked(check, url, timeout))
            continue
        answer = http(url + PATHS[check], headers=authorization(api_key), timeout=left, max_bytes=_BODY_LIMIT)
        judged.append(judge_health(check, url, answer))
    late = any(one.timed_out for one in judged)
    return HealthReport(url, tuple(judged), time.monotonic() - began, late)


def gather_verification(
    expected: Expected,
    *,
    api_key: str | None = None,
    http: Requester = request,
    clock: Clock = CLOCK,
) -> Evidence:
    """Ask a server for all that HTTP can prove: what it says of itself, real answers (as many as ``warmup``), and the
    golden prompts, once the others were answered.
    """
    asker = _Asker(expected, authorization(api_key), http, clock)
    health, version, models = (asker.get(path) for path in ("/health", "/version", "/v1/models"))
    replies: list[Reply] = []
    golden: tuple[GoldenReply, ...] = ()
    metrics: MetricsReport | None = None
    if health.ok:
        page = asker.get(PATHS["metrics"])
        metrics = parse_metrics(page.body) if page.ok else None
        name = next(iter(expected.served_names or served_names(models) or ()), "")
        for _turn in range(max(1, min(expected.warmup, _MOST_REQUESTS))):
            replies.append(asker.real_request(name))
            if replies[-1].problem or not replies[-1].answer.ok:
                break
        else:
            golden = tuple(asker.golden(name))
    return Evidence(health, models, version, tuple(replies), metrics=metrics, golden=golden)


class _Asker:
    """Makes the requests of one verification."""

    def __init__(self, expected: Expected, headers: dict[str, str], http: Requester, clock: Clock) -> None:
        self.expected = expected
        self.headers = headers
        self.http = http
        self.clock = clock

    def get(self, path: str) -> Answer:
        return self.http(self.expected.url + path, headers=self.headers, timeout=_GET_SECONDS, max_bytes=_BODY_LIMIT)

    def real_request(self, name: str) -> Reply:
        """One completion (or chat, where there are no completions), or one embedding (or pooling)."""
        asks = _POOLING_ASKS if self.expected.runner == POOLING else _GENERATE_ASKS
        (route, ask), *others = asks
        reply = self.post(route, {"model": name, **ask})
        for route, ask in others:
            if reply.answer.status not in _NO_ROUTE:
                break
            reply = self.post(route, {"model": name, **ask})
        return reply

    def golden(self, name: str) -> Iterator[GoldenReply]:
        """The answers to the golden prompts, one after another, in a time of their own."""
        until = self.clock.monotonic() + GOLDEN_SECONDS
        for prompt in self.expected.golden:
            left = until - self.clock.monotonic()
            if left < _LEAST_SECONDS:
                late = GoldenAnswer(problem=f"not asked: {GOLDEN_SECONDS:g} s for all golden prompts were over")
                yield GoldenReply(prompt, late)
                continue
            answer = read_golden(self.asked(prompt, name, min(left, ALL_SECONDS)))
            looked_for = prompt.pattern is not None and answer.problem is None
            yield GoldenReply(prompt, answer, fault_of(prompt.pattern or "", answer.text) if looked_for else None)

    def asked(self, prompt: GoldenPrompt, name: str, seconds: float) -> Answer:
        """The answer in one piece; asked once more after a 503."""
        ask = {"model": name, **prompt.ask}
        answer = self.post_once(prompt.route, ask, seconds)
        if answer.status != HTTPStatus.SERVICE_UNAVAILABLE:
            return answer
        self.clock.sleep(_RETRY_PAUSE)
        return self.post_once(prompt.route, ask, seconds)

    def post(self, route: str, ask: dict[str, Any]) -> Reply:
        """Ask once, and once more after a 503."""
        answer = self.post_once(route, ask)
        if answer.status != HTTPStatus.SERVICE_UNAVAILABLE:
            return self.read(route, ask, answer, 1)
        self.clock.sleep(_RETRY_PAUSE)
        return self.read(route, ask, self.post_once(route, ask), 2)

    def post_once(self, route: str, ask: dict[str, Any], seconds: float = ALL_SECONDS) -> Answer:
        first = (b"data:", FIRST_TOKEN_SECONDS) if ask.get("stream") else None
        return self.http(
            self.expected.url + route,
            method="POST",
            headers={**self.headers, "Content-Type": "application/json"},
            body=json.dumps(ask).encode(),
            timeout=seconds,
            max_bytes=_BODY_LIMIT,
            first=first,
        )

    @staticmethod
    def read(route: str, ask: dict[str, Any], answer: Answer, attempts: int) -> Reply:
        return (read_stream if ask.get("stream") else read_embedding)(route, answer, attempts)
