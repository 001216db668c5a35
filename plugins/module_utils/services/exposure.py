# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing leaves loopback without a key by accident.

Private to the collection.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from typing import Any

from .problems import EXPOSURE, Complaints
from .schema import ABSENT

API_KEY = "VLLM_API_KEY"


def judge_exposure(
    raw: Mapping[str, Any], bind: str | None, secret_names: Collection[str], complaints: Complaints
) -> None:
    """Complain of a server that everybody who reaches it may use, unless the definition says that it is meant."""
    open_on_purpose = raw["exposed_without_key"] or raw["state"] == ABSENT
    if bind is None or open_on_purpose or API_KEY in secret_names or ipaddress.ip_address(bind).is_loopback:
        return
    allowed = (
        f"127.0.0.1; or another address together with {API_KEY} in vllm_secrets.{complaints.service}; "
        "or exposed_without_key: true, when everybody who reaches this address may use it"
    )
    complaints.at("bind", bind, allowed, rank=EXPOSURE)
