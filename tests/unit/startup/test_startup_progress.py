# SPDX-License-Identifier: Apache-2.0
"""Which lines show that a start moves, and which do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.progress import Progress

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus" / "logs"
STAGES = [
    ("(APIServer pid=1) INFO 11-30 10:00:00 [a.py:1] non-default args: {'port': 1}", "reading arguments"),
    ("(EngineCore pid=2) INFO 11-30 10:00:01 [c.py:1] Initializing a V1 LLM engine (v0.32.0)", "starting the engine"),
    ("(EngineCore pid=2) INFO 11-30 10:00:02 [g.py:1] Starting to load model /srv/m...", "loading weights"),
    ("(EngineCore pid=2) INFO 11-30 10:00:03 [d.py:1] Loading weights took 1.00 seconds", "weights loaded"),
    ("(EngineCore pid=2) INFO 11-30 10:00:04 [k.py:1] CPU KV cache size: 64 tokens, Maximum", "sizing the KV cache"),
    ("(EngineCore pid=2) INFO 11-30 10:00:05 [c.py:1] init engine (profile, create kv cache) took 1 s", "engine ready"),
    ("(APIServer pid=1) INFO 11-30 10:00:06 [e.py:1] Starting vLLM server on http://0.0.0.0:1", "opening the port"),
    ("INFO:     Application startup complete.", "ready"),
]


def test_each_stage_moves_once() -> None:
    progress = Progress()
    assert progress.stage == "started"
    for line, stage in STAGES:
        assert progress.feed(line), line
        assert progress.stage == stage
        assert not progress.feed(line), line


def test_a_late_line_of_an_earlier_stage_does_not_turn_back() -> None:
    progress = Progress()
    progress.feed(STAGES[-2][0])
    assert progress.feed(STAGES[2][0])
    assert progress.stage == "opening the port"


@pytest.mark.parametrize(
    ("first", "further"),
    [
        (
            "Loading safetensors checkpoint shards:  12% Completed | 1/8 [00:01]",
            "Loading safetensors checkpoint shards:  25% Completed | 2/8 [00:02]",
        ),
        (
            "Capturing CUDA graphs (decode, FULL):  10%|█         | 3/35 [00:00<00:02]",
            "Capturing CUDA graphs (decode, FULL):  12%|█         | 4/35 [00:00<00:02]",
        ),
        (
            "model.safetensors:  40%|████      | 1.98G/4.95G [00:10<00:12, 200MB/s]",
            "model.safetensors:  40%|████      | 1.99G/4.95G [00:11<00:12, 200MB/s]",
        ),
        (
            "[b.py:1] Compiling a graph for compile range (1, 2048) takes 5.10 s",
            "[b.py:1] Compiling a graph for compile range (2049, 4096) takes 5.10 s",
        ),
    ],
)
def test_a_counter_moves_only_forward(first: str, further: str) -> None:
    progress = Progress()
    assert progress.feed(first)
    assert not progress.feed(first)
    assert progress.feed(further)
    assert not progress.feed(first)
    assert progress.detail


def test_states_of_one_line_are_read_one_by_one() -> None:
    progress = Progress()
    assert progress.feed("\rLoading: 1% | 1/100 [0]\rLoading: 2% | 2/100 [0]\n")
    assert not progress.feed("\rLoading: 2% | 2/100 [0]\n")


@pytest.mark.parametrize(
    "line",
    [
        "INFO 11-30 10:00:00 [shm.py:1] No available shared memory broadcast block found in 60 seconds.",
        "INFO 11-30 10:00:00 [l.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 1 reqs",
        "WARNING 11-30 10:00:00 [x.py:1] retrying 7/10",
        'INFO:     127.0.0.1:5 - "GET /health HTTP/1.1" 200 OK',
        "",
        "\x1b[0m\r\n",
    ],
)
def test_noise_does_not_move(line: str) -> None:
    progress = Progress()
    assert not progress.feed(line)
    assert not progress.feed(line)


def test_bars_without_end_are_bounded() -> None:
    progress = Progress()
    moved = sum(progress.feed(f"file {'x' * number}: 1% | 1/9 [0]") for number in range(1, 500))
    assert moved <= 64


def test_what_is_shown_holds_no_secret() -> None:
    progress = Progress()
    progress.feed("INFO 11-30 10:00:00 [a.py:1] non-default args: {'api_key': ['sk-planted-1']}")
    assert "sk-planted" not in progress.detail


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout (../shared/corpus)")
@pytest.mark.parametrize("path", sorted(CORPUS.glob("*ready.log")), ids=lambda path: path.name)
def test_real_logs_move_more_than_once(path: Path) -> None:
    progress = Progress()
    assert sum(progress.feed(line) for line in path.read_text(encoding="utf-8", errors="replace").splitlines()) > 3
    assert progress.stage in ("ready", "opening the port")
