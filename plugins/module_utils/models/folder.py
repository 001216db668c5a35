# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What makes a folder on a host a model.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..host.refusal import refusal

_CONFIGURATIONS = ("config.json", "params.json")
_GGUF = ".gguf"
EXPECTED = "a folder with config.json, params.json or *.gguf, or a .gguf file"


def require_path(service: str, name: str, fault: str | None) -> None:
    """Stop at a path that is no model."""
    if fault:
        raise refusal(
            "model_path",
            f"{service}: model {name}",
            f"{fault}; a model is {EXPECTED}",
            "copy the model to this path on the host, or correct model: in the inventory",
        )


def path_fault(name: str, exists: bool, readable: bool, files: Iterable[str] | None) -> str | None:
    """Say what is wrong with a model path; ``files`` are the names in the folder, None for a file."""
    if not exists:
        return "this path does not exist on the host"
    if not readable:
        return "this path is not readable"
    if files is None:
        return None if name.endswith(_GGUF) else "this is a file, and not a .gguf file"
    names = set(files)
    if names.intersection(_CONFIGURATIONS) or any(each.endswith(_GGUF) for each in names):
        return None
    found = ", ".join(sorted(names)[:5]) or "nothing"
    return f"this folder is no model: it has no config.json, params.json or *.gguf (it has: {found})"
