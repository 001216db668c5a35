# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A text of YAML or JSON as the maps that it has.

Private to the collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ...yaml_text.block import load_all
from ...yaml_text.scalars import YamlError
from ..errors import AuditError

_FIRST = re.compile(r"\A\ufeff?(?:[ \t]*(?:#[^\n]*|%[^\n]*|---[ \t]*)?\r?\n)*([^\n]*)")
_KEY = re.compile(r"---(?:\s|$)|[ \t]*[\"']?[A-Za-z_][\w.-]*[\"']?[ \t]*:(?:\s|$)|[ \t]*[\[{]")
_EXPECTED = "expected a map: a compose file, a rule file, a dashboard, a service definition"


def is_document(text: str) -> bool:
    """Whether a text begins as YAML or JSON does, and as no command and no unit does."""
    first = _FIRST.match(text)
    return first is not None and _KEY.match(first[1]) is not None


def read_documents(text: str) -> tuple[Mapping[str, Any], ...]:
    """The maps of all documents; AuditError where there is none, or where it cannot be read."""
    found = [each for each in _load(text) if each is not None]
    if not found or not all(isinstance(each, Mapping) for each in found):
        raise AuditError(f"the text has no map in it; {_EXPECTED}")
    return tuple(found)


def _load(text: str) -> list[Any]:
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        try:
            return [json.loads(text.lstrip("\ufeff"))]
        except (ValueError, RecursionError):
            pass  # it may be YAML all the same
    try:
        return load_all(text)
    except YamlError as error:
        raise AuditError(f"the text cannot be read as YAML, {error}; {_EXPECTED}") from error
    except RecursionError as error:
        raise AuditError(f"the text is nested too deep; {_EXPECTED}") from error
