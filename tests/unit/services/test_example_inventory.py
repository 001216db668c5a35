# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a user copies can be used, and says every key there is."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.judge import Asked, judge
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.schema import SERVICE_KEYS

TEXT = (Path(__file__).parents[3] / "inventories/example/group_vars/vllm_servers.yml").read_text(encoding="utf-8")


def asked(text):
    data = yaml.safe_load(text)
    names = ("services", "defaults", "secrets", "registry", "hf_endpoint")
    return Asked(**{name: data[f"vllm_{name}"] for name in names}, require_lock=False)


def test_the_example_is_right():
    judged = judge(asked(TEXT))
    assert [entry["name"] for entry in judged.services] == ["chat"]
    assert judged.notes == []


def test_what_is_commented_out_is_right_too():
    """Every line that a user may take the comment sign from."""
    text = re.sub(r"^(  )?( *)# ?( *)(?=[\w-]+:( |$))", r"\1\2\3", TEXT, flags=re.MULTILINE)
    text = text.replace("vllm_secrets: {}", "vllm_secrets:").replace("vllm_registry: {}", "vllm_registry:")
    data = yaml.safe_load(text)
    assert set(data["vllm_services"]["chat"]) == {key.name for key in SERVICE_KEYS} - {"gate", "drain", "shm_size"}
    assert data["vllm_secrets"]["chat"]["HF_TOKEN"]
    assert data["vllm_registry"]["no_proxy"] == [".example.com"]
    judge(asked(text))
