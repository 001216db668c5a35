# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Caches that go from server to server: a connector needs a role.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config.command_line import CommandLine
from ...findings import ERROR
from ..case import Case
from .saying import Said, line_rule

_KINDS = (("--kv-transfer-config", "kv"), ("--ec-transfer-config", "ec"))


@line_rule(
    "transfer_role",
    ERROR,
    "vllm/config/kv_transfer.py 0.11.1, 0.19.1, 0.33.0; vllm/config/ec_transfer.py 0.33.0; vllm/config.py 0.9.2",
)
def _role(case: Case, line: CommandLine) -> Iterator[Said]:
    for flag, kind in _KINDS:
        config = line.mapping(flag) or {}
        connector, role = config.get(f"{kind}_connector"), config.get(f"{kind}_role")
        roles = [f"{kind}_producer", f"{kind}_consumer", f"{kind}_both"]
        if role is None and connector:
            yield Said(
                flag,
                f"{connector} is to carry the cache, and {kind}_role does not say which way: vLLM refuses to start",
                f"add {kind}_role",
                expected=roles,
            )
        elif kind == "kv" and role is not None and role not in roles:
            yield Said(
                flag,
                f"kv_role is {role}, which is no role: vLLM refuses to start",
                "use one of the three roles",
                expected=roles,
                observed=role,
            )


RULES = (_role,)
