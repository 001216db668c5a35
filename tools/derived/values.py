# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Values as a source writes them."""

from __future__ import annotations

import ast
import json
from typing import Any

_ARITHMETIC = {ast.Mult: lambda a, b: a * b, ast.Add: lambda a, b: a + b, ast.Pow: lambda a, b: a**b}


def constant(node: ast.expr) -> Any:
    """The value of an expression as JSON has it; its code where vLLM computes it."""
    try:
        value = _number(node) if isinstance(node, ast.BinOp) else ast.literal_eval(node)
        value = list(value) if isinstance(value, tuple) else value
        json.dumps(value)
    except (ValueError, TypeError, KeyError):
        return {"code": ast.unparse(node)}
    return value


def _number(node: ast.expr) -> Any:
    if isinstance(node, ast.BinOp):
        return _ARITHMETIC[type(node.op)](_number(node.left), _number(node.right))  # type: ignore[index]
    return ast.literal_eval(node)
