# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The lock file on the controller: where it is, and what YAML makes of it.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError

NAME = "vllm.lock.yml"


def lock_path(told: object, variables: Mapping[str, Any]) -> Path:
    """The file that was told, or the one beside the inventory; a relative path starts at the inventory."""
    folder = Path(str(variables.get("inventory_dir") or variables.get("playbook_dir") or "."))
    return folder / Path(str(told or NAME)).expanduser()


def read_lock_file(loader: Any, path: Path) -> tuple[Any, list[str]]:
    """What is in the file (None when there is no file yet), and what keeps it from being read."""
    if not path.exists():
        return None, []
    try:
        return loader.load_from_file(str(path), cache="none"), []
    except (AnsibleError, OSError, ValueError) as error:
        return None, [" ".join(str(error).split())[:300].rstrip(".")]
