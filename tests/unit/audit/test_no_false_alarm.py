# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Every option and variable of a release, each with a value that it takes: nothing of them is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config import history
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.options import FLAG, JSON, JSON_LIST, SWITCH, option
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import Version, parse_version

OF_NAMES_AND_VALUES = (
    "FLAG_REMOVED",
    "FLAG_NOT_YET",
    "FLAG_UNKNOWN",
    "FLAG_AMBIGUOUS",
    "flag_abbreviated",
    "argument_fault",
    "VALUE_REMOVED",
    "VALUE_UNKNOWN",
    "ENV_REMOVED",
    "ENV_NOT_YET",
    "ENV_UNKNOWN",
    "env_value_form",
    "option_json_broken",
    "option_not_a_number",
)
_BY_KIND = {FLAG: (), SWITCH: (), JSON: ("{}",), JSON_LIST: ('["*"]',)}


def _values(name: str, version: Version) -> tuple[str, ...]:
    known = history.flag(name)
    assert known is not None
    kind = option(name[2:], version).kind
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    choices, default = known.choices(version), known.default(version)
    if choices:
        return choices[:1]
    plain = not default.dynamic and isinstance(default.value, (int, float, str)) and default.value != ""
    return (str(default.value),) if plain else ("1",)


def _words(version: Version) -> Iterator[str]:
    yield "org/model"
    for name in history.flags(version):
        if name != "--model":
            yield from (name, *_values(name, version))


def _environment(version: Version) -> dict[str, str]:
    found = {}
    for name in history.variables():
        known = history.variable(name)
        if known is not None and known.present(version):
            value = known.default(version).value
            found[name] = str(int(value)) if isinstance(value, (bool, int)) else ""
    return found


@pytest.mark.parametrize("release", ["0.7.3", "0.8.5", "0.10.2", "0.14.1", "0.20.2", "0.26.0", "0.33.0"])
def test_a_whole_release_is_silent(release: str) -> None:
    version = parse_version(release)
    words, env = list(_words(version)), _environment(version)
    assert len(words) > 200
    assert len(env) > 60
    found = audit_config({"args": words, "env": env}, release).findings
    assert [(each.id, each.subject) for each in found if each.id in OF_NAMES_AND_VALUES] == []
