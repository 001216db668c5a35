# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Who this process is. No decisions.

Private to the collection.
"""

from __future__ import annotations

import os
import pwd


def other_than_root() -> str | None:
    """The user that this runs as, by name or number; None when it is root."""
    uid = os.geteuid()
    if uid == 0:
        return None
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"
