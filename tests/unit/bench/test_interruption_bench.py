# SPDX-License-Identifier: Apache-2.0
"""The bench of interruptions reads what the prober wrote: from the last good answer to the first good one."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.bench.interruption import PROBER, Change, interruption, moment, read_answers


def test_it_is_from_the_last_good_answer_to_the_first_good_one() -> None:
    answers = [(1.0, True), (1.1, True), (1.2, False), (3.0, False), (3.1, True), (3.2, True)]
    assert interruption(answers) == (1.1, 3.1, 2)
    assert interruption(list(reversed(answers))) == (1.1, 3.1, 2)


def test_good_answers_in_between_do_not_end_it() -> None:
    assert interruption([(1.0, True), (1.1, False), (1.2, True), (1.3, False), (1.4, True)]) == (1.0, 1.4, 2)


@pytest.mark.parametrize("answers", [[], [(1.0, True)], [(1.0, False), (2.0, True)], [(1.0, True), (2.0, False)]])
def test_what_was_not_seen_whole_is_no_measurement(answers: list[tuple[float, bool]]) -> None:
    with pytest.raises(ValueError, match=r"no good answer|no answer was missing"):
        interruption(answers)


def test_times_of_systemd_docker_and_the_journal_are_one() -> None:
    assert moment("Tue 2026-12-01 07:06:18.132712 UTC") == pytest.approx(1796108778.132712)
    assert moment("2026-12-01T07:06:18.408459741Z") == pytest.approx(1796108778.408459)
    assert moment("2026-12-01T07:06:18.5Z") == pytest.approx(1796108778.5)


def test_the_ratio_is_of_the_start_from_docker_run() -> None:
    change = Change("upgrade", 11.0, 10.0, 9.5, 100, 0.5)
    assert change.ratio == pytest.approx(1.1)
    assert "ratio 1.100 (from the container 1.158)" in change.line()


class Engine(http.server.BaseHTTPRequestHandler):
    """Answers well, then not, then well again."""

    def do_POST(self) -> None:
        self.server.asked += 1  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers["Content-Length"]))
        down = 3 <= self.server.asked < 6  # type: ignore[attr-defined]
        data = b"{}" if down else json.dumps({"choices": [{"finish_reason": "length"}]}).encode()
        self.send_response(503 if down else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


def test_the_prober_writes_down_every_answer_and_ends_by_itself(tmp_path: Path) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    server.asked = 0  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    out = tmp_path / "probed"
    told = {
        "port": server.server_port,
        "model": "chat",
        "out": str(out),
        "until": str(tmp_path / "end"),
        "seconds": 1.2,
    }
    began = time.monotonic()
    subprocess.run([sys.executable, "-I", str(PROBER), json.dumps(told)], check=True, timeout=30)
    assert 1.2 <= time.monotonic() - began < 10
    server.shutdown()
    server.server_close()
    words = [line.split()[2] for line in out.read_text().splitlines()]
    assert words.count("503") == 3 and words[0] == "good" and words[-1] == "good"
    last, first, failed = interruption(read_answers(out.read_text()))
    assert failed == 3 and 0.2 < first - last < 1.0
