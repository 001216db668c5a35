# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The table of options: made from its reviewed source, and in agreement with what is known of the releases."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.options import (
    long_name,
    nearest_option,
    option,
    releases_with,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

ROOT = Path(__file__).parents[3]
KINDS = {"flag", "switch", "flag_value", "value", "list", "json", "json_list", "append", "comma"}


def test_the_source_has_the_shape_that_its_head_tells():
    source = yaml.safe_load((ROOT / "tools/facts/options.yml").read_text(encoding="utf-8"))
    rows = [row for option in source["options"].values() for row in option["rows"]]
    assert {row["kind"] for row in rows} == KINDS
    assert all(set(row) <= {"kind", "since", "until", "also", "negatable"} for row in rows)
    assert all((row["kind"] == "flag") == row.get("negatable", False) for row in rows)
    assert len(source["options"]) == 382


@pytest.mark.parametrize(
    ("name", "version", "kind", "present"),
    [
        ("enable-prefix-caching", "0.11.1", "flag", True),
        ("disable-log-stats", "0.33.0", "switch", True),
        ("served-model-name", "0.11.1", "list", True),
        ("allowed-origins", "0.33.0", "json_list", True),
        ("middleware", "0.20.2", "append", True),
        ("compilation-config", "0.32.0", "json", True),
        ("device-ids", "0.32.0", "comma", True),
        ("shutdown-timeout", "0.17.1", "value", False),
        ("shutdown-timeout", "0.18.0", "value", True),
        ("no-such", "0.32.0", "unknown", False),
        ("max-model-len", "1.0.0", "value", True),
    ],
)
def test_an_option_is_looked_up_for_a_release(name, version, kind, present):
    found = option(name, parse_version(version))
    assert (found.kind, found.present) == (kind, present)


def test_names_lead_to_options():
    assert long_name("tp") == "tensor-parallel-size"
    assert long_name("-cc") == "compilation-config"
    assert long_name("nothing") is None
    assert nearest_option("max-modle-len") == "max-model-len"
    assert nearest_option("qqqqqq") is None
    assert releases_with("max-model-len") == ""
