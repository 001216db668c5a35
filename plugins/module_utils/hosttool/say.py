# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the tool says: results to standard output, trouble to standard error.

Private to the collection.
"""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """One result, with its line end."""
    sys.stdout.write(f"{text}\n")


def complain(text: str) -> None:
    """One trouble, seen at once also where standard error is a file."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
