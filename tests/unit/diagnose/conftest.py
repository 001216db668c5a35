# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A service as it is read of a host where all is well; tests change one thing at a time."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.diagnose.case import Case, Model, Process, Shm
from ansible_collections.gpuhosts.vllm.plugins.module_utils.gpu.query import Gpu
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.facts import Engine, GpuHost, Listener, Published
from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.report import MetricsReport
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.service_state import (
    ContainerSeen,
    ServiceState,
    StartState,
    UnitState,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import StartupReport

ID = "c0" * 32
ARGS = [
    "/srv/models/m",
    "--max-model-len",
    "1024",
    "--port",
    "8000",
    "--served-model-name",
    "chat",
    "--tensor-parallel-size",
    "2",
]
GIB = 1 << 30


def content(**changes: Any) -> dict[str, Any]:
    """Give the content of the release."""
    return {
        "image": "vllm/vllm-openai",
        "tag": "v0.32.0",
        "index_digest": "sha256:" + "cd" * 32,
        "version": "0.32.0",
        "args": ARGS,
        "env": {},
        "gpus": [0, 1],
        "network": "bridge",
        "port": 8000,
        "mounts": [],
        "model": {"kind": "path", "name": "/srv/models/m", "revision": None},
        **changes,
    }


def record(**changes: Any) -> dict[str, Any]:
    """Give the record of the release."""
    return {"id": "rel-0a1b2c3d4e5f", "content": content(**changes), "host": {"image_id": "sha256:" + "ab" * 32}}


def with_args(*more: str) -> dict[str, Any]:
    """Give the fields of a case whose service and server have more arguments."""
    words = [*ARGS, *more]
    server = Process(11, 10, "vllm", ("/usr/bin/python3", "/usr/local/bin/vllm", "serve", *words), "unlimited")
    return {"record": record(args=words), "processes": (server, *PROCESSES[1:])}


PROCESSES = (
    Process(11, 10, "vllm", ("/usr/bin/python3", "/usr/local/bin/vllm", "serve", *ARGS), "unlimited", 1000),
    Process(12, 11, "VLLM::EngineCor", ("VLLM::EngineCore",), "unlimited", 2000),
    Process(13, 12, "VLLM::Worker_TP", ("VLLM::Worker_TP0",), "unlimited", 3000),
    Process(14, 12, "VLLM::Worker_TP", ("VLLM::Worker_TP1",), "unlimited", 3000),
)
STARTUP = StartupReport(
    vllm_version="0.32.0",
    engine="V1",
    model="/srv/models/m",
    state="ready",
    diagnosis="none",
    startup_complete=True,
    kv_cache_tokens=(65536,),
    kv_cache_tokens_usable=65536,
    max_concurrency=((1024, 64.0),),
    non_default_args={"model": "/srv/models/m", "max_model_len": 1024, "tensor_parallel_size": 2},
)


def state(**changes: Any) -> ServiceState:
    """Give what the host knows of the service."""
    fields: dict[str, Any] = {
        "name": "chat",
        "unit": UnitState("loaded", "active", "running", "success", "f" * 32, 10),
        "current": "rel-0a1b2c3d4e5f",
        "last_good": "rel-0a1b2c3d4e5f",
        "starts": (StartState(1),),
        "containers": (ID,),
        "container_states": (ContainerSeen(ID, "vllm-chat", "running"),),
        "installed": True,
    }
    return ServiceState(**{**fields, **changes})


def make_case(**changes: Any) -> Case:
    """Give the case with some fields changed."""
    fields: dict[str, Any] = {
        "service": "chat",
        "host": "gpu7",
        "at": "2026-01-31T12:00:00Z",
        "state": state(),
        "record": record(),
        "gate": {"url": "http://127.0.0.1:8000", "kv_floor_tokens": 60000, "runner": "generate"},
        "start": {"seq": 1, "ready": True, "reason": "ready after 20.0 s"},
        "startup": STARTUP,
        "container": {
            "Id": ID,
            "Image": "sha256:" + "ab" * 32,
            "State": {"Running": True},
            "NetworkSettings": {"Networks": {"bridge": {"IPAddress": "172.17.0.2"}}},
        },
        "processes": PROCESSES,
        "packages": {"vllm": ["0.32.0+cu129"], "torch": ["2.9.1"], "nvidia-nccl-cu12": ["2.27.5"]},
        "health": {
            "health": 200,
            "version": "0.32.0",
            "models": ["chat"],
            "metrics": {"running": 0, "waiting": 0, "kv_cache_usage": 0.0},
        },
        "metrics": MetricsReport(prefix="vllm:", kv_cache_size_tokens=65536, kv_cache_max_concurrency=64.0),
        "models": [{"id": "chat", "max_model_len": 1024}],
        "listeners": (Listener("127.0.0.1", 8000, 9, "docker-proxy"),),
        "engine": Engine(True, True, published=(Published("127.0.0.1", 8000, "vllm-chat", "chat"),)),
        "interfaces": ("lo", "eth0"),
        "addresses": ("127.0.0.1", "10.0.0.5"),
        "gpus": GpuHost(
            True, True, gpus=(Gpu(0, "GPU-a", "H100", 81559, "580.1"), Gpu(1, "GPU-b", "H100", 81559, "580.1"))
        ),
        "shm": Shm(16 * GIB, 1 * GIB),
        "memory": (64 * GIB, 32 * GIB),
        "disks": {"docker": (100 * GIB, 50 * GIB)},
        "model": Model("/srv/models/m", {}, chat_template=True, tokenizer=True),
    }
    return Case(**{**fields, **changes})


@pytest.fixture
def case() -> Case:
    """A service that is well."""
    return make_case()
