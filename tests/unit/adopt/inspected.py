"""What ``docker inspect`` says of a container and its image, for the tests: only what differs is told."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpuhosts.vllm.plugins.module_utils.adopt.seen import Seen

IMAGE = "vllm/vllm-openai:v0.32.0"
DIGEST = "sha256:" + "d1" * 32
COMMIT = "9c925d64d72725edaf899c6cb9c377fd0709d9c5"
ENTRYPOINT = ["vllm", "serve"]


def image(**changes: Any) -> dict[str, Any]:
    """Give an image as ``docker image inspect`` tells it."""
    return {
        "Id": "sha256:" + "a0" * 32,
        "RepoTags": [IMAGE],
        "RepoDigests": [f"vllm/vllm-openai@{DIGEST}"],
        "Config": {"Env": ["PATH=/usr/bin", "VLLM_USAGE_SOURCE=production-docker-image"], "Entrypoint": ENTRYPOINT},
        **changes,
    }


def container(
    *words: str, name: str = "chat", env: tuple[str, ...] = (), config: dict[str, Any] | None = None, **host: Any
) -> dict[str, Any]:
    """Give a container as ``docker container inspect`` tells it; ``host`` are parts of HostConfig."""
    ports = host.pop("Ports", {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8000"}]})
    mounts = host.pop("Mounts", [])
    return {
        "Id": (name.encode().hex() + "0" * 64)[:64],
        "Name": f"/{name}",
        "Image": "sha256:" + "a0" * 32,
        "State": {"Status": "running", "Pid": 4711, "StartedAt": "2026-01-31T11:00:00.5Z"},
        "Config": {
            "Image": IMAGE,
            "Entrypoint": ENTRYPOINT,
            "Cmd": list(words),
            "Env": ["PATH=/usr/bin", "VLLM_USAGE_SOURCE=production-docker-image", *env],
            "Labels": {},
            "User": "",
            **(config or {}),
        },
        "HostConfig": {
            "NetworkMode": "default",
            "IpcMode": "private",
            "ShmSize": 67108864,
            "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
            "DeviceRequests": None,
            **host,
        },
        "NetworkSettings": {"Ports": ports},
        "Mounts": mounts,
    }


def seen(*words: str, told: dict[str, Any] | None = None, of: dict[str, Any] | None = None, **parts: Any) -> Seen:
    """Give a server that says its release and whose cache knows its commit; ``told`` changes what was asked besides."""
    besides = {"api_version": "0.32.0", "commit": COMMIT, **(told or {})}
    return Seen(container(*(words or ("Qwen/Qwen3-8B",)), **parts), of or image(), **besides)
