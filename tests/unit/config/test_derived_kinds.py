# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The reader of vLLM's sources, on a small source that has every shape the real ones have."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

TOOL = Path(__file__).parents[3] / "tools/derived/kinds.py"
SPEC = importlib.util.spec_from_file_location("derived_kinds", TOOL)
assert SPEC and SPEC.loader
tool = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tool)

CONFIG = """
Dtype = Literal["auto", "half"]
class Kwargs(dict[str, int]): ...
@config
class PoolerConfig: ...
@config
class ModelConfig:
    dtype: Dtype | None = "auto"
    eager: bool = False
    names: str | list[str] | None = None
    pooler: PoolerConfig | None = None
    extra: dict[str, Any] = None
    kwargs: Annotated[Kwargs, 1] = None
    size: Optional[int] = 1
    token: bool | str | None = None
    prefix: bool | None = None
"""
ENGINE = """
# Optional-valued flag
class EngineArgs:
    def add_cli_args(parser):
        kw = get_kwargs(ModelConfig)
        model_kwargs = get_kwargs(ModelConfig)
        group.add_argument("--dtype", **model_kwargs["dtype"])
        group.add_argument("--eager", "-e", **model_kwargs["eager"])
        group.add_argument("--names", **model_kwargs["names"])
        group.add_argument("--pooler", **model_kwargs["pooler"])
        group.add_argument("--extra", **model_kwargs["extra"])
        group.add_argument("--kwargs", **model_kwargs["kwargs"])
        group.add_argument("--size", **model_kwargs["size"])
        group.add_argument("--prefix", **{**model_kwargs["prefix"], "default": None})
        group.add_argument("--plain", type=str)
        group.add_argument("--switch", action="store_true")
        group.add_argument("--negatable", action=argparse.BooleanOptionalAction)
        group.add_argument("--optional", type=str, nargs="?", const=True)
"""
FRONTEND = """
class Base:
    host: str | None = None
class FrontendArgs(Base):
    allowed_origins: list[str] = None
    middleware: list[str] = None
    template: dict[str, Any] | None = None
    def customize(frontend_kwargs):
        frontend_kwargs["allowed_origins"]["type"] = json.loads
        del frontend_kwargs["allowed_origins"]["nargs"]
        frontend_kwargs["middleware"]["action"] = "append"
        frontend_kwargs["template"]["type"] = json.loads
"""


def test_every_shape_gets_its_kind():
    texts = {
        "vllm/config/model.py": CONFIG,
        "vllm/engine/arg_utils.py": ENGINE,
        "vllm/entrypoints/x/cli_args.py": FRONTEND,
    }
    found = tool.options({path: ast.parse(text) for path, text in texts.items()})
    assert {name: kind for name, (kind, _also) in found.items()} == {
        "dtype": "value",
        "eager": "flag",
        "names": "list",
        "pooler": "json",
        "extra": "json",
        "kwargs": "json",
        "size": "value",
        "prefix": "flag",
        "plain": "value",
        "switch": "switch",
        "negatable": "flag",
        "optional": "flag_value",
        "host": "value",
        "allowed-origins": "json_list",
        "middleware": "append",
        "template": "json",
    }
    assert found["eager"][1] == ("-e",)
