# SPDX-License-Identifier: Apache-2.0
"""Whatever a log is cut to, mixed with or fed as: an answer comes, in time, and never `ready` without evidence."""

from __future__ import annotations

import json
import re
import time
import tracemalloc
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import parse_startup_log
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.report import StartupReport
from tests.unit.startup.shaped import Fixture, fixtures

FIXTURES = fixtures()
LINES = sorted({line for fixture in FIXTURES for line in fixture.data.split(b"\n")})
# A text without any of these has shown no readiness: uvicorn's words, or an answered request.
SHOWS_READINESS = (b"startup complete", b"Uvicorn running on", b'" 200')
# What a good start prints as well; none of it says anything of how the start went. STAMP: the time of the line before.
NOISE = [
    b"",
    b"  warnings.warn(",
    b"Loading safetensors checkpoint shards:  60% Completed | 3/5 [00:02<00:01,  1.11it/s]",
    b"WARNING STAMP [config.py:1088] Default sampling parameters have been overridden by the model's config.",
    b"(APIServer pid=11) INFO STAMP [scheduler.py:216] Chunked prefill is enabled with 2048 tokens.",
    b"[rank0]:[W506 07:08:14.2488 ProcessGroupNCCL.cpp:1575] Warning: destroy_process_group() was not called",
    b"2026-05-06 07:08:15.853794: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on.",
    b"E0000 00:00:1760469722.892123 4394 cuda_dnn.cc:8579] Unable to register cuDNN factory: already registered",
    b"WARNING STAMP [_custom_ops.py:20] Failed to import from vllm._moe_C with ModuleNotFoundError",
]
STAMP = re.compile(rb"\b\d\d-\d\d \d\d:\d\d:\d\d\b")
# Lines between which nothing can stand: the halves of one sentence, newest first, and a text that ends in mid-line.
OF_ONE_PIECE = {"hard_wrapped", "newest_first", "cut", "table_borders"}
MANY_LINES, LONG_LINE, MAX_EVIDENCE = 40, 2000, 12
# (what is planted at the end of every line, the secret in it)
PLANTED = [
    (f"HF_TOKEN=hf_{'Zq7' * 8}", "Zq7Zq7"),
    (f"--api-key {'kEy5' * 6}", "kEy5kEy5"),
    (f"sk-{'aB3' * 9}", "aB3aB3"),
    (f"Authorization: Bearer {'tOk3n' * 5}", "tOk3ntOk3n"),
    (f"https://user:{'pAs5' * 4}@hub.example/model", "pAs5pAs5"),
]
PIECES = [b"(", b" ", b"[", b"x", b"\r", b"| ", b"ERROR ", b'{"message": ', b"\x1b[", b"'", b"1,"]
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check(data: bytes, report: StartupReport) -> None:
    """What holds for every answer."""
    assert report.state != "ready" or any(words in data for words in SHOWS_READINESS)
    assert len(report.evidence) <= MAX_EVIDENCE
    assert all(len(line) <= LONG_LINE for line in (*report.evidence, report.first_error_line or ""))
    json.dumps(report.to_dict())


def chunked(data: bytes, cuts: Iterable[int]) -> Iterator[bytes]:
    """The bytes in pieces, of which some can be empty."""
    last = 0
    for cut in sorted(cuts):
        yield data[last:cut]
        last = cut
    yield data[last:]


@FEW
@given(st.sampled_from(FIXTURES), st.integers(min_value=0, max_value=6000))
def test_any_prefix(fixture: Fixture, end: int) -> None:
    data = fixture.data[:end]
    check(data, parse_startup_log(data))


@FEW
@given(st.sampled_from(FIXTURES), st.lists(st.integers(min_value=0, max_value=6000), max_size=12))
def test_any_split_of_the_bytes(fixture: Fixture, cuts: list[int]) -> None:
    assert parse_startup_log(chunked(fixture.data, cuts)) == parse_startup_log(fixture.data)


def test_bytes_text_and_lines_give_the_same() -> None:
    for fixture in FIXTURES:
        text = fixture.data.decode("utf-8", "replace")
        whole = parse_startup_log(text)
        assert parse_startup_log(text.splitlines(keepends=True)) == whole, fixture.name
        assert parse_startup_log(fixture.data) == whole, fixture.name


def with_noise(lines: list[bytes], noise: list[tuple[int, bytes]]) -> bytes:
    """The log with other lines in between, which are no older than what stands before them."""
    for place, line in noise:
        at = min(place, len(lines) - 1)
        stamps = STAMP.findall(b"\n".join(lines[:at])) or STAMP.findall(b"\n".join(lines)) or [b"05-06 07:08:12"]
        lines.insert(at, line.replace(b"STAMP", stamps[-1] if at else stamps[0]))
    return b"\n".join(lines)


@FEW
@given(
    st.sampled_from([fixture for fixture in FIXTURES if not OF_ONE_PIECE & set(fixture.shapes)]),
    st.lists(st.tuples(st.integers(min_value=0, max_value=30), st.sampled_from(NOISE)), max_size=15),
)
def test_noise_between_the_lines_changes_no_verdict(fixture: Fixture, noise: list[tuple[int, bytes]]) -> None:
    data = with_noise(fixture.data.split(b"\n"), noise)
    report = parse_startup_log(data)
    check(data, report)
    assert (report.state, report.diagnosis) == (fixture.state, fixture.diagnosis)


@FEW
@given(st.sampled_from(FIXTURES), st.integers(min_value=1, max_value=4))
def test_lines_that_come_twice(fixture: Fixture, times: int) -> None:
    if OF_ONE_PIECE & set(fixture.shapes):
        return
    data = b"\n".join(line for line in fixture.data.split(b"\n") for _again in range(times))
    report = parse_startup_log(data)
    check(data, report)
    assert report.diagnosis == fixture.diagnosis


@FEW
@given(st.lists(st.one_of(st.sampled_from(LINES), st.binary(max_size=80)), max_size=MANY_LINES))
def test_lines_of_all_logs_in_any_order(lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    check(data, parse_startup_log(data))


@FEW
@given(st.binary(max_size=3000))
def test_any_bytes(data: bytes) -> None:
    check(data, parse_startup_log(data))


@pytest.mark.parametrize(("planted", "secret"), PLANTED)
def test_no_secret_of_any_line_is_kept(planted: str, secret: str) -> None:
    for fixture in FIXTURES:
        data = fixture.data.replace(b"\n", f" {planted}\n".encode())
        assert secret not in json.dumps(parse_startup_log(data).to_dict()), fixture.name


def noise_of(size: int) -> Iterator[bytes]:
    """Bytes of a serving engine, as many as asked for."""
    line = b'(APIServer pid=11) INFO:     198.51.100.7:40112 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    block = line * (65536 // len(line))
    for _block in range(size // len(block)):
        yield block


def seconds_for(size: int) -> float:
    """The processor time for that much noise after a start, the better of two."""
    took = []
    for _again in range(2):
        begun = time.process_time()
        parse_startup_log(chunks_after_start(size))
        took.append(time.process_time() - begun)
    return min(took)


def chunks_after_start(size: int) -> Iterator[bytes]:
    yield FIXTURES[0].data
    yield from noise_of(size)


def test_time_grows_with_the_log_and_no_faster() -> None:
    small, large = seconds_for(1 << 19), seconds_for(1 << 21)
    assert large < 10 * small + 0.05


@pytest.mark.parametrize(
    "piece", [b"(", b" ", b"[", b"x", b"\r", b"| ", b"ERROR ", b'{"message": ', b"\x1b[", b"'", b"1,"]
)
def test_no_line_takes_long(piece: bytes) -> None:
    data = (b"(EngineCore pid=52) ERROR 05-06 07:08:50 [core.py:1231] " + piece * (1_000_000 // len(piece)) + b"\n") * 2
    begun = time.process_time()
    check(data, parse_startup_log(data))
    assert time.process_time() - begun < 2


def test_memory_does_not_grow_with_the_log() -> None:
    peaks = []
    for size in (1 << 19, 1 << 21):
        tracemalloc.start()
        parse_startup_log(chunks_after_start(size))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + (1 << 19)


DEEP = [
    each
    for each in FIXTURES
    if each.state in ("ready", "crashed", "stopped", "serving_error") and b"complete." in each.data
]


@pytest.mark.parametrize("fixture", DEEP, ids=lambda fixture: fixture.name)
def test_what_happens_long_after_ready_is_found(fixture: Fixture) -> None:
    before, words, after = fixture.data.rpartition(b"startup complete.")
    data = b"".join([before, words, b"\n", *noise_of(1 << 19), after.lstrip(b"\r\n")])
    report = parse_startup_log(data)
    assert (report.state, report.diagnosis) == (fixture.state, fixture.diagnosis)
