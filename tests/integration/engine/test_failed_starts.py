"""The real engine, 0.31.0 and 0.32.0: what a start says is read whole, and what ended one is diagnosed.

Every failure that the CPU build can really make is made, in a container as Docker runs it; some of them also as a
service, where the play and the host's tool have to say what it was.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.finding import startup_finding
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.remedies import remedy as remedy_of
from tests.integration.failing import (
    ENGINE_KILLED,
    HUB,
    LOADING,
    READY,
    ROOM,
    SAYS,
    TAKEN_PORT,
    TELLS,
    VERSIONS,
    Case,
    Engines,
)
from tests.integration.harness import MODEL, Inventory
from tests.integration.lab_host import LabHost

HOST = "gpu2"
BAD_MODEL = "/srv/models/half"
LIMIT = 3600.0  # for all that a test may have to wait for, on a busy machine

NEWEST = VERSIONS[:1]
KILLED = "killed"  # the server itself, which leaves no word in a log
# A load goes on as if nobody had asked it to stop.
ASKED = f"docker kill --signal TERM {{name}}; {TELLS} '{READY}' {SAYS}; docker kill {{name}}"
HEALTHY = {
    "plain": Case(at=LOADING, do=ASKED),
    "json": Case(at=READY, words=("--config", f"{ROOM}/json.yml")),
}
# 0.31.0 refuses logging-config.formatter.
WELL = [(NEWEST[0], "plain"), (NEWEST[0], "json"), (VERSIONS[1], "plain")]
# Without its version: figures of the tiny model, with 1 GiB of KV cache in float32.
READ = {
    "engine": "V1",
    "model": MODEL,
    "state": "ready",
    "diagnosis": "none",
    "startup_complete": True,
    "kv_cache_tokens": [1048576],
    "kv_cache_tokens_usable": 1048576,
    "max_concurrency": [[512, 2048.0]],
    "evidence": [],
    "first_error_line": None,
    "remedy": None,
    "truncated": False,
}
ARGUMENTS = {
    "model_tag": MODEL,
    "model": MODEL,
    "dtype": "float32",
    "max_model_len": 512,
    "enforce_eager": True,
    "served_model_name": ["chat"],
}
# What a line with a figure of a start begins with, and where that figure has to be found.
FIGURES = {
    "weights_load_seconds": "Loading weights took ",
    "model_load_seconds": "Model loading took ",
    "kv_cache_available_gib": "Available KV cache memory: ",
    "kv_cache_tokens": "KV cache size: ",
    "max_concurrency": "Maximum concurrency for ",
    "compile_seconds": "torch.compile took ",
    "graph_capture": "Graph capturing finished in ",
    "engine_init_seconds": "init engine (profile, create kv cache, warmup model) took ",
}


@dataclass(frozen=True)
class Failure:
    """How a start is made to fail, and what has to be said of it."""

    case: Case
    slug: str
    evidence: str
    remedy: str
    exit_code: int = 1
    versions: tuple[str, ...] = VERSIONS
    state: str = "failed"


FAILURES = {
    "path": Failure(
        Case(model="/srv/models/none"),
        "model_not_found",
        "'/srv/models/none'",
        "correct model and revision of the service; a path has to be on the host and mounted",
    ),
    "port": Failure(
        Case(port=TAKEN_PORT),
        "port_in_use",
        "OSError: [Errno 98] Address already in use",
        "stop what listens on port 8299 (ss -ltnp sport = :8299), or choose another port",
    ),
    "flag": Failure(
        Case(words=("--no-such-flag", "3")),
        "unrecognized_arguments",
        "error: unrecognized arguments: --no-such-flag 3",
        "take --no-such-flag 3 out of config, or correct its name or value",
        exit_code=2,
    ),
    "value": Failure(
        Case(words=("--kv-cache-dtype", "no-such-type")),
        "unrecognized_arguments",
        "error: argument --kv-cache-dtype: invalid choice: 'no-such-type'",
        "take --kv-cache-dtype out of config, or correct its name or value",
        exit_code=2,
        versions=NEWEST,
    ),
    "formatter": Failure(
        Case(words=("--config", f"{ROOM}/json.yml")),
        "unrecognized_arguments",
        "error: argument --logging-config: 1 validation error for LoggingConfig",
        "take --logging-config out of config, or correct its name or value",
        exit_code=2,
        versions=VERSIONS[1:],
    ),
    "length": Failure(
        Case(words=("--max-model-len", "100000")),
        "max_model_len_exceeds_model",
        "User-specified max_model_len (100000) is greater than the derived max_model_len",
        "lower max-model-len from 100000 to 4096 at most",
    ),
    "split": Failure(
        Case(words=("--tensor-parallel-size", "3")),
        "tp_size_invalid",
        "Total number of attention heads (2) must be divisible by tensor parallel size (3)",
        "set tensor-parallel-size to a divisor of 2 (1, 2), not 3",
    ),
    "memory": Failure(
        Case(words=("--num-gpu-blocks-override", "2")),
        "kv_cache_too_small",
        "ValueError: To serve at least one request with the model's max seq len (512), ",
        "lower max-model-len from 512 to 128 at most (gpu-memory-utilization, more GPUs)",
    ),
    "header": Failure(
        Case(model=f"{ROOM}/headless"),
        "weights_corrupt",
        "struct.error: unpack requires a buffer of 8 bytes",
        "remove the file from the cache and load the model again; compare sizes with the hub",
    ),
    "tokenizer": Failure(
        Case(model=f"{ROOM}/bad-tokenizer"),
        "tokenizer_error",
        "json.decoder.JSONDecodeError: ",
        "set tokenizer to a working one, or use a release whose transformers knows this tokenizer",
        versions=NEWEST,
    ),
    "own-code": Failure(
        Case(model=f"{ROOM}/own-code"),
        "trust_remote_code_required",
        "Please pass the argument `trust_remote_code=True`",
        "read the model's code, then set trust-remote-code: true, or use a model without code",
        versions=NEWEST,
    ),
    "gated": Failure(
        Case(model="lab/gated-llama", env=HUB),
        "gated_model_auth",
        "GatedRepoError: 401 Client Error",
        "give the service an HF_TOKEN that has access in vllm_secrets, and accept the model's terms",
        versions=NEWEST,
    ),
    "disk": Failure(
        Case(model="lab/tiny-llama", env=HUB, run=("--tmpfs", "/hub:size=200k")),
        "disk_full_or_quota",
        "No space left on device",
        "free space on the disk that the line names (caches are in /var/cache/gpuhosts-vllm)",
    ),
    "segfault": Failure(
        Case(at=LOADING, do=ENGINE_KILLED.replace("-KILL", "-SEGV")),
        "worker_segfault",
        "!!!!!!! Segfault encountered !!!!!!!",
        "look for the library in the native stack; start once without optional features (LoRA, offload, all-reduce)",
        versions=NEWEST,
    ),
    "shm": Failure(
        Case(
            words=("--tensor-parallel-size", "2"),
            env={"VLLM_CPU_OMP_THREADS_BIND": "nobind"},
            run=("--shm-size", "64k"),
        ),
        "shm_too_small",
        "RuntimeError: Insufficient space in /dev/shm for shared-memory allocation: 160 MiB required, 0 MiB free.",
        "raise shm_size of the service: 160 MiB are needed, 0 MiB are free",
        versions=NEWEST,
    ),
    "engine-killed": Failure(
        Case(at=LOADING, do=ENGINE_KILLED),
        "root_cause_not_in_log",
        "RuntimeError: Engine core initialization failed.",
        "read the whole log of the start: vllm-host startup-log SERVICE --log; a process that was killed leaves no"
        " word in it: journalctl -k names it",
    ),
}

# Two of them as services: what differs from a healthy definition, the slug, the evidence, the remedy.
LONG = 8388608
SERVICES = {
    "memory": (
        {"config": {"max-model-len": LONG, "logging-config": {"formatter": "json"}}},
        "kv_cache_too_small",
        "KV cache is needed, which is larger than the available KV cache memory",
        f"lower max-model-len from {LONG} to ",
    ),
    "weights": (
        {"model": BAD_MODEL, "config": {}},
        "weights_corrupt",
        "SafetensorError",
        "remove the file from the cache and load the model again; compare sizes with the hub",
    ),
}


@dataclass(frozen=True)
class Lanes:
    """What was begun, by version and name."""

    engines: Engines
    starts: dict[tuple[str, str], Future]

    def ended(self, version, name):
        """Wait for a start, within a limit."""
        return self.starts[version, name].result(LIMIT)


def planned():
    """Give the version, the name and the case of every start."""
    for version in VERSIONS:
        yield from ((version, name, HEALTHY[name]) for each, name in WELL if each == version)
        yield from ((version, name, each.case) for name, each in FAILURES.items() if version in each.versions)
    yield NEWEST[0], KILLED, Case(at=LOADING, do="docker kill {name}")


@pytest.fixture(scope="module")
def lanes():
    """Make all starts, two at a time; at the end nothing of them is left on the host, whatever happened."""
    host = LabHost(HOST)
    host.reset()
    settings = json.loads(host.run("cat /etc/docker/daemon.json"))
    mirror = {**settings, "registry-mirrors": ["http://10.212.0.2:5000"]}
    host.run(f"cat > /etc/docker/daemon.json <<'E'\n{json.dumps(mirror)}\nE\nsystemctl reload docker")
    made, pool = Lanes(Engines.prepare(host), {}), ThreadPoolExecutor(2)
    try:
        for place, (version, name, case) in enumerate(planned()):
            made.starts[version, name] = pool.submit(made.engines.start, version, name, case, 8300 + place)
        yield made
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        made.engines.remove()
        pool.shutdown()
        made.engines.remove()
        host.reset()


def figures(log, words):
    """Give the first figure behind these words wherever they stand in a log."""
    return [float(number.replace(",", "")) for number in re.findall(re.escape(words) + r"(-?[\d.,]*\d)", log)]


@pytest.mark.parametrize(("version", "name"), WELL)
def test_a_healthy_start_is_read_whole(lanes, version, name):
    ended = lanes.ended(version, name)
    read = ended.report.to_dict()
    assert {key: read[key] for key in READ} == READ
    assert read["vllm_version"].partition("+")[0] == version[1:]
    assert ARGUMENTS.items() <= read["non_default_args"].items()
    for key, words in FIGURES.items():
        found = [each[0] if isinstance(each, list) else each for each in read[key]]
        assert found == list(dict.fromkeys(figures(ended.log, words))), key
    assert read["weights_load_seconds"] and read["engine_init_seconds"]
    assert name != "json" or f'"message": "{READY}."' in ended.log


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for name, each in FAILURES.items() for version in each.versions]
)
def test_what_ended_a_start_is_diagnosed(lanes, version, name):
    ended, wanted = lanes.ended(version, name), FAILURES[name]
    report = ended.report
    if "{'EngineCore': -9}" in ended.log:  # whether the server still learns how its engine ended is a matter of time
        wanted = replace(wanted, slug="killed_sigkill", remedy=remedy_of("killed_sigkill", {}))
    assert (report.state, report.diagnosis) == (wanted.state, wanted.slug), ended.log[-3000:]
    assert any(wanted.evidence in line for line in report.evidence), report.evidence
    assert all(line in ended.log for line in report.evidence)
    assert report.remedy == wanted.remedy
    assert ended.exit_code == wanted.exit_code
    assert report.vllm_version in (version[1:], None if wanted.exit_code == 2 else version[1:])
    finding = startup_finding(report, "chat")
    assert (finding.id, finding.remedy) == (wanted.slug, wanted.remedy)
    assert finding.source == f"docs/runbooks/diagnoses/{wanted.slug}.md"


def test_a_log_without_a_word_of_its_end_is_not_judged(lanes):
    """Docker knows it: the exit code says what the log cannot."""
    ended = lanes.ended(NEWEST[0], KILLED)
    report = ended.report
    assert (report.state, report.diagnosis, report.evidence, report.truncated) == ("starting", "none", (), True)
    assert (report.vllm_version, report.model, ended.exit_code) == (NEWEST[0][1:], MODEL, 137)


def test_a_service_that_fails_says_what_it_was_in_the_play_and_on_the_host(tmp_path, lab, lanes):
    for version, name in lanes.starts:
        lanes.ended(version, name)  # they have left the cores and the memory
    host = lab[HOST]
    host.run(f"cp -r {MODEL} {BAD_MODEL}; truncate --size 100000 {BAD_MODEL}/model.safetensors")
    base = {"served-model-name": ["chat"], "max-model-len": 512, "dtype": "float32", "enforce-eager": True}
    services = {
        name: {
            "image": "vllm/vllm-openai:v0.32.0",
            "model": MODEL,
            "port": 8011 + place,
            "gpus": "none",
            "shm_size": "1g",
            "env": {"VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1", "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"},
            "gate": {"soak": "0s", "silence": "10m", "deadline": "15m"},
            **changes,
            "config": {**base, **changes["config"]},
        }
        for place, (name, (changes, *_wanted)) in enumerate(SERVICES.items())
    }
    inventory = Inventory.make(tmp_path, services, hosts=(HOST,))
    locked = inventory.play("lock")
    assert locked.rc == 0, locked.text
    played = inventory.play("deploy", timeout=900)
    assert played.rc != 0
    for name, (_changes, slug, evidence, remedy) in SERVICES.items():
        shown = json.loads(host.run(f"vllm-host show {name} start"))
        assert (shown["diagnosis"]["id"], shown["startup"]["state"]) == (slug, "failed")
        assert evidence in str(shown["startup"]["evidence"]) and shown["startup"]["remedy"].startswith(remedy), shown
        error = played.text.split(f"first start of {name} (", 1)[1].split(f"Look at: vllm-host status {name}", 1)[0]
        for said in (f"({slug})", evidence, f"remedy: {remedy}", f"runbook: docs/runbooks/diagnoses/{slug}.md"):
            assert said in error, error


def test_how_long_they_took_is_told(lanes, capsys):
    """Not a judgement."""
    rows = []
    for version, name in lanes.starts:
        ended = lanes.ended(version, name)
        rows.append(
            f"{version:8} {name:14} {ended.report.diagnosis:28} exit {ended.exit_code!s:5} {ended.seconds:4.0f} s"
        )
    with capsys.disabled():
        print("\n" + "\n".join(rows))
    assert rows
