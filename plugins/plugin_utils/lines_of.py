# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a filter that reads a text is given: the text, or its lines.

Private to the collection.
"""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleFilterError


def text_or_lines(given: Any, name: str, what: str) -> str | list[str]:
    """The same text or list of lines; AnsibleFilterError, in the words of the filter, for anything else."""
    lines = [given] if isinstance(given, str) else given
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise AnsibleFilterError(
            f"gpuhosts.vllm.{name}: expected the text of {what} or a list of its lines, got {type(given).__name__}"
        )
    return given if isinstance(given, str) else lines
