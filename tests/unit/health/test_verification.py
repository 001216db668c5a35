# SPDX-License-Identifier: Apache-2.0
"""The claims of a server that serves: what proves each, and what does not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import failing
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.answer import Answer
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.evidence import (
    Evidence,
    Expected,
    HostEvidence,
    Identity,
    Reply,
    WayBack,
    verification_facts,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.verify import judge_verification
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.clock import Clock
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.serving import gather_verification
from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.report import MetricsReport
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import StartupReport

CHAT = Expected("chat", "http://127.0.0.1:8000", "0.32.0", ("chat",))
START = Identity("inv1", "c" * 64)
REPORT = StartupReport(
    vllm_version="0.32.0", kv_cache_tokens=(2048,), kv_cache_tokens_usable=2048, max_concurrency=((1024, 2.0),)
)
HOST = HostEvidence(
    recorded=START,
    observed=START,
    container="vllm-chat",
    containers=(START.container_id,),
    port_holder="vllm-chat",
    startup=REPORT,
    start_seq=3,
    start_seconds=2.5,
    way_back=WayBack("rel-000000000001"),
)


def ok(body: Any = b"") -> Answer:
    return Answer(200, body if isinstance(body, bytes) else json.dumps(body).encode(), 0.01)


SERVES = Evidence(
    health=ok(),
    models=ok({"data": [{"id": "chat"}, {"id": "adapter"}]}),
    version=ok({"version": "0.32.0+cpu"}),
    replies=(Reply("/v1/completions", replace(ok(), first_seconds=0.2, seconds=0.4), " fox", 8, "length"),),
    host=HOST,
)


def judged(evidence: Evidence, expected: Expected = CHAT) -> dict[str, Any]:
    return {finding.id.removeprefix("claim_"): finding for finding in judge_verification(expected, evidence)}


def test_a_server_that_serves_holds_every_claim() -> None:
    found = judged(SERVES)
    assert failing(found.values()) == []
    assert list(found) == ["alive", "right_model", "right_build", "generates", "fits", "is_the_new_one", "way_back"]
    assert {finding.subject for finding in found.values()} == {"chat"}
    assert found["generates"].message == "/v1/completions: 8 tokens in 0.40 s, first after 0.20 s, ended by length"
    assert "2,048 tokens" in found["fits"].message


def test_without_a_host_only_what_http_proves_is_judged() -> None:
    assert list(judged(replace(SERVES, host=None))) == ["alive", "right_model", "right_build", "generates"]


REPLY = SERVES.replies[0]
DEAD = Answer(500, b'{"error":{"message":"dead"}}', 1)
SILENT = Answer(None, b"", 60, "no answer within 60 s")
NO_TOKENS = replace(REPORT, kv_cache_tokens_usable=None)


def replied(**changes: Any) -> Evidence:
    """The good evidence with another reply."""
    return replace(SERVES, replies=(replace(REPLY, **changes),))


def on_host(**changes: Any) -> Evidence:
    """The good evidence with something else on the host."""
    return replace(SERVES, host=replace(HOST, **changes))


@pytest.mark.parametrize(
    ("claim", "evidence", "says"),
    [
        ("alive", replace(SERVES, health=Answer(503, b"", 0.1)), "HTTP 503"),
        ("alive", replace(SERVES, health=Answer(None, b"", 0.1, "connection refused")), "connection refused"),
        ("right_model", replace(SERVES, models=ok({"data": [{"id": "other"}]})), "does not list chat"),
        ("right_model", replace(SERVES, models=ok(b"<html>")), "no list of models"),
        ("right_model", replace(SERVES, models=Answer(401, b'{"error":"Unauthorized"}', 0.1)), "Unauthorized"),
        ("right_build", replace(SERVES, version=ok({"version": "0.31.0"})), "/version says 0.31.0"),
        ("right_build", replace(SERVES, version=ok({"version": "0.32.0rc1"})), "0.32.0rc1"),
        ("right_build", replace(SERVES, version=ok({})), "without a version"),
        ("generates", replace(SERVES, replies=()), "not asked"),
        ("generates", replied(answer=DEAD), "HTTP 500: dead"),
        ("generates", replied(answer=SILENT), "no answer within 60 s"),
        ("generates", replied(tokens=0), "without a token"),
        ("generates", replied(finish_reason=None), "no finish_reason"),
        ("generates", replied(finish_reason="abort"), "abort"),
        ("generates", replace(SERVES, replies=(REPLY, replace(REPLY, tokens=0))), "request 2"),
        ("fits", on_host(startup=None), "not kept"),
        ("fits", on_host(startup=NO_TOKENS), "did not say"),
        ("fits", on_host(startup=replace(REPORT, max_concurrency=())), "did not say"),
        ("fits", on_host(reference_tokens=2200), "less than 95% of the 2,200"),
        ("is_the_new_one", on_host(recorded=None), "recorded"),
        ("is_the_new_one", on_host(observed=replace(START, invocation_id="inv2")), "invocation inv2"),
        ("is_the_new_one", on_host(observed=replace(START, container_id="d" * 64)), "container dddddddddddd"),
        ("is_the_new_one", on_host(containers=("c", "d")), "2 containers"),
        ("is_the_new_one", on_host(containers=()), "0 containers"),
        ("is_the_new_one", on_host(port_holder="nginx"), "held by nginx"),
        ("is_the_new_one", on_host(problems=("Docker does not answer: x",)), "Docker does not"),
        ("way_back", on_host(way_back=WayBack("rel-1", ("its image is gone",))), "its image is gone"),
    ],
)
def test_one_broken_claim_is_the_only_one_that_fails(claim: str, evidence: Evidence, says: str) -> None:
    found = judged(evidence)
    assert [finding.id for finding in failing(found.values())] == [f"claim_{claim}"]
    assert says in found[claim].message


@pytest.mark.parametrize(("floor", "holds"), [(2048, True), (2049, False)])
def test_the_floor_of_the_service(floor: int, holds: bool) -> None:
    finding = judged(SERVES, replace(CHAT, kv_floor_tokens=floor))["fits"]
    assert (failing([finding]) == []) is holds
    assert f"{floor:,}" in finding.message


def test_the_floor_of_an_earlier_start_is_95_percent() -> None:
    assert failing([judged(replace(SERVES, host=replace(HOST, reference_tokens=2155)))["fits"]]) == []


def test_a_pooling_model_needs_no_kv_cache() -> None:
    expected = replace(CHAT, runner="pooling")
    evidence = replace(SERVES, host=replace(HOST, startup=StartupReport()))
    assert failing([judged(evidence, expected)["fits"]]) == []


PAGE = MetricsReport(prefix="vllm:", state="idle", kv_cache_size_tokens=2048, kv_cache_max_concurrency=2.0)


def test_capacity_that_the_metrics_tell_otherwise_is_a_warning() -> None:
    assert list(judged(replace(SERVES, metrics=PAGE))) == list(judged(SERVES))
    found = judged(replace(SERVES, metrics=replace(PAGE, kv_cache_size_tokens=1024, kv_cache_max_concurrency=1.0)))
    assert failing(found.values()) == []
    finding = found["kv_cache_disagrees"]
    assert (finding.severity, finding.subject) == ("warning", "chat")
    assert "log of this start says 2,048 tokens, /metrics says 1,024" in finding.message


def test_what_fits_is_read_from_the_metrics_where_the_log_is_silent() -> None:
    evidence = replace(on_host(startup=StartupReport(), reference_tokens=2000), metrics=PAGE)
    finding = judged(evidence)["fits"]
    assert failing([finding]) == []
    assert finding.message.startswith("KV cache 2,048 tokens, 2.00 requests of full length at once (/metrics says so")
    assert verification_facts(CHAT, evidence)["kv_cache_tokens"] == 2048
    assert failing([judged(replace(evidence, metrics=replace(PAGE, kv_cache_size_tokens=1899)))["fits"]])
    assert "did not say" in judged(replace(evidence, metrics=replace(PAGE, kv_cache_size_tokens=None)))["fits"].message


def test_a_first_start_has_nothing_to_go_back_to() -> None:
    finding = judged(replace(SERVES, host=replace(HOST, way_back=None)))["way_back"]
    assert failing([finding]) == []
    assert "nothing was committed" in finding.message


@pytest.mark.parametrize("version", ["0.32.0", "0.32.0+cu129", "v0.32.0"])
def test_a_local_part_of_the_version_does_not_count(version: str) -> None:
    assert failing([judged(replace(SERVES, version=ok({"version": version})))["right_build"]]) == []


def test_facts_hold_the_figures_of_the_report() -> None:
    facts = verification_facts(CHAT, SERVES)
    assert facts["kv_cache_tokens"] == 2048
    assert facts["max_concurrency"] == [1024, 2.0]
    assert (facts["completion_tokens"], facts["completion_seconds"], facts["completion_text"]) == (8, 0.4, " fox")
    assert (facts["start"], facts["start_seconds"], facts["served_names"]) == (3, 2.5, ["chat"])
    assert facts["request_seconds"] == [0.4]
    assert json.dumps(facts)


class Pauses(Clock):
    """A clock that only notes how long somebody wanted to sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Fake:
    """Answers from a list for each path, and remembers what it was asked."""

    def __init__(self, **answers: list[Answer]) -> None:
        self.answers = {"health": [ok()], "version": [ok({"version": "0.32.0"})], **answers}
        self.answers.setdefault("models", [SERVES.models])
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    def __call__(self, url: str, **more: Any) -> Answer:
        self.asked.append((more.get("method", "GET"), url.partition("8000")[2], more))
        queue = self.answers.get(url.rsplit("/", 1)[1], [Answer(404, b'{"detail":"Not Found"}', 0.01)])
        return queue.pop(0) if len(queue) > 1 else queue[0]

    def posts(self) -> list[str]:
        return [path for method, path, _more in self.asked if method == "POST"]


def stream(*events: Any) -> Answer:
    return ok("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n")


COMPLETION = stream(
    {"choices": [{"text": " jumps", "finish_reason": None}]},
    {"choices": [{"text": " over", "finish_reason": "length"}]},
    {"choices": [], "usage": {"completion_tokens": 8}},
)
BUSY = Answer(503, b'{"error":{"message":"busy"}}', 0.01)


def gather(fake: Fake, expected: Expected = CHAT, **more: Any) -> Evidence:
    return gather_verification(expected, http=fake, clock=more.pop("clock", Pauses()), **more)


def test_a_completion_is_asked_for_as_the_claim_says() -> None:
    fake = Fake(completions=[COMPLETION])
    (reply,) = gather(fake, api_key="sk-1").replies
    assert (reply.text, reply.tokens, reply.finish_reason) == ("jumps over", 8, "length")
    method, path, more = fake.asked[-1]
    body = json.loads(more["body"])
    assert (method, path) == ("POST", "/v1/completions")
    assert (body["model"], body["max_tokens"], body["temperature"], body["stream"]) == ("chat", 8, 0, True)
    assert more["headers"]["Authorization"] == "Bearer sk-1"
    assert (more["timeout"], more["first"]) == (120.0, (b"data:", 60.0))


def test_the_metrics_are_read_and_nothing_depends_on_them() -> None:
    page = b'vllm:cache_config_info{engine="0",kv_cache_max_concurrency="2.0",kv_cache_size_tokens="2048"} 1.0\n'
    fake = Fake(completions=[COMPLETION], metrics=[ok(page)])
    metrics = gather(fake, api_key="sk-1").metrics
    assert metrics is not None and (metrics.kv_cache_size_tokens, metrics.kv_cache_max_concurrency) == (2048, 2.0)
    for answer in (Answer(404, b"{}", 0.01), SILENT, replace(ok(page), truncated=True)):
        assert gather(Fake(completions=[COMPLETION], metrics=[answer])).metrics is None


def test_chat_is_asked_where_there_are_no_completions() -> None:
    chat = stream(
        {"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
        {"choices": [{"delta": {"reasoning_content": "hm"}, "finish_reason": None}]},
        {"choices": [{"delta": {"content": "Word"}, "finish_reason": "stop"}]},
    )
    fake = Fake(chat_completions=[])
    fake.answers = {**fake.answers, "completions": [Answer(404, b"{}", 0.01), chat]}
    (reply,) = gather(fake).replies
    assert fake.posts() == ["/v1/completions", "/v1/chat/completions"]
    assert (reply.text, reply.tokens, reply.finish_reason) == ("hmWord", 2, "stop")


@pytest.mark.parametrize(
    ("answers", "posts", "holds"),
    [([BUSY, COMPLETION], 2, True), ([BUSY, BUSY], 2, False), ([Answer(500, b"", 0.1), COMPLETION], 1, False)],
)
def test_only_a_503_is_asked_again_and_once(answers: list[Answer], posts: int, holds: bool) -> None:
    clock, fake = Pauses(), Fake(completions=answers)
    evidence = gather(fake, clock=clock)
    assert len(fake.posts()) == posts
    assert (failing([judged(evidence)["generates"]]) == []) is holds
    assert len(clock.slept) == posts - 1


def test_nothing_is_generated_by_a_server_that_is_not_alive() -> None:
    fake = Fake(health=[Answer(None, b"", 0.1, "connection refused")])
    assert gather(fake).replies == ()
    assert fake.posts() == []


def test_warm_up_requests_end_at_the_first_that_fails() -> None:
    fake = Fake(completions=[COMPLETION, Answer(500, b"", 0.1), COMPLETION])
    assert len(gather(fake, replace(CHAT, warmup=5)).replies) == 2
    assert len(gather(Fake(completions=[COMPLETION]), replace(CHAT, warmup=3)).replies) == 3


def test_without_a_served_name_the_listed_one_is_asked() -> None:
    fake = Fake(completions=[COMPLETION])
    gather(fake, replace(CHAT, served_names=()))
    assert json.loads(fake.asked[-1][2]["body"])["model"] == "chat"


@pytest.mark.parametrize(
    ("route", "body", "dimensions"),
    [
        ("embeddings", {"data": [{"embedding": [0.1, 0.2, 3]}]}, 3),
        ("pooling", {"data": [{"data": [[0.1, 0.2], [0.3, 0.4]]}]}, 2),
    ],
)
def test_pooling_models_are_asked_for_a_vector(route: str, body: Any, dimensions: int) -> None:
    (reply,) = gather(Fake(**{route: [ok(body)]}), replace(CHAT, runner="pooling")).replies
    assert (reply.tokens, reply.problem) == (dimensions, None)


@pytest.mark.parametrize(
    "answer",
    [
        ok(b"\x00\xff<html>"),
        ok(b""),
        ok({"choices": [{"text": "no stream"}]}),
        ok(b"data: [DONE]\n\n"),
        ok(b"data: {\n\n"),
    ],
)
def test_garbage_is_no_completion(answer: Answer) -> None:
    evidence = gather(Fake(completions=[answer]))
    assert "not with the events" in judged(evidence)["generates"].message


def test_an_error_in_the_stream_is_told() -> None:
    events = stream({"choices": [{"text": "a", "finish_reason": None}]}, {"error": {"message": "EngineDeadError"}})
    assert "EngineDeadError" in judged(gather(Fake(completions=[events])))["generates"].message


@pytest.mark.parametrize("body", [{"data": []}, {"data": [{"embedding": ["a"]}]}, [], None, {"data": {"x": 1}}])
def test_no_vector_is_no_embedding(body: Any) -> None:
    evidence = gather(Fake(embeddings=[ok(body)]), replace(CHAT, runner="pooling"))
    assert "without a vector" in judged(evidence, replace(CHAT, runner="pooling"))["generates"].message
