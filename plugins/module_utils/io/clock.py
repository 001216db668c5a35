# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The time, in one place that a test can replace. No decisions.

Private to the collection.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone


class Clock:
    """The wall, the stopwatch and the pause."""

    def now(self) -> str:
        """The time of day as people and journals write it, UTC, to the millisecond."""
        return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        """Seconds that only go forward, within one boot."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


CLOCK = Clock()
