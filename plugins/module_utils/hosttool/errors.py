# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a verb says when it cannot do its work: one sentence for people, no traceback.

Private to the collection.
"""

from __future__ import annotations


class ToolError(Exception):
    """Names the service, what was expected and what to do next."""


class RunIsOpen(ToolError):
    """Another run has not ended; it may have been opened a moment ago."""
