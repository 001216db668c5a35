# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Ask a loading engine, in a thread of its own, if it serves: a slow answer must not delay the verdict on a dead one.

Private to the collection.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ..health.report import PASSED
from ..io.http import Requester, request
from ..io.serving import check_health

_PAUSE = 0.5
_TIMEOUT = 5.0


class Prober:
    """Asks ``/health`` and ``/v1/models`` until both say what is wanted; ``ready`` and ``said`` are for the watcher."""

    def __init__(
        self, url: str, served_names: Sequence[str], api_key: str | None, *, http: Requester = request
    ) -> None:
        self._url = url
        self._wanted = set(served_names)
        self._api_key = api_key
        self._http = http
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask_until_ready, daemon=True)
        self.ready = False
        self.said = ""

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def close(self) -> None:
        """Ask no more; an exchange that is under way ends by itself."""
        self._stop.set()

    def _ask_until_ready(self) -> None:
        while not self._stop.is_set():
            if self._serves():
                self.ready = True
                return
            self._stop.wait(_PAUSE)

    def _serves(self) -> bool:
        if not self._passed("health"):
            return False
        report = check_health(self._url, ["models"], timeout=_TIMEOUT, api_key=self._api_key, http=self._http)
        served = {name for one in report.judged for name in one.facts.get("models", ())}
        missing = sorted(self._wanted - served)
        passed = report.exit_code == PASSED
        self.said = "" if passed else report.judged[0].finding.message
        if passed and missing:
            self.said = f"/v1/models lists {', '.join(sorted(served))}, not {', '.join(missing)}"
        return passed and not missing

    def _passed(self, check: str) -> bool:
        report = check_health(self._url, [check], timeout=_TIMEOUT, api_key=self._api_key, http=self._http)
        return report.exit_code == PASSED
