# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Every finding of a diagnosis can fire, and none does where all is well."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.diagnose import judge
from ansible_collections.gpuhosts.vllm.plugins.module_utils.diagnose.case import Case, Model, Process, Shm
from ansible_collections.gpuhosts.vllm.plugins.module_utils.diagnose.text import render_text
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.facts import Engine, GpuHost, Listener, Published
from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.report import MetricsReport
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.service_state import ContainerSeen, UnitState
from tests.unit.diagnose.conftest import (
    ARGS,
    GIB,
    ID,
    PROCESSES,
    STARTUP,
    make_case,
    record,
    state,
    with_args,
)

DIAGNOSE = Path(judge.__file__).parent
SECTIONS = ["start", "versions", "configuration", "options", "topology", "machine", "drift"]
FAILED = replace(
    STARTUP,
    state="failed",
    diagnosis="kv_cache_too_small",
    evidence=("ValueError: To serve at least one request, 4.00 GiB KV cache is needed",),
    remedy="lower max-model-len to 512",
)
DOWN = state(unit=UnitState("loaded", "failed", "failed", "exit-code"))
ENDED = {
    "seq": 3,
    "ended_at": "2026-01-31T11:00:00Z",
    "fault": True,
    "ending": "engine_ended",
    "ending_reason": "it ended",
}
LAST = Listener("127.0.0.1", 8000, 77, "nginx")

# What is changed -> the one finding that it brings: section, id, severity.
ROWS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "log": ({"startup": FAILED, "state": DOWN}, "start", "kv_cache_too_small", "error"),
    "ending": ({"start": ENDED, "state": DOWN, "startup": None}, "start", "start_ended", "error"),
    "never": ({"state": state(starts=(), unit=None)}, "start", "never_started", "info"),
    "stopped": ({"state": state(stopped=True, unit=UnitState("loaded"))}, "start", "stopped_on_purpose", "info"),
    "down": ({"state": state(unit=UnitState("loaded"))}, "start", "not_running", "error"),
    "hand": ({"by_hand": ("its unit is masked; on the host: x",)}, "start", "changed_by_hand", "warning"),
    "journal": ({"state": state(journal_error="line 2 is torn")}, "start", "journal_torn", "error"),
    "build": ({"packages": {"vllm": ["0.31.0"]}}, "versions", "build_differs", "error"),
    "image": ({"container": {"Id": ID, "Image": "sha256:1"}}, "versions", "image_differs", "error"),
    "twice": ({"packages": {"torch": ["2.9.1", "2.8.0"]}}, "versions", "package_twice", "warning"),
    "flash": (
        {"packages": {"flashinfer-python": ["0.5.3"], "flashinfer-cubin": ["0.5.2"]}},
        "versions",
        "flashinfer_differs",
        "error",
    ),
    "nccl": (
        {"packages": {"nvidia-nccl-cu12": ["2.27.5"], "nvidia-nccl-cu13": ["2.28.3"]}},
        "versions",
        "nccl_twice",
        "warning",
    ),
    "variable": ({"variables": {"VLLM_USE_V1": "1"}}, "versions", "variable_without_effect", "warning"),
    "rust": ({"variables": {"VLLM_USE_RUST_FRONTEND": "1"}}, "versions", "rust_frontend", "info"),
    "edited": (
        {"unread": {"release": "release.json says a, but its content is that of b: it was edited"}},
        "configuration",
        "record_edited",
        "error",
    ),
    "health": ({"unread": {"health": "connection refused"}}, "configuration", "health_unanswered", "error"),
    "models": ({"unread": {"models": "HTTP 401"}}, "configuration", "models_unanswered", "error"),
    "argv": (
        {"processes": (replace(PROCESSES[0], words=("vllm", "serve", "/m", "--port", "8000")), *PROCESSES[1:])},
        "configuration",
        "arguments_differ",
        "error",
    ),
    "taken": (
        {"startup": replace(STARTUP, non_default_args={"tensor_parallel_size": 1})},
        "configuration",
        "argument_taken_otherwise",
        "warning",
    ),
    "length": ({"models": [{"max_model_len": 512}]}, "configuration", "max_model_len_differs", "error"),
    "capacity": (
        {"metrics": MetricsReport(prefix="vllm:", kv_cache_size_tokens=1024)},
        "configuration",
        "kv_cache_disagrees",
        "warning",
    ),
    "floor": ({"gate": {"kv_floor_tokens": 70000}}, "configuration", "kv_below_floor", "error"),
    "ranks": (
        {"startup": replace(STARTUP, kv_cache_tokens=(65536, 65552))},
        "configuration",
        "ranks_differ",
        "info",
    ),
    "low": (
        {"startup": replace(STARTUP, max_concurrency=((1024, 1.5),)), "metrics": None},
        "configuration",
        "low_concurrency",
        "warning",
    ),
    "none": (
        {"startup": replace(STARTUP, max_concurrency=((1024, 0.5),)), "metrics": None},
        "configuration",
        "low_concurrency",
        "error",
    ),
    "full": (
        {"health": {"metrics": {"kv_cache_usage": 0.99, "waiting": 3}}},
        "configuration",
        "kv_cache_full",
        "warning",
    ),
    "unknown": (with_args("--no-such-thing", "1"), "options", "unknown_option", "warning"),
    "chunks": (
        with_args("--no-enable-chunked-prefill", "--max-num-batched-tokens", "512"),
        "options",
        "batch_below_length",
        "error",
    ),
    "batch": (
        with_args("--max-num-seqs", "4096", "--max-num-batched-tokens", "2048"),
        "options",
        "batch_below_sequences",
        "error",
    ),
    "share": (with_args("--gpu-memory-utilization", "0.99"), "options", "memory_share_tight", "warning"),
    "blocks": (with_args("--num-gpu-blocks-override", "9"), "options", "blocks_overridden", "warning"),
    "eager": (with_args("--enforce-eager"), "options", "eager", "info"),
    "frontends": (with_args("--api-server-count", "4"), "topology", "several_frontends", "warning"),
    "gpus": ({"record": record(gpus=[0])}, "topology", "more_ranks_than_gpus", "error"),
    "containers": (
        {
            "state": state(
                container_states=(ContainerSeen(ID, "vllm-chat", "running"), ContainerSeen("d", "old", "exited"))
            )
        },
        "topology",
        "several_containers",
        "error",
    ),
    "port": ({"engine": Engine(True, True), "listeners": (LAST,)}, "topology", "port_held_by_other", "error"),
    "container port": (
        {"engine": Engine(True, True, published=(Published("0.0.0.0", 8000, "web", None),))},
        "topology",
        "port_held_by_other",
        "error",
    ),
    "core": ({"processes": PROCESSES[:1]}, "topology", "engine_core_missing", "error"),
    "rank": ({"processes": PROCESSES[:3]}, "topology", "rank_missing", "error"),
    "shm": ({"shm": Shm(64 << 20, 0)}, "machine", "shm_small", "warning"),
    "shm full": ({"shm": Shm(16 * GIB, 16 * GIB)}, "machine", "shm_full", "error"),
    "memlock": (
        {"processes": (replace(PROCESSES[0], memlock="65536"), *PROCESSES[1:])},
        "machine",
        "memlock_limited",
        "warning",
    ),
    "interface": ({"variables": {"NCCL_SOCKET_IFNAME": "ib0"}}, "machine", "interface_missing", "error"),
    "address": ({"variables": {"VLLM_HOST_IP": "10.0.0.9"}}, "machine", "address_missing", "error"),
    "ray": (with_args("--distributed-executor-backend", "ray"), "machine", "ray_missing", "error"),
    "slower": ({"variables": {"NCCL_P2P_DISABLE": "1"}}, "machine", "nccl_slower", "warning"),
    "no gpu": (
        {"gpus": GpuHost(True, True, error="NVRM: driver/library version mismatch")},
        "machine",
        "gpus_unanswered",
        "error",
    ),
    "disk": ({"disks": {"docker": (100 * GIB, 1 << 20)}}, "machine", "disk_nearly_full", "warning"),
    "memory": ({"memory": (64 * GIB, GIB)}, "machine", "memory_nearly_full", "warning"),
    "xid": (
        {"kernel_lines": ("gpu7 kernel: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.",)},
        "machine",
        "gpu_fault_in_kernel_log",
        "warning",
    ),
    "oom": (
        {"kernel_lines": (f"kernel: oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/docker-{ID}.scope,task=vllm",)},
        "machine",
        "killed_for_memory",
        "error",
    ),
    "sampling": (
        {"model": Model("/srv/models/m", {"temperature": 0.6}, chat_template=True, tokenizer=True)},
        "drift",
        "generation_config_of_model",
        "info",
    ),
    "tools": (with_args("--enable-auto-tool-choice"), "drift", "tool_parser_missing", "error"),
    "parser": (with_args("--tool-call-parser", "hermes"), "drift", "tool_parser_unused", "warning"),
    "template": ({"model": Model("/srv/models/m", {}, tokenizer=True)}, "drift", "no_chat_template", "warning"),
    "logprobs": (with_args("--logprobs-mode", "processed_logprobs"), "drift", "logprobs_mode", "info"),
}


def found_in(case: Case) -> list[tuple[str, str, str]]:
    """Give every finding with its section."""
    sections = judge.diagnose(case).sections
    return [(section.id, finding.id, finding.severity) for section in sections for finding in section.findings]


def test_nothing_is_found_where_all_is_well(case: Case) -> None:
    assert found_in(case) == []


@pytest.mark.parametrize("name", ROWS)
def test_a_finding_fires_alone(name: str) -> None:
    changes, section, finding, severity = ROWS[name]
    assert found_in(make_case(**changes)) == [(section, finding, severity)]


def test_a_kv_cache_that_ends_a_start_is_told_before_how_it_ended() -> None:
    told = judge.diagnose(make_case(startup=FAILED, start=ENDED, state=DOWN)).findings
    assert [(finding.id, finding.severity) for finding in told] == [
        ("kv_cache_too_small", "error"),
        ("start_ended", "warning"),
    ]
    assert told[0].remedy == "lower max-model-len to 512"
    assert told[0].source == "docs/runbooks/diagnoses/kv_cache_too_small.md"


def test_data_parallel_engines_are_one_topology_too_many() -> None:
    case = make_case(**with_args("--data-parallel-size", "2"))
    assert found_in(case) == [("topology", "several_engines", "warning"), ("topology", "more_ranks_than_gpus", "error")]


def test_pipeline_ranks_are_told_and_more_of_them_are_missed() -> None:
    case = make_case(**with_args("--pipeline-parallel-size", "2"))
    assert found_in(case) == [
        ("topology", "pipeline", "info"),
        ("topology", "more_ranks_than_gpus", "error"),
        ("topology", "rank_missing", "error"),
    ]


def test_nccl_that_failed_without_a_word_is_asked_for_one() -> None:
    said = replace(STARTUP, state="failed", diagnosis="nccl_error", evidence=("RuntimeError: NCCL error",))
    assert ("machine", "nccl_silent", "info") in found_in(make_case(startup=said, state=DOWN, start=ENDED))
    loud = make_case(startup=said, state=DOWN, start=ENDED, variables={"NCCL_DEBUG": "INFO"})
    assert ("machine", "nccl_silent", "info") not in found_in(loud)


@pytest.mark.parametrize(("version", "found"), [("0.11.2", True), ("0.12.0", False)])
def test_a_seed_is_missed_only_where_none_is_the_default(version: str, found: bool) -> None:
    case = make_case(record=record(version=version), startup=None, packages={}, health={})
    assert (("drift", "seed_random", "warning") in found_in(case)) is found


@pytest.mark.parametrize("name", ["ib0", "=ib0", "ib0,eth1"])
def test_interfaces_are_known_by_their_beginning(name: str) -> None:
    assert found_in(make_case(variables={"NCCL_SOCKET_IFNAME": name}))
    assert not found_in(make_case(variables={"NCCL_SOCKET_IFNAME": name}, interfaces=("ib0", "eth1")))
    assert not found_in(make_case(variables={"NCCL_SOCKET_IFNAME": "^docker"}))


def test_findings_that_need_an_engine_wait_for_it() -> None:
    loading = state(unit=UnitState("loaded", "activating", "start-post"))
    assert found_in(make_case(state=loading, processes=PROCESSES[:1], unread={"health": "connection refused"})) == []


def test_a_service_that_was_never_started_has_nothing_but_that() -> None:
    case = Case(
        "chat", "bare1", "2026-01-31T12:00:00Z", state=state(starts=(), unit=None, containers=None, current=None)
    )
    assert found_in(case) == [("start", "never_started", "info")]


def test_a_case_without_anything_is_a_report() -> None:
    case = Case("chat", "bare1", "now", unread={"state": "no", "docker": "Docker is not installed", "odd thing": "why"})
    report = judge.diagnose(case).to_dict()
    assert [section["id"] for section in report["sections"]] == SECTIONS
    assert {"source": "odd thing", "why": "why"} in report["sections"][0]["unread"]
    assert "not read: docker: Docker is not installed" in render_text(report)


def test_the_sections_come_in_the_order_in_which_one_debugs(case: Case) -> None:
    report = judge.diagnose(case).to_dict()
    assert [section["id"] for section in report["sections"]] == SECTIONS
    assert [section["title"][:2] for section in report["sections"][1:]] == ["1.", "2.", "3.", "4.", "5.", "6."]
    assert all(section["facts"] for section in report["sections"])
    assert json.loads(json.dumps(report)) == report


def test_a_section_that_cannot_be_judged_is_a_line_and_the_others_are_judged() -> None:
    case = make_case(gate={"kv_floor_tokens": "many"}, disks={"docker": "none"})
    report = judge.diagnose(case).to_dict()
    assert [section["id"] for section in report["sections"]] == SECTIONS
    broken = [section["id"] for section in report["sections"] if section["unread"]]
    assert broken == ["configuration", "machine"]
    assert "not supported between instances" in report["sections"][2]["unread"][0]["why"]


def test_a_report_stays_small_whatever_is_in_the_files() -> None:
    huge = {"seq": 1, "ending_reason": "x" * 5_000_000, "fault": True, "ended_at": "now"}
    startup = replace(STARTUP, non_default_args={f"k{number}": "v" * 1000 for number in range(5000)})
    servers = tuple(Process(pid, 1, "vllm", ("vllm", "serve", "y" * 100_000)) for pid in range(500))
    case = make_case(
        start=huge, state=DOWN, startup=startup, processes=servers, kernel_lines=("Xid " + "z" * 10**6,) * 40
    )
    report = judge.diagnose(case).to_dict()
    assert len(json.dumps(report)) < 1_000_000
    assert {"start_ended", "arguments_differ"} <= {finding["id"] for finding in report["findings"]}


def test_a_report_is_read_by_people() -> None:
    text = render_text(judge.diagnose(make_case(startup=FAILED, state=DOWN, start=ENDED)).to_dict())
    lines = text.splitlines()
    assert lines[0] == "chat on gpu7, 2026-01-31T12:00:00Z"
    assert lines[2] == "    What the start says"
    assert lines[3].startswith("    ERROR kv_cache_too_small [chat] ") and lines[3].endswith(
        "-> lower max-model-len to 512"
    )
    assert "      | ValueError: To serve at least one request, 4.00 GiB KV cache is needed" in lines
    assert "      see docs/runbooks/diagnoses/kv_cache_too_small.md" in lines
    assert '      ranks: ["server 11", "engine core 12", "worker 13", "worker 14"]  [/proc of the container]' in lines


def test_every_finding_has_a_row() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in DIAGNOSE.glob("*.py"))
    made = set(re.findall(r'Finding\(\s*(?:id=)?f?"([a-z_]+)"', texts))
    known = {finding for _changes, _section, finding, _severity in ROWS.values()}
    assert made - known == {"several_engines", "pipeline", "nccl_silent", "seed_random"}


@pytest.mark.parametrize(
    ("words", "role"),
    [
        (("VLLM::EngineCore_DP0",), "engine core"),
        (("VLLM::Worker_TP0_EP0",), "worker"),
        (("VLLM::DPCoordinator",), "coordinator"),
        (("VLLM::APIServer_1",), "server"),
        (("ray::RayWorkerWrapper",), "ray"),
        (("/usr/bin/python3", "/usr/local/bin/vllm", "serve", "/m"), "server"),
        (("python3", "-m", "vllm.entrypoints.openai.api_server"), "server"),
        (("/sbin/docker-init", "--", "/bin/sh", "/gpuhosts/entry"), "other"),
        (("python3", "-c", "from multiprocessing.spawn import spawn_main"), "other"),
        ((), "other"),
    ],
)
def test_processes_are_known_by_their_titles(words: tuple[str, ...], role: str) -> None:
    assert Process(1, 0, "x", words).role == role


def test_arguments_are_the_words_behind_serve(case: Case) -> None:
    assert case.args == tuple(ARGS)
    assert case.options["tensor-parallel-size"] == "2" and case.ranks == 2
