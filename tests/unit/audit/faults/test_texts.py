# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Each fault of published units in a whole text that shows it, read and judged, and in one that nearly does."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.faults.all import RULES
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config

HEADS = {
    "{run}": "docker run -d --restart always -p 127.0.0.1:8000:8000",
    "{image}": "vllm/vllm-openai:v0.32.0",
    "{old}": "vllm/vllm-openai:v0.10.2",
    "{svc}": "services:\n  chat:\n    image: vllm/vllm-openai:v0.32.0\n",
    "{unit}": "[Service]\nExecStart=/opt/vllm serve m\n",
    "{dock}": "[Service]\nExecStart=/usr/bin/docker run --name chat vllm/vllm-openai:v0.32.0 m\n",
}
TEXTS: dict[str, list[str]] = yaml.safe_load((Path(__file__).parent / "texts.yml").read_text("utf-8"))
# A map says the machine's memory, and no text does.
FITS = [{"args": ["o/Model-70B"], "host": {"gpu_memory": "80g"}}, {"args": ["o/M-8B"], "host": {"gpu_memory": "80g"}}]


def found(text: str) -> set[str]:
    """The ids of what is said of the text, by the release that it names."""
    version = "0.10.2" if "{old}" in text else "0.32.0"
    for name, head in HEADS.items():
        text = text.replace(name, head)
    return {finding.id for finding in audit_config(text, version).findings}


@pytest.mark.parametrize("row", sorted(TEXTS))
def test_a_text_shows_it(row: str) -> None:
    assert row in found(TEXTS[row][0])


@pytest.mark.parametrize("row", sorted(TEXTS))
def test_a_text_that_nearly_does(row: str) -> None:
    assert row not in found(TEXTS[row][1])


def test_a_model_that_does_not_fit() -> None:
    said = [{each.id for each in audit_config(given, "0.32.0").findings} for given in FITS]
    assert ["model_does_not_fit_memory" in ids for ids in said] == [True, False]


def test_every_row_has_its_texts() -> None:
    assert sorted([*TEXTS, "model_does_not_fit_memory"]) == sorted(rule.id for rule in RULES)
