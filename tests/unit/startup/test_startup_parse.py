# SPDX-License-Identifier: Apache-2.0
"""What a start said: the same facts whatever the release, the colours and the prefixes are."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.arguments import parse_arguments
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.lines import redact
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import parse_startup_log, startup_from_dict

LOGS = Path(__file__).resolve().parent / "logs"
# Every line has the process in front; the KV cache takes two lines.
TWO_LINES = (LOGS / "two_lines_0.26.log").read_text(encoding="utf-8")
# On a CPU: uvicorn's lines have no process, the KV cache takes one line, no graphs, no compilation time.
ONE_LINE = (LOGS / "one_line_0.32.log").read_text(encoding="utf-8")


def read(text: str) -> dict[str, Any]:
    return parse_startup_log(text.splitlines(keepends=True)).to_dict()


def test_the_two_line_form() -> None:
    wanted = {
        "vllm_version": "0.26.0",
        "kv_cache_tokens": [178160],
        "kv_cache_tokens_usable": 178160,
        "max_concurrency": [[32768, 5.44]],
        "kv_cache_available_gib": [21.75],
        "model_memory_gib": [12.5],
        "model_load_seconds": [4.056921],
        "weights_load_seconds": [3.21],
        "engine_init_seconds": [[31.07, 18.9]],
        "graph_capture": [[6, -0.13]],
        "non_default_args": {
            "model_tag": "/srv/m",
            "port": 8123,
            "model": "/srv/m",
            "enable_prefix_caching": False,
            "seed": 7,
        },
        "startup_complete": True,
        "first_error_line": None,
    }
    found = read(TWO_LINES)
    assert {name: found[name] for name in wanted} == wanted
    assert (found["state"], found["diagnosis"], found["evidence"]) == ("ready", "none", [])


def test_the_one_line_form() -> None:
    found = read(ONE_LINE)
    assert (found["kv_cache_tokens"], found["max_concurrency"]) == ([2097152], [[1024, 2048.0]])
    assert (found["vllm_version"], found["engine_init_seconds"]) == ("0.32.0", [[12.4, None]])
    assert (found["graph_capture"], found["kv_cache_available_gib"], found["startup_complete"]) == ([], [], True)


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("# 0.8: GB", None, None),
        ("INFO 04-04 10:00:00 [x.py:1] Model loading took 4.2500 GB and 2.5 seconds", "model_memory_gib", [4.25]),
        ("INFO 04-04 10:00:00 [x.py:1] Model loading took 9.1 GiB and 2.5 seconds", "model_load_seconds", [2.5]),
        (
            "init engine (profile, create kv cache, warmup model) took 5.25 seconds",
            "engine_init_seconds",
            [[5.25, None]],
        ),
        ("GPU + host KV cache size: 1,234 tokens, Maximum concurrency for 12", "kv_cache_tokens", [1234]),
        (
            "XPU KV cache size: 64 tokens, Maximum concurrency for 6 tokens per request: 1.00x",
            "max_concurrency",
            [[6, 1.0]],
        ),
        ("Graph capturing finished in 21 secs.", "graph_capture", [[21, None]]),
        ("Available KV cache memory: -1.25 GiB", "kv_cache_available_gib", [-1.25]),
        ("INFO 04-04 10:00:00 api_server.py:1] vLLM API server version 0.6.3.post1", "vllm_version", "0.6.3.post1"),
        ("INFO 04-04 10:00:00 [u.py:3] vLLM server version 0.31.0, serving model a/b", "vllm_version", "0.31.0"),
        ("INFO 04-04 10:00:00 [u.py:3] vLLM server version 0.31.0, serving model a/b", "model", "a/b"),
        ("(A pid=1) INFO 04-04 10:00:00 [u.py:3]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.31.0", "vllm_version", "0.31.0"),
    ],
)
def test_shapes_of_other_releases(line: str, key: str | None, value: object) -> None:
    if key is not None:
        assert read(line)[key] == value


def _coloured(text: str) -> str:
    return text.replace("(", "\x1b[0;36m(", 1).replace("INFO", "\x1b[32mINFO\x1b[0m")


@pytest.mark.parametrize(
    "dress",
    [
        _coloured,
        lambda line: "2026-11-30T10:00:00.123456789Z stdout F " + line,
        lambda line: "Nov 30 10:00:00 gpu1 run[812]: " + line,
        lambda line: "chat-1  | " + line,
        lambda line: "Loading: 100%|####| 3/3\r" + line,
        lambda line: line.replace("\n", "\r\n"),
        lambda line: "\0" + line,
    ],
)
def test_prefixes_colours_and_carriage_returns_change_nothing(dress: Any) -> None:
    dressed = "".join(dress(line) for line in TWO_LINES.splitlines(keepends=True))
    assert read(dressed) == read(TWO_LINES)


def test_ranks_that_differ_are_all_kept_and_the_least_is_usable() -> None:
    lines = [f"GPU KV cache size: {tokens} tokens" for tokens in ("9,100", "9,000", "9,100", "9,050")]
    found = read("\n".join(lines))
    assert found["kv_cache_tokens"] == [9100, 9000, 9050]
    assert found["kv_cache_tokens_usable"] == 9000


def test_a_log_that_ends_early_is_not_complete() -> None:
    cut = TWO_LINES[: TWO_LINES.index("INFO:     Application")]
    assert read(cut)["startup_complete"] is False


FAILED = """\
(EngineCore pid=9) ERROR 11-30 10:00:09 [core.py:1221] EngineCore failed to start.
(EngineCore pid=9) ERROR 11-30 10:00:09 [core.py:1221] Traceback (most recent call last):
(EngineCore pid=9) ERROR 11-30 10:00:09 [core.py:1221]   File "core.py", line 5, in load
(EngineCore pid=9) ERROR 11-30 10:00:09 [core.py:1221] ValueError: no such thing, --api-key sk-planted-123456
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


def test_the_first_error_is_the_one_that_says_something_and_shows_no_key() -> None:
    found = read(FAILED)["first_error_line"]
    assert found.endswith("ValueError: no such thing, --api-key ***")


@pytest.mark.parametrize(
    "line",
    ["vllm serve: error: unrecognized arguments: --x", "OSError: [Errno 98] Address already in use", "Killed"],
)
def test_errors_without_a_log_record(line: str) -> None:
    assert read(line)["first_error_line"] == line


def test_a_report_survives_json() -> None:
    report = parse_startup_log(TWO_LINES.splitlines())
    assert startup_from_dict(json.loads(json.dumps({**report.to_dict(), "of_a_newer_tool": 1}))) == report


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", {}),
        ("{'a': 1} and more", {"a": 1}),
        ("{'a': {'b': [1, (2,)]}, 'c': 'it\\'s, }'}", {"a": {"b": [1, [2]]}, "c": "it's, }"}),
        ("{'a': <Mode.NONE: 0>, 'b': True}", {"a": "<Mode.NONE: 0>", "b": True}),
        ("{'a': Config(x=1, y=[2, 3]), 'b': None}", {"a": "Config(x=1, y=[2, 3])", "b": None}),
        ("{'api_key': ['sk-1'], 'hf_token': 'hf_1', 'p': 1}", {"api_key": "***", "hf_token": "***", "p": 1}),
        ("{'a': 1", None),
        ("no map", None),
        ("{'a': __import__('os').system('id')}", {"a": "__import__('os').system('id')"}),
        ("{'a': " + "[" * 100 + "]" * 100 + "}", None),
        ("{'a': '" + "x" * 100000 + "'}", None),
    ],
)
def test_arguments(text: str, expected: object) -> None:
    assert parse_arguments(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "hf_abcdefgh1",
        "Authorization: Bearer abc.def",
        "--hf-token=abc",
        "'api_key': 'a b'",
        "X_SECRET=abc",
        "http://u:pw@h/",
    ],
)
def test_secrets_are_taken_out(text: str) -> None:
    shown = redact(text)
    assert "***" in shown
    assert not any(secret in shown for secret in ("abc", "a b", "pw"))


def test_figures_are_not_taken_for_secrets() -> None:
    assert redact("max_tokens=5, GPU KV cache size: 5 tokens") == "max_tokens=5, GPU KV cache size: 5 tokens"


def test_any_prefix_and_any_noise_is_read_without_an_exception() -> None:
    dice = random.Random(11)
    for _turn in range(200):
        cut = TWO_LINES[dice.randrange(len(TWO_LINES)) :][: dice.randrange(2000)]
        noise = bytes(dice.randrange(256) for _index in range(80)).decode("utf-8", "replace")
        assert set(read(cut + noise + cut[::-1])) == set(read(""))


def test_a_line_without_end_takes_bounded_time() -> None:
    assert read("x" * 3_000_000 + " GPU KV cache size: 1 tokens")["kv_cache_tokens"] == []


def test_a_warning_that_speaks_of_an_error_is_not_the_first_error() -> None:
    found = read(
        "(APIServer pid=7) WARNING 11-30 13:06:24 [system_utils.py:255] may cause `OSError: [Errno 24] Too many`\n"
        "(Worker pid=38) ERROR 11-30 13:08:20 [multiproc_executor.py:1063] WorkerProc hit an exception.\n"
        "(Worker pid=38) ERROR 11-30 13:08:20 [multiproc_executor.py:1063] RuntimeError: Unsupported configuration\n"
    )
    assert found["first_error_line"].endswith("RuntimeError: Unsupported configuration")


READY = "INFO:     Application startup complete.\n"
MISTAKE = "(APIServer pid=7) ERROR 11-30 15:56:11 [serving.py:274] Error with model error=ErrorInfo('no model')\n"
DEAD = (
    "(APIServer pid=7) ERROR 11-30 15:56:31 [async_llm.py:906] AsyncLLM output_handler failed.\n"
    "(APIServer pid=7) ERROR 11-30 15:56:31 [async_llm.py:906] Traceback (most recent call last):\n"
    "(APIServer pid=7) ERROR 11-30 15:56:31 [async_llm.py:906] vllm.v1.engine.exceptions.EngineDeadError: EngineCore"
    " encountered an issue. See stack trace (above) for the root cause.\n"
)


@pytest.mark.parametrize(
    "cause",
    [
        "(APIServer pid=7) WARNING 11-30 15:56:31 [core_client.py:817] [shutdown] MPClient: engine core exited"
        " unexpectedly; starting cleanup",
        "(EngineCore pid=26) ERROR 11-30 15:52:26 [multiproc_executor.py:314] Worker proc VllmWorker-0 died"
        " unexpectedly (exit code: None), shutting down executor.",
        "(EngineCore pid=26) ERROR 11-30 15:52:27 [core.py:1435] RuntimeError: cancelled",
    ],
)
def test_the_end_of_a_server_is_not_a_clients_mistake(cause: str) -> None:
    """As real 0.31.0 and 0.32.0 write it when their engine process or its worker is killed."""
    fatal = "(EngineCore pid=26) ERROR 11-30 15:52:27 [core.py:1435] EngineCore encountered a fatal error.\n"
    assert read(READY + MISTAKE + fatal + cause + "\n" + DEAD)["first_error_line"] == cause


def test_a_server_that_only_had_mistakes_of_clients_tells_the_last_one() -> None:
    assert read(READY + MISTAKE.replace("no model", "x") + MISTAKE)["first_error_line"] == MISTAKE.strip()


INITIALIZATION = (
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': -9}"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Exception: WorkerProc initialization failed due to an exception in a background process. "
            "See stack trace for root cause.\nValueError: no such thing\n",
            "ValueError: no such thing",
        ),
        (
            INITIALIZATION,
            "RuntimeError: Engine core initialization failed. Failed core proc(s): {'EngineCore': -9}",
        ),
        (
            READY + MISTAKE + DEAD,
            "(APIServer pid=7) ERROR 11-30 15:56:31 [async_llm.py:906] vllm.v1.engine.exceptions.EngineDeadError: "
            "EngineCore encountered an issue.",
        ),
        ("KeyboardInterrupt: terminated", None),
    ],
)
def test_what_points_to_a_cause_is_none_and_stands_in_for_one_that_nobody_said(text: str, expected: str | None) -> None:
    assert read(text)["first_error_line"] == expected


CUT_SHORT = """(APIServer pid=1) INFO 04-04 10:00:00 [u.py:3] non-default args: {'model': '/srv/models/m'}
Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/vllm/transformers_utils/utils.py", line 3, in parse_safetensors_file_metadata
    size = struct.unpack("<Q", f.read(8))[0]
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
struct.error: unpack requires a buffer of 8 bytes
"""


def test_exceptions_with_small_names_are_exceptions() -> None:
    report = parse_startup_log(CUT_SHORT)
    assert (report.state, report.diagnosis) == ("failed", "weights_corrupt")
    assert report.evidence == ("struct.error: unpack requires a buffer of 8 bytes",)
    report = parse_startup_log(
        "Traceback (most recent call last):\nsocket.gaierror: [Errno -2] Name or service not known"
    )
    assert (report.state, report.first_error_line) == (
        "failed",
        "socket.gaierror: [Errno -2] Name or service not known",
    )


def test_a_worker_that_outlives_its_server_revives_no_start() -> None:
    report = parse_startup_log(
        "(EngineCore pid=2) INFO 04-04 10:00:00 [c.py:3] Initializing a V1 LLM engine (v0.32.0) with config: ...\n"
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
        "(Worker pid=3) INFO 04-04 10:00:01 [m.py:3] Starting to load model m...\n"
        "(Worker pid=3) INFO 04-04 10:00:02 [l.py:3] Loading weights took 0.02 seconds\n"
    )
    assert (report.state, report.diagnosis) == ("failed", "root_cause_not_in_log")
    assert report.evidence[0].startswith("RuntimeError: Engine core initialization failed.")


def test_of_a_traceback_in_one_line_of_json_the_evidence_is_the_line_that_says_why() -> None:
    why = "ValueError: To serve at least one request with the model's max seq len (512), (0.5 GiB KV cache is needed, "
    why += "which is larger than the available KV cache memory (0.25 GiB)."
    said = {"levelname": "ERROR", "processName": "EngineCore", "process": 2, "message": "EngineCore failed to start."}
    said["exc_info"] = "Traceback (most recent call last):\n" + '  File "/a.py", line 1, in b\n    c()\n' * 90 + why
    report = parse_startup_log(json.dumps(said))
    assert (report.diagnosis, report.evidence, report.first_error_line) == ("kv_cache_too_small", (why,), why)
