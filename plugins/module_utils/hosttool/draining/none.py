# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Without a load balancer that could be told: new requests come on, those that are under way are counted.

Private to the collection.
"""

from __future__ import annotations

from ...health.answer import Answer
from ...io.http import request
from ...io.serving import authorization
from ...metrics.parse import parse_metrics
from ..keeping import secrets_of
from ..steps import Context
from ..stop_engine import gate_of_current

_ASK_TIMEOUT = 5.0
_MOST_METRICS = 8 << 20


class NoDrain:
    """Counts what the engine itself says."""

    def begin(self, context: Context) -> None:
        """Nobody is there to be told."""

    def busy(self, context: Context) -> int | None:
        """How many requests run or wait; None when nobody answers."""
        key = secrets_of(context.paths).get("VLLM_API_KEY")
        url = f"{gate_of_current(context.paths).url}/metrics"
        answer: Answer = request(url, headers=authorization(key), timeout=_ASK_TIMEOUT, max_bytes=_MOST_METRICS)
        return parse_metrics(answer.body).requests if answer.ok else None

    def undo(self, context: Context) -> None:
        """Nobody was told."""
