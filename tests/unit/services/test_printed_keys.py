# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Releases that write the key of a service down: their debug level is refused, their compile cache is warned of."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.judge import Asked, judge

KEY = {"VLLM_API_KEY": "planted-key-0815"}


def image(version):
    return f"vllm/vllm-openai:v{version}"


@pytest.mark.parametrize("level", ["DEBUG", "debug"])
@pytest.mark.parametrize("version", ["0.12.0", "0.28.0"])
def test_the_level_at_which_a_release_prints_its_key_is_refused(problems, version, level):
    (found,) = problems(secrets={"chat": KEY}, image=image(version), env={"VLLM_LOGGING_LEVEL": level})
    assert (found.key, found.value) == ("env.VLLM_LOGGING_LEVEL", repr(level))
    assert f"vLLM {version} prints VLLM_API_KEY at DEBUG; 0.29.0 and newer do not" in found.allowed


@pytest.mark.parametrize(
    ("version", "secrets", "level"),
    [("0.11.2", KEY, "DEBUG"), ("0.29.0", KEY, "DEBUG"), ("0.32.0", KEY, "DEBUG"), ("0.28.0", KEY, "INFO"),
     ("0.28.0", {"HF_TOKEN": "hf_planted"}, "DEBUG")],
)  # fmt: skip
def test_others_may_log_what_they_like(parsed, version, secrets, level):
    found = parsed(secrets={"chat": secrets}, image=image(version), env={"VLLM_LOGGING_LEVEL": level})
    assert found.env == {"VLLM_LOGGING_LEVEL": level}


@pytest.mark.parametrize(("version", "noted"), [("0.11.2", 0), ("0.12.0", 1), ("0.28.1", 1), ("0.29.0", 0)])
def test_a_release_that_keeps_the_key_in_its_compile_cache_is_warned_of(service, version, noted):
    asked = Asked({"chat": service(image=image(version))}, secrets={"chat": KEY}, require_lock=False)
    notes = [note for note in judge(asked).notes if note.id == "key_in_compile_cache"]
    assert len(notes) == noted
    assert all((note.subject, note.severity, note.observed) == ("chat", "warning", version) for note in notes)


@pytest.mark.parametrize("key", ["api-key", "api_key", "hf-token", "hf_token"])
def test_a_key_as_an_option_is_refused_whatever_it_looks_like(problems, key):
    found = problems(config={key: "no-shape-that-one-knows"})
    assert [problem.key.replace("_", "-") for problem in found] == [f"config.{key}".replace("_", "-")]
    assert "no-shape" not in found[0].line()
