# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The option ``registry`` of modules, as the doc fragment ``registry`` describes it.

Private to the collection.
"""

from __future__ import annotations

from typing import Any

REGISTRY_OPTION: dict[str, Any] = {
    "type": "dict",
    "default": {},
    "options": {
        "mirror": {"type": "str"},
        "insecure": {"type": "list", "elements": "str", "default": []},
        "server": {"type": "str"},
        "username": {"type": "str"},
        "password": {"type": "str", "no_log": True},
        "ca_cert": {"type": "str"},
        "proxy": {"type": "str"},
        "no_proxy": {"type": "list", "elements": "str", "default": []},
    },
}
