"""The report: the verdict first, then what to do first, then one block a service."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import Finding
from ansible_collections.gpuhosts.vllm.plugins.module_utils.report import (
    PLAN_FINDINGS,
    Report,
    ServiceReport,
    curl_line,
    differs_finding,
    render_text,
)

SERVES = ServiceReport(
    host="gpu1",
    service="chat",
    image="vllm/vllm-openai:v0.32.0",
    url="http://127.0.0.1:8000",
    plan={"name": "chat", "action": "first_start", "wanted": "rel-0123456789ab", "reason": "has never run here"},
    findings=(Finding("claim_alive", "info", "chat", "answers 200 on /health"),),
    facts={
        "served_names": ["chat"],
        "kv_cache_tokens": 131072,
        "max_concurrency": [2048, 64.0],
        "start_seconds": 41.24,
        "completion_tokens": 8,
        "completion_seconds": 0.5,
    },
)


def test_a_report_without_errors_says_so_first():
    text = render_text(Report("Verification", (SERVES,)))
    assert text.splitlines()[0] == "Verification: 1 service on 1 host, no error."
    assert "gpu1  chat  vllm/vllm-openai:v0.32.0  rel-0123456789ab" in text
    assert (
        "KV cache 131,072 tokens; 64.00 requests of 2,048 tokens at once; started in 41.2 s; "
        "generated 8 tokens in 0.50 s" in text
    )
    assert "ok    answers 200 on /health" in text
    assert "first start: has never run here (no downtime)" in text


def test_errors_come_before_warnings_and_make_the_report_fail():
    findings = (
        Finding("slow", "warning", "chat", "first token late"),
        Finding("claim_generates", "error", "chat", "no token in 60 s", remedy="read the log of the start"),
    )
    report = Report("Verification", (ServiceReport("gpu1", "chat", findings=findings),))
    lines = render_text(report).splitlines()
    assert report.failed
    assert lines[0] == "Verification: 1 service on 1 host, 1 error."
    error = next(index for index, line in enumerate(lines) if "claim_generates" in line)
    warning = next(index for index, line in enumerate(lines) if "slow" in line)
    assert error < warning
    assert lines[error].endswith("-> read the log of the start")


def test_a_waived_error_does_not_fail_the_report():
    waived = Finding("shm", "error", "chat", "64 MiB", waived_until="2027-01-31")
    assert not Report("Verification", (ServiceReport("gpu1", "chat", findings=(waived,)),)).failed


def test_a_lost_host_fails_the_report_and_is_named():
    report = Report("Verification", (SERVES,), lost_hosts=("gpu2",))
    text = render_text(report)
    assert report.failed
    assert text.startswith("Verification: 1 service on 2 hosts, 0 errors, 1 host lost.")
    assert "LOST gpu2" in text


@pytest.mark.parametrize(("action", "fails"), [("differs", True), ("failed", True), ("busy", False)])
def test_what_was_not_proved_is_never_silently_green(action, fails):
    plan = {"name": "chat", "action": action, "reason": "its unit is failed", "next": "start it"}
    finding = PLAN_FINDINGS[action]("gpu1", plan)
    report = Report("Verification", [ServiceReport("gpu1", "chat", plan=plan, findings=[finding])])
    assert report.failed is fails
    assert "start it" in render_text(report)


def test_a_service_that_differs_shows_both_releases_and_the_next_command():
    finding = differs_finding("gpu1", {"name": "chat", "wanted": "rel-a", "current": "rel-b", "next": "upgrade it"})
    assert (finding.expected, finding.observed, finding.remedy) == ("rel-a", "rel-b", "upgrade it")
    assert finding.severity == "error"


def test_the_curl_line_asks_for_a_key_only_where_there_is_one_and_quotes_the_body():
    assert curl_line(SERVES) == (
        'curl http://127.0.0.1:8000/v1/completions -H "Content-Type: application/json" '
        '-d \'{"model": "chat", "prompt": "Hello", "max_tokens": 16}\''
    )
    elsewhere = ServiceReport("gpu1", "chat", url="http://h:2", facts={"url": "http://h:1"})
    assert "curl http://h:1/v1/" in curl_line(elsewhere)
    keyed = ServiceReport("gpu1", "chat", url="http://h:1", needs_key=True, facts={"served_names": ["it's"]})
    assert '-H "Authorization: Bearer $VLLM_API_KEY"' in curl_line(keyed)
    assert """'{"model": "it'"'"'s",""" in curl_line(keyed)


def test_an_embedding_server_is_called_for_an_embedding():
    entry = ServiceReport("gpu1", "embed", url="http://h:1", facts={"served_names": ["e"], "runner": "pooling"})
    assert "http://h:1/v1/embeddings" in curl_line(entry)
    assert '"input": "Hello"' in curl_line(entry)
