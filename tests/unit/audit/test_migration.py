# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The proposal for another release: what is certain is rewritten and audits clean, what is not is left open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.hiding import hidden_value, hide
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.rewrites import (
    DROPPED,
    FIXED,
    RENAMED,
    TASKS,
    VARIABLES,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config import history
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.releases import RELEASES

OLD = {
    "args": [
        "--model",
        "org/model",
        "--swap-space",
        "4",
        "--disable-log-requests",
        "--task",
        "embed",
        "--guided-decoding-backend",
        "xgrammar",
        "--num-scheduler-steps=8",
        "--max-seq-len-to-capture",
        "8192",
        "--max-model-len",
        "32k",
    ],
    "env": {"VLLM_ATTENTION_BACKEND": "FLASHINFER", "VLLM_USE_V1": "1", "HF_HOME": "/hf"},
}
GONE = {"FLAG_REMOVED", "ENV_REMOVED", "FLAG_DEPRECATED"}


def _proposed(given: dict[str, Any], new: str, old: str) -> dict[str, Any]:
    found = audit_config(given, new, old).migration
    assert found is not None
    return dict(found)


def _left(proposal: dict[str, Any], version: str) -> set[tuple[str, str]]:
    again = audit_config({"args": proposal["words"], "env": proposal["env"]}, version).findings
    return {(each.id, each.subject.split()[-1]) for each in again if each.id in GONE}


def test_from_0_10_to_0_20() -> None:
    found = _proposed(OLD, "0.20.2", "0.10.0")
    assert found["words"] == [
        "org/model",
        "--runner",
        "pooling",
        "--convert",
        "embed",
        "--structured-outputs-config.backend",
        "xgrammar",
        "--max-seq-len-to-capture",
        "8192",
        "--max-model-len",
        "32k",
        "--attention-backend",
        "FLASHINFER",
    ]
    assert found["env"] == {"HF_HOME": "/hf"}
    assert [each["from"] for each in found["changes"]] == [
        "--model org/model",
        "--swap-space",
        "--disable-log-requests",
        "--task",
        "--guided-decoding-backend",
        "--num-scheduler-steps",
        "VLLM_ATTENTION_BACKEND",
        "VLLM_USE_V1",
    ]
    assert found["open"] == ["--max-seq-len-to-capture: not in vLLM 0.20.2; take it out"]
    assert _left(found, "0.20.2") == {("FLAG_REMOVED", "--max-seq-len-to-capture")}


def test_from_0_16_to_0_32() -> None:
    given = {
        "args": ["org/model", "--log-config-file", "/etc/log.json", "--swap-space", "4", "--disable-log-requests"],
        "env": {"VLLM_RPC_TIMEOUT": "10000", "VLLM_MM_HASHER_ALGORITHM": "sha256"},
    }
    found = _proposed(given, "0.32.0", "0.16.0")
    assert found["words"] == [
        "org/model",
        "--logging-config.pylogging_config_file",
        "/etc/log.json",
        "--mm-hasher-algorithm",
        "sha256",
    ]
    assert found["env"] == {}
    assert found["open"] == []
    assert _left(found, "0.32.0") == set()


def test_what_is_not_certain_stays_and_is_said() -> None:
    found = _proposed({"args": ["m", "--rope-scaling", '{"factor": 2}']}, "0.12.0", "0.11.0")
    assert found["words"] == ["m", "--rope-scaling", '{"factor": 2}']
    assert found["open"][0].startswith("--rope-scaling: not in vLLM 0.12.0; perhaps --hf-overrides")


@pytest.mark.parametrize(("version", "words"), [("0.11.0", ["--model", "org/model"]), ("0.11.1", ["org/model"])])
def test_the_way_back_below_0_11_1_names_the_model(version: str, words: list[str]) -> None:
    assert _proposed({"args": ["org/model"]}, version, "0.20.2")["words"] == words


def test_a_line_of_vllm_serve_keeps_its_positional_model() -> None:
    found = audit_config("vllm serve org/model --port 8000", "0.11.0", "0.20.2").migration
    assert found is not None
    assert found["words"] == ["org/model", "--port", "8000"]


def test_the_way_back_is_told_before_the_upgrade() -> None:
    given = {"args": ["org/model", "--attention-backend", "FLASHINFER"], "env": {"VLLM_MAX_N_SEQUENCES": "8"}}
    found = [each for each in audit_config(given, "0.20.2", "0.10.2").findings if each.id == "way_back_rewrite"]
    assert {each.subject.split(" ", 1)[1] for each in found} == {
        "--attention-backend",
        "VLLM_MAX_N_SEQUENCES",
        "positional model",
    }
    assert {each.severity for each in found} == {"info"}
    quiet = audit_config({"args": ["org/model", "--port", "8000"]}, "0.20.2", "0.19.1").findings
    assert "way_back_rewrite" not in {each.id for each in quiet}


def test_a_service_gets_its_config_as_a_map() -> None:
    service = {
        "image": "vllm/vllm-openai:v0.17.1",
        "model": "org/model",
        "revision": "0123456789abcdef0123456789abcdef01234567",
        "port": 8000,
        "config": {"swap-space": 4, "max-model-len": 4096},
    }
    report = audit_config(service, "0.20.2", "0.17.1")
    assert report.kind == "service"
    assert report.migration is not None
    assert report.migration["config"]["max-model-len"] == 4096
    assert "swap-space" not in report.migration["config"]


def test_no_proposal_without_a_version_before() -> None:
    assert audit_config(OLD, "0.20.2").migration is None


@pytest.mark.parametrize("name", [*DROPPED, *FIXED, *RENAMED])
def test_every_rewrite_is_of_an_option_that_goes(name: str) -> None:
    known = history.flag(name)
    assert known is not None, name
    assert known.removed_since(RELEASES[-1]) or known.deprecation(RELEASES[-1]), name


@pytest.mark.parametrize("name", [*RENAMED.values(), *VARIABLES.values(), *(words[0] for words in FIXED.values())])
def test_every_rewrite_leads_to_an_option_that_is_there(name: str) -> None:
    known = history.flag(name.partition(".")[0])
    assert known is not None
    assert any(known.present(release) for release in RELEASES), name


def test_tasks_lead_to_values_that_0_13_takes() -> None:
    for words in TASKS.values():
        for option, value in zip(words[::2], words[1::2]):
            known = history.flag(option)
            assert known is not None
            assert value in (known.choices(RELEASES[-1]) or ())


def test_secrets_are_in_no_finding_and_no_proposal() -> None:
    planted = "sk-planted-4711"
    given = {
        "image": "vllm/vllm-openai:v0.20.2",
        "command": ["vllm", "serve", "m", "--api-key", planted, f"--hf-token={planted}", "--swap-space", "4"],
        "env": {"VLLM_API_KEY": planted, "HF_TOKEN": planted, "AWS_SECRET_ACCESS_KEY": planted},
        "host_bind": "0.0.0.0",
    }
    inside = {
        "args": ["m", "--kv-transfer-config", json.dumps({"kv_connector_extra_config": {"token": planted}})],
        "env": {"VLLM_API_KEY": planted},
    }
    dotted = {"args": ["m", f"--kv-transfer-config.token={planted}", "--speculative-config", f'{{"token": "{planted}']}
    for each in (given, inside, dotted):
        report = audit_config(each, "0.20.2", "0.10.2")
        assert report.findings
        assert planted not in repr(report)
        assert planted not in json.dumps(report.to_dict(), default=str)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--api-key", "a", "b", "--port", "1"], ["--api-key", "SECRET", "SECRET", "--port", "1"]),
        (["--api_key=a"], ["--api_key=SECRET"]),
        (["--spec-tokens", "3"], ["--spec-tokens", "3"]),
        (["--x", '{"a": {"api_key": "b", "n": 1}}'], ["--x", '{"a": {"api_key": "SECRET", "n": 1}}']),
        (["--x", '{"max_tokens":3}'], ["--x", '{"max_tokens":3}']),
        (["--x", '{"token": "b'], ["--x", "SECRET"]),
        (["--api-k", "b"], ["--api-k", "SECRET"]),
        (["--hf-tok=b"], ["--hf-tok=SECRET"]),
        (["--api-server-count", "b"], ["--api-server-count", "b"]),
        (["--otlp-traces-endpoint", "http://u:b@h:1/"], ["--otlp-traces-endpoint", "http://SECRET@h:1/"]),
        (["--otlp-traces-endpoint", "http://h:1/a@b"], ["--otlp-traces-endpoint", "http://h:1/a@b"]),
    ],
)
def test_only_secrets_are_hidden(words: list[str], shown: list[str]) -> None:
    assert hide(words) == shown


def test_a_number_is_no_secret() -> None:
    assert hidden_value("VLLM_TOKEN", "12") == "12"
    assert hidden_value("VLLM_TOKEN", "12-a") == "SECRET"
    assert hidden_value("SSL_KEYFILE", "/etc/key.pem") == "/etc/key.pem"
