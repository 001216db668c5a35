# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Ask a server: the GET checks of its health, and the real requests that prove that it serves.

Private to the collection.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..health.judge import PATHS, Judged, judge_health
from ..health.report import HealthReport, not_checked
from .http import Requester, request

_BODY_LIMIT = 4 << 20
_LEAST_SECONDS = 0.01


def authorization(api_key: str | None) -> dict[str, str]:
    """The header that carries an API key."""
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def check_health(
    url: str,
    checks: Sequence[str],
    *,
    timeout: float,
    api_key: str | None = None,
    http: Requester = request,
) -> HealthReport:
    """Make the checks one after another with GET, ``timeout`` seconds for all of them together."""
    began = time.monotonic()
    judged: list[Judged] = []
    for check in checks:
        left = timeout - (time.monotonic() - began)
        if left < _LEAST_SECONDS:
            judged.append(not_checked(check, url, timeout))
            continue
        answer = http(url + PATHS[check], headers=authorization(api_key), timeout=left, max_bytes=_BODY_LIMIT)
        judged.append(judge_health(check, url, answer))
    late = any(one.timed_out for one in judged)
    return HealthReport(url, tuple(judged), time.monotonic() - began, late)
