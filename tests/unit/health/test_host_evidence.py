# SPDX-License-Identifier: Apache-2.0
"""What a host says of a running service: read from its records, from systemd and from Docker."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import failing
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.answer import Answer
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.evidence import (
    Evidence,
    Expected,
    HostEvidence,
    Identity,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.verify import judge_verification
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.expected import (
    NotHere,
    api_key_of,
    expected_of,
    paths_of,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.proof import gather_host_evidence
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.start_log import read_start
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.record import (
    HostFacts,
    make_record,
    record_to_dict,
)

CONTAINER, IMAGE = "c" * 64, "sha256:" + "1" * 64
LOG = """\
GPU KV cache size: 4,096 tokens, Maximum concurrency for 1,024 tokens per request: 4.00x
ValueError: --api-key abc
"""


class Host:
    """Answers of systemctl and docker."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.invocation, self.containers, self.images, self.docker = "inv1", [CONTAINER], [IMAGE], True
        self.status = "running"

    def __call__(self, argv: Sequence[str], **_more: Any) -> Result:
        words = tuple(argv)
        if words[0] == "systemctl":
            text = f"LoadState=loaded\nActiveState=active\nInvocationID={self.invocation}\nMainPID=5\n"
            return Result(words, 0, text, "")
        if not self.docker:
            return Result(words, 1, "", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.")
        return self.answer(words)

    def answer(self, words: tuple[str, ...]) -> Result:
        if words[:4] == ("docker", "ps", "--filter", f"publish={self.port}"):
            return Result(words, 0, "vllm-chat\n", "")
        if words[1] == "ps":
            return Result(words, 0, "\n".join(f"{each} vllm-chat {self.status}" for each in self.containers), "")
        here = words[1:3] == ("image", "inspect") and words[-1] in self.images
        return Result(words, 0 if here else 1, words[-1] if here else "", "" if here else "Error: No such image: x")


@pytest.fixture
def port() -> Iterator[int]:
    """A port that this process listens on, as Docker's proxy would."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


@pytest.fixture
def paths(tmp_path: Path, port: int) -> Paths:
    """A service with two starts of one committed release, whose model is a folder."""
    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "model.safetensors"):
        (model / name).write_text("{}", encoding="utf-8")
    content = {
        "schema": 1, "image": "vllm/vllm-openai", "tag": "v0.32.0", "index_digest": "sha256:" + "0" * 64,
        "version": "0.32.0", "args": [str(model)], "env": {}, "mounts": [], "gpus": "all", "shm_size": "1g",
        "network": "bridge", "bind": "127.0.0.1", "port": port, "user": None, "ulimits": {}, "devices": [],
        "docker_args": [], "model": {"kind": "path", "name": str(model), "revision": None}, "after": [],
    }  # fmt: skip
    record = make_record("chat", content, HostFacts(IMAGE))
    paths = Paths("chat", str(tmp_path))
    folder = paths.release(record.id)
    folder.mkdir(parents=True)
    gate = {"url": f"http://127.0.0.1:{port}", "served_names": ["chat"], "version": "0.32.0", "kv_floor_tokens": None}
    for name, text in {
        "release.json": json.dumps(record_to_dict(record)),
        "gate.json": json.dumps(gate),
        "run": "x",
        "args": "x",
        "entry": "x",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    for link in (paths.current, paths.last_good):
        link.symlink_to(f"releases/{record.id}")
    start(paths, 1, record.id, ("inv0", "b" * 64), 4200)
    start(paths, 2, record.id, ("inv1", CONTAINER), 4096)
    return paths


def start(paths: Paths, seq: int, release: str, ids: tuple[str, str], tokens: int) -> None:
    invocation, container = ids
    folder = paths.start(seq)
    folder.mkdir(parents=True)
    state = {"seq": seq, "release": release, "invocation_id": invocation, "container_id": container, "ready": True}
    (folder / "state.json").write_text(json.dumps({**state, "ready_seconds": 1.5}), encoding="utf-8")
    startup = {"kv_cache_tokens": [tokens], "kv_cache_tokens_usable": tokens, "max_concurrency": [[1024, 4.0]]}
    (folder / "startup.json").write_text(json.dumps(startup), encoding="utf-8")
    (folder / "log").write_text(LOG, encoding="utf-8")


def broken(host: HostEvidence, expected: Expected) -> list[str]:
    answer = Answer(200, b"", 0.1)
    findings = judge_verification(expected, Evidence(answer, answer, answer, host=host))
    http = ("claim_right_model", "claim_right_build", "claim_generates")
    return [finding.id for finding in failing(findings) if finding.id not in http]


def test_a_healthy_service_holds_the_claims_of_its_host(paths: Paths, port: int) -> None:
    host = gather_host_evidence(paths, runner=Host(port))
    assert (host.recorded, host.observed) == (Identity("inv1", CONTAINER),) * 2
    assert (host.start_seq, host.start_seconds, host.reference_tokens) == (2, 1.5, 4200)
    assert (host.port_holder, host.container, host.containers) == ("vllm-chat", "vllm-chat", (CONTAINER,))
    assert host.way_back is not None and host.way_back.problems == ()
    assert broken(host, expected_of(paths)) == []


def test_an_engine_that_printed_a_secret_is_a_warning_that_names_it(paths: Paths, port: int) -> None:
    state = paths.start(2) / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "printed_secrets": ["VLLM_API_KEY"]}))
    answer, host = Answer(200, b"", 0.1), gather_host_evidence(paths, runner=Host(port))
    found = judge_verification(expected_of(paths), Evidence(answer, answer, answer, host=host))
    (printed,) = [finding for finding in found if finding.id == "secret_printed"]
    assert (printed.severity, "VLLM_API_KEY" in printed.message) == ("warning", True)
    assert broken(host, expected_of(paths)) == []


def test_the_promise_comes_from_the_record(paths: Paths, port: int) -> None:
    expected = expected_of(paths)
    assert (expected.url, expected.version) == (f"http://127.0.0.1:{port}", "0.32.0")
    assert (expected.served_names, expected.runner, expected.warmup) == (("chat",), "generate", 1)


@pytest.mark.parametrize(
    ("change", "claim"),
    [
        ({"invocation": "inv9"}, ["claim_fits", "claim_is_the_new_one"]),
        ({"containers": []}, ["claim_is_the_new_one"]),
        ({"status": "paused"}, ["claim_is_the_new_one"]),
        ({"containers": [CONTAINER, "d" * 64]}, ["claim_is_the_new_one"]),
        ({"images": []}, ["claim_way_back"]),
        ({"docker": False}, ["claim_is_the_new_one", "claim_way_back"]),
    ],
)
def test_what_differs_breaks_its_claim(paths: Paths, port: int, change: dict[str, Any], claim: list[str]) -> None:
    host = Host(port)
    for name, value in change.items():
        setattr(host, name, value)
    assert broken(gather_host_evidence(paths, runner=host), expected_of(paths)) == claim


def test_a_start_that_holds_much_less_than_an_earlier_one(paths: Paths, port: int) -> None:
    startup = {"kv_cache_tokens": [2048], "kv_cache_tokens_usable": 2048, "max_concurrency": [[1024, 2.0]]}
    (paths.start(2) / "startup.json").write_text(json.dumps(startup), encoding="utf-8")
    assert broken(gather_host_evidence(paths, runner=Host(port)), expected_of(paths)) == ["claim_fits"]


@pytest.mark.parametrize("missing", ["run", "args", "release.json"])
def test_a_last_good_release_with_a_hole_is_no_way_back(paths: Paths, port: int, missing: str) -> None:
    (paths.last_good.resolve() / missing).unlink()
    assert "claim_way_back" in broken(gather_host_evidence(paths, runner=Host(port)), expected_of(paths))


def test_a_model_that_is_gone_is_no_way_back(paths: Paths, port: int, tmp_path: Path) -> None:
    (tmp_path / "model" / "config.json").unlink()
    assert broken(gather_host_evidence(paths, runner=Host(port)), expected_of(paths)) == ["claim_way_back"]


def test_nothing_is_expected_of_a_service_that_is_not_here(tmp_path: Path) -> None:
    with pytest.raises(NotHere, match="run the deploy playbook"):
        expected_of(Paths("chat", str(tmp_path)))
    with pytest.raises(NotHere, match="expected lower case letters"):
        paths_of("../../etc")


def test_limits_that_are_no_json_are_told(paths: Paths) -> None:
    (paths.current.resolve() / "gate.json").write_text("{", encoding="utf-8")
    with pytest.raises(NotHere, match=r"gate\.json of rel-"):
        expected_of(paths)


def test_the_key_of_the_service_and_nothing_else(paths: Paths) -> None:
    assert api_key_of(paths) is None
    paths.secrets.parent.mkdir(parents=True)
    paths.secrets.write_text("HF_TOKEN=hf_1\nVLLM_API_KEY='sk one'\n", encoding="utf-8")
    assert api_key_of(paths) == "sk one"
    paths.secrets.write_text("VLLM_API_KEY='sk-open\n", encoding="utf-8")
    with pytest.raises(NotHere) as caught:
        api_key_of(paths)
    assert "sk-open" not in str(caught.value)


@pytest.mark.parametrize("which", ["latest", "2"])
def test_a_kept_log_is_read_whole_and_shown_from_its_end(paths: Paths, which: str) -> None:
    found = read_start(paths, which, 1)
    assert (found.known["seq"], found.log_lines, len(found.log)) == (2, 2, 1)
    assert found.report.kv_cache_tokens == (4096,)
    assert found.log == ("ValueError: --api-key ***",)


def test_a_compressed_log_reads_the_same(paths: Paths) -> None:
    log = paths.start(2) / "log"
    (paths.start(2) / "log.gz").write_bytes(gzip.compress(log.read_bytes()))
    plain = read_start(paths, "2", 10)
    log.unlink()
    assert read_start(paths, "2", 10) == plain and plain.log_lines == 2


def test_a_start_without_a_log_is_shown_without_one(paths: Paths) -> None:
    (paths.start(2) / "log").unlink()
    found = read_start(paths, "2", 10)
    assert (found.known["seq"], found.log, found.report.kv_cache_tokens) == (2, (), ())


@pytest.mark.parametrize("which", ["7", "first", "-1", ""])
def test_a_start_that_is_not_kept(paths: Paths, which: str) -> None:
    with pytest.raises(NotHere, match="kept are 1 to 2"):
        read_start(paths, which, 10)


def test_a_service_that_was_never_started(tmp_path: Path) -> None:
    with pytest.raises(NotHere, match="never started"):
        read_start(Paths("chat", str(tmp_path)), "latest", 10)
