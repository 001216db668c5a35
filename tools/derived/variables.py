# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The environment variables of a release and their defaults: vllm/envs.py."""

from __future__ import annotations

import ast
from typing import Any

from .archive import Archive
from .values import constant


def read(source: Archive) -> dict[str, dict[str, Any]]:
    """Names are the keys of ``environment_variables``, defaults what is said to the type checker."""
    if source.variables is None:
        return {}
    defaults = dict(_declared(source.variables))
    return {name: {"default": defaults.get(name, {"code": "computed"})} for name in _names(source.variables)}


def _declared(module: ast.Module) -> list[tuple[str, Any]]:
    return [
        (node.target.id, constant(node.value) if node.value else {"code": "computed"})
        for block in module.body
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in block.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]


def _names(module: ast.Module) -> list[str]:
    for node in module.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and target.id == "environment_variables" and isinstance(value, ast.Dict):
            return sorted(str(key.value) for key in value.keys if isinstance(key, ast.Constant))
    return []
