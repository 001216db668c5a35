# SPDX-License-Identifier: Apache-2.0
"""The bench measures what it says: real logs, fresh processes, and an exit status that follows the floors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import parse_startup_log
from tests.bench.startup_log import LOGS, Figures, Floors, main, missed, with_grep, write

SMALL = ["--mb", "0.4", "--runs", "1"]
ANY = ["--mb-per-second", "0", "--of-grep", "0.000001", "--mib", "4096"]


def test_it_prints_both_speeds_and_the_memory_of_each_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, *ANY]) == 0
    printed = capsys.readouterr().out
    shape = r"^{}\s+[\d.]+ MB/s   grep -c\s+[\d.]+ MB/s   1/[\d.]+\s+-?[\d.]+ MiB above the interpreter$"
    assert all(re.search(shape.format(name), printed, re.MULTILINE) for name in LOGS)


def test_a_floor_that_is_missed_is_named_and_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, *ANY, "--mb-per-second", "1e9"]) == 1
    assert "MB/s, at least 1e+09" in capsys.readouterr().out


def test_each_floor_is_looked_at() -> None:
    floors = Floors(mb_per_second=40, of_grep=1 / 25, mib=64)
    assert missed(Figures(parse=41, grep=1000, mib=63.9), floors) == []
    assert [words.split(",")[0] for words in missed(Figures(parse=30, grep=1000, mib=64), floors)] == [
        "30.0 MB/s",
        "1/33.3 of grep -c",
        "64.0 MiB above the interpreter",
    ]


def test_grep_reads_all_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "start.log"
    write(path, LOGS["busy after a start"], 300_000)
    assert with_grep(path)[1] == path.read_bytes().count(b" ERROR ") > 100


@pytest.mark.parametrize(("name", "size"), [(name, size) for name in LOGS for size in (50_000, 700_000)])
def test_the_logs_are_of_the_size_and_start_well(name: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / "start.log"
    write(path, LOGS[name], size)
    assert 0.9 * size < path.stat().st_size < 1.1 * size + 2000
    report = parse_startup_log(path.read_bytes())
    assert (report.vllm_version, report.kv_cache_tokens, report.startup_complete) == ("0.14.0", (169984,), True)
