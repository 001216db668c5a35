# SPDX-License-Identifier: Apache-2.0
"""Run on a lab host: ask a service for a tiny completion ten times a second, and write down when which answer came.

A line for each answer goes to the file ``out``: when it was whole, when it was asked for (both in seconds of the
epoch), and ``good`` or in a word what was wrong. A question that hangs does not hold up the next ones. The end comes
with the file ``until``, or after so many seconds. Standard library only; the one word of the command line is a JSON
object:

    python3 prober.py '{"port": 8000, "model": "chat", "out": "/run/probed", "until": "/run/stop", "seconds": 600}'

A key of the server is read from the file that ``key_file`` names, so that it stands on no command line.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

EVERY = 0.1
LONGEST = 3600.0
PATIENCE = 10.0  # for one answer
MOST_AT_ONCE = 8


class Prober:
    """One service under questions."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._port = int(told["port"])
        self._body = json.dumps({"model": told["model"], "prompt": "Hello", "max_tokens": 1, "temperature": 0})
        self._headers = {"Content-Type": "application/json"}
        if told.get("key_file"):
            self._headers["Authorization"] = f"Bearer {Path(told['key_file']).read_text(encoding='utf-8').strip()}"
        self._until = Path(told["until"])
        self._seconds = min(float(told["seconds"]), LONGEST)
        self._room = threading.Semaphore(MOST_AT_ONCE)
        self._lock = threading.Lock()
        self._out = Path(told["out"]).open("w", encoding="ascii", buffering=1)  # noqa: SIM115 - closed by run

    def run(self) -> None:
        """Ask until it is over."""
        began = time.monotonic()
        asked = 0
        while (passed := time.monotonic() - began) < self._seconds and not self._until.exists():
            if self._room.acquire(blocking=False):  # with all of them under way, one more would tell nothing new
                threading.Thread(target=self._ask, daemon=True).start()
            asked = max(asked + 1, int(passed / EVERY))
            time.sleep(max(asked * EVERY - (time.monotonic() - began), 0.0))
        with self._lock:
            self._out.close()

    def _ask(self) -> None:
        begin = time.time()
        try:
            word = self._answer()
        finally:
            self._room.release()
        with self._lock:
            if not self._out.closed:
                self._out.write(f"{time.time():.3f} {begin:.3f} {word}\n")

    def _answer(self) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            connection.request("POST", "/v1/completions", self._body, self._headers)
            answer = connection.getresponse()
            data = answer.read()
            if answer.status != 200:
                return str(answer.status)
            return "good" if json.loads(data)["choices"][0]["finish_reason"] else "unfinished"
        except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
            return type(error).__name__
        finally:
            connection.close()


if __name__ == "__main__":
    Prober(json.loads(sys.argv[1])).run()
