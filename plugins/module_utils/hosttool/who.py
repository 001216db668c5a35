# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Who sits at the host, for the journal.

Private to the collection.
"""

from __future__ import annotations

import os
import platform


def who() -> str:
    """The user behind sudo, if there is one, at this host."""
    return f"{os.environ.get('SUDO_USER') or os.environ.get('USER') or 'root'}@{platform.node()}"
