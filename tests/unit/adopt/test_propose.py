"""What becomes of a server that somebody started by hand."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.adopt.propose import (
    Proposal,
    proposals_of,
    propose,
    runs_vllm,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.adopt.review import head, judged
from ansible_collections.gpuhosts.vllm.plugins.module_utils.adopt.seen import Seen, UnitSeen
from tests.unit.adopt.inspected import COMMIT, DIGEST, IMAGE, container, image, seen

DAY = "2026-02-01"
EVERYWHERE = {"8000/tcp": [{"HostIp": "0.0.0.0", "HostPort": "8080"}, {"HostIp": "::", "HostPort": "8080"}]}
KEY = "planted-key-of-clients-0815"
TOKEN = "hf_" + "plantedTokenOfTheHub4711"


def ids(proposal: Proposal, *severities: str) -> list[str]:
    """Give the findings by id."""
    return [each.id for each in proposal.findings if each.severity in (severities or ("error", "warning"))]


def bind(source: str, target: str, *, writable: bool = False) -> dict[str, object]:
    """Give a mount as inspect tells it."""
    return {"Type": "bind", "Source": source, "Destination": target, "RW": writable}


def test_a_docker_run_with_all_gpus_becomes_a_definition_that_is_valid() -> None:
    server = seen(
        *("--model", "Qwen/Qwen3-8B", "--tensor-parallel-size", "2", "--gpu-memory-utilization", "0.9"),
        *("--enable-prefix-caching", "--no-enable-chunked-prefill", "--served-model-name", "chat", "qwen"),
        DeviceRequests=[{"Driver": "", "Count": -1, "DeviceIDs": None, "Capabilities": [["gpu"]]}],
        ShmSize=16 << 30,
        Ulimits=[{"Name": "memlock", "Soft": -1, "Hard": -1}, {"Name": "nofile", "Soft": 1024, "Hard": 65535}],
        Mounts=[bind("/data/hf", "/root/.cache/huggingface", writable=True)],
        env=("VLLM_LOGGING_LEVEL=INFO",),
    )
    found = propose(server, "chat")
    assert found.definition == {
        "image": IMAGE,
        "model": "Qwen/Qwen3-8B",
        "revision": COMMIT,
        "port": 8000,
        "gpus": "all",
        "config": {
            "tensor-parallel-size": 2,
            "gpu-memory-utilization": 0.9,
            "enable-prefix-caching": True,
            "enable-chunked-prefill": False,
            "served-model-name": ["chat", "qwen"],
        },
        "env": {"VLLM_LOGGING_LEVEL": "INFO"},
        "shm_size": "16g",
        "ulimits": {"memlock": -1, "nofile": "1024:65535"},
    }
    assert ids(found) == ["revision_pinned"]
    assert ids(found, "info") == ["image_digest", "cache"]
    assert judged(found.to_dict(), DAY) == []


@pytest.mark.parametrize(
    ("host", "env", "gpus"),
    [
        ({"DeviceRequests": [{"Driver": "cdi", "Count": 0, "DeviceIDs": ["nvidia.com/gpu=all"]}]}, (), "all"),
        ({"DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=0", "nvidia.com/gpu=3"]}]}, (), [0, 3]),
        ({"DeviceRequests": [{"Driver": "nvidia", "Count": 2, "DeviceIDs": None}]}, (), 2),
        ({"DeviceRequests": [{"Driver": "nvidia", "Count": 0, "DeviceIDs": ["GPU-0a1b2c3d"]}]}, (), ["GPU-0a1b2c3d"]),
        ({"Runtime": "nvidia"}, ("NVIDIA_VISIBLE_DEVICES=1,2",), [1, 2]),
        ({"Runtime": "nvidia"}, ("NVIDIA_VISIBLE_DEVICES=void",), "none"),
        ({}, (), "none"),
    ],
)
def test_gpus_are_those_that_the_container_asked_for(
    host: dict[str, object], env: tuple[str, ...], gpus: object
) -> None:
    found = propose(seen(env=env, **host), "chat")
    assert found.definition["gpus"] == gpus
    assert "NVIDIA_VISIBLE_DEVICES" not in found.definition.get("env", {})


def test_a_compose_service_keeps_its_network_and_its_name() -> None:
    labels = {"com.docker.compose.project": "llm", "com.docker.compose.service": "Chat_API"}
    server = seen(
        name="llm-chat-1",
        config={"Labels": labels},
        NetworkMode="llm_default",
        DeviceRequests=[{"Driver": "nvidia", "Count": 1, "Capabilities": [["gpu"]]}],
        RestartPolicy={"Name": "always", "MaximumRetryCount": 0},
    )
    found = proposals_of([server], (), ("llm-chat-1",), ())[0]
    assert (found.name, found.definition["network"], found.definition["gpus"]) == ("chat-api", "llm_default", 1)
    assert (found.running["compose"], found.running["restart"]) == ("llm", "always")
    assert "network" in ids(found)


@pytest.mark.parametrize(
    ("words", "env", "secrets"),
    [
        (("--api-key", KEY), (), {"VLLM_API_KEY": "--api-key"}),
        ((f"--api-key={KEY}",), (), {"VLLM_API_KEY": "--api-key"}),
        ((), (f"VLLM_API_KEY={KEY}",), {"VLLM_API_KEY": "the variable VLLM_API_KEY"}),
        ((), (f"HUGGING_FACE_HUB_TOKEN={TOKEN}",), {"HF_TOKEN": "the variable HUGGING_FACE_HUB_TOKEN"}),
        ((), (f"HTTPS_PROXY=http://me:{KEY}@proxy:3128",), {"HTTPS_PROXY": "the variable HTTPS_PROXY"}),
        (
            ("--chat-template", f"{{# {KEY} #}}"),
            (f"VLLM_API_KEY={KEY}",),
            {"VLLM_API_KEY": "the variable VLLM_API_KEY"},
        ),
        (("--hf-overrides", json.dumps({"x": TOKEN})), (), {}),
        ((), (f"OTHER={KEY}", f"VLLM_API_KEY={KEY}"), {"VLLM_API_KEY": "the variable VLLM_API_KEY"}),
    ],
)
def test_a_secret_is_named_and_appears_nowhere(
    words: tuple[str, ...], env: tuple[str, ...], secrets: dict[str, str]
) -> None:
    server = seen("Qwen/Qwen3-8B", *words, env=env)
    planted = json.dumps(server.container)
    assert KEY in planted or TOKEN in planted
    found = propose(server, "chat")
    told = json.dumps(found.to_dict()) + "\n".join(head(found.to_dict(), "gpu1", DAY))
    assert KEY not in told and TOKEN not in told and "me:" not in told
    assert found.secrets == secrets
    assert judged(found.to_dict(), DAY) == []


def test_what_is_published_everywhere_stays_so_only_with_a_key() -> None:
    bare = propose(seen(Ports=EVERYWHERE), "chat")
    assert (bare.definition["port"], "bind" in bare.definition) == (8080, False)
    with_key = propose(seen(Ports=EVERYWHERE, env=(f"VLLM_API_KEY={KEY}",)), "chat")
    assert (with_key.definition["port"], with_key.definition["bind"]) == (8080, "0.0.0.0")
    assert "published" in ids(bare) and "published" in ids(with_key)


def test_a_server_in_the_network_of_its_host_is_where_its_words_say() -> None:
    found = propose(
        seen("Qwen/Qwen3-8B", "--host", "127.0.0.1", "--port", "9000", NetworkMode="host", Ports={}), "chat"
    )
    assert (found.definition["network"], found.definition["port"], "bind" in found.definition) == ("host", 9000, False)
    assert found.definition.get("config") is None


def test_the_latest_image_becomes_the_release_that_its_server_says() -> None:
    latest = image(RepoTags=["vllm/vllm-openai:latest"])
    found = propose(seen(of=latest, config={"Image": "vllm/vllm-openai"}), "chat")
    assert found.definition["image"] == "vllm/vllm-openai:v0.32.0"
    assert "image_moving" in ids(found, "warning")
    assert DIGEST in next(each.message for each in found.findings if each.id == "image_digest")
    silent = propose(seen(of=latest, config={"Image": "vllm/vllm-openai:latest"}, told={"api_version": None}), "chat")
    assert "image" not in silent.definition and "image_moving" in ids(silent, "error")
    assert judged(silent.to_dict(), DAY) != []


def test_an_image_that_no_registry_has_is_an_error() -> None:
    local = image(RepoTags=["my/vllm:7"], RepoDigests=[])
    found = propose(seen(of=local, config={"Image": "my/vllm:7"}), "chat")
    assert (found.definition["image"], found.definition["version"]) == ("my/vllm:7", "0.32.0")
    assert ids(found, "error") == ["image_local"]


def test_a_model_on_a_mount_is_its_path_on_the_host_and_keeps_its_name() -> None:
    mounts = [bind("/data/models", "/models"), bind("/srv/templates", "/templates")]
    server = seen("/models/llama", "--chat-template", "/templates/a.jinja", Mounts=mounts)
    found = propose(server, "chat")
    assert (found.definition["model"], "revision" in found.definition) == ("/data/models/llama", False)
    assert found.definition["config"]["served-model-name"] == ["/models/llama"]
    assert found.definition["mounts"] == [{"source": "/srv/templates", "target": "/templates", "read_only": True}]
    used = propose(seen("/models/llama", "--chat-template", "/models/a.jinja", Mounts=mounts[:1]), "chat")
    assert used.definition["mounts"] == [{"source": "/data/models", "target": "/models", "read_only": True}]
    assert ids(propose(seen("/opt/model"), "chat"), "error") == ["model_in_image"]


def test_a_commit_that_nobody_knows_is_asked_for() -> None:
    assert "revision_unknown" in ids(propose(seen(told={"commit": None}), "chat"), "error")
    told = propose(seen("Qwen/Qwen3-8B", "--revision", "0" * 40, told={"commit": None}), "chat")
    assert told.definition["revision"] == "0" * 40 and ids(told) == []


def test_what_has_no_key_is_said() -> None:
    server = seen(
        IpcMode="host",
        CapAdd=["SYS_NICE"],
        Memory=1 << 30,
        RestartPolicy={"Name": "unless-stopped"},
        AutoRemove=False,
        config={"User": "vllm", "Labels": {"traefik.enable": "true"}, "Entrypoint": ["bash", "-c"], "Cmd": [
            "export VLLM_LOGGING_LEVEL=DEBUG; vllm serve Qwen/Qwen3-8B --max-model-len 4096"
        ]},
    )  # fmt: skip
    found = propose(server, "chat")
    assert "shm_size" not in found.definition
    assert found.definition["docker_args"] == ["--cap-add=SYS_NICE", f"--memory={1 << 30}"]
    assert found.definition["config"] == {"max-model-len": 4096}
    assert found.definition["env"] == {"VLLM_LOGGING_LEVEL": "DEBUG"}
    assert {"user_by_name", "shell", "labels", "ipc_host", "owned", "docker_args"} <= {
        each.id for each in found.findings
    }


def test_the_file_of_config_is_taken_apart() -> None:
    words = ("Qwen/Qwen3-8B", "--config", "/etc/vllm.yaml", "--max-model-len", "4096")
    found = propose(seen(*words, told={"config_file": {"max-num-seqs": 8, "port": 8000}}), "chat")
    assert found.definition["config"] == {"max-num-seqs": 8, "max-model-len": 4096}
    assert "config_file" in ids(propose(seen(*words), "chat"), "error")


def test_several_servers_of_one_host_have_names_that_are_in_nobodys_way() -> None:
    servers = [seen(name="chat"), seen(name="Chat"), seen(name="vllm-embed")]
    units = ("vllm-chat.service",)
    found = proposals_of(servers, ("old",), ("chat", "Chat", "vllm-embed"), units)
    assert [each.name for each in found] == ["chat-2", "chat-3", "vllm-embed"]


def test_a_unit_that_starts_more_than_the_server_is_an_error() -> None:
    shared = seen(told={"unit": UnitSeen("llm.service", enabled=True, others=("gateway",))})
    assert "unit_shared" in ids(propose(shared, "chat"), "error")
    assert propose(shared, "chat").running["shared_with"] == ["gateway"]


def test_only_servers_that_are_not_ours_are_found() -> None:
    ours = container("Qwen/Qwen3-8B", config={"Labels": {"io.gpuhosts.vllm.service": "chat"}})
    other = container("nginx", config={"Image": "nginx:1", "Entrypoint": ["/docker-entrypoint.sh"]})
    assert runs_vllm(seen())
    assert not runs_vllm(Seen(ours, image()))
    assert not runs_vllm(Seen(other, {"Config": {"Entrypoint": ["/docker-entrypoint.sh"]}}))
