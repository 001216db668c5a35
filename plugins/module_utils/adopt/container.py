# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Size of shared memory, limits, user, network, restart and the words of ``docker run`` that no key says.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..findings import ERROR, INFO, WARNING
from .mounts import tmpfs_words
from .notes import Notes, owned
from .seen import COMPOSE_PROJECT, Seen, maps, part, texts, whole

_GIB, _MIB = 1 << 30, 1 << 20
_DOCKERS_OWN = 64 * _MIB
_LEAST_SHM, _MOST_SHM = 64 * _MIB, 4096 * _GIB
_USER = re.compile(r"\d{1,10}(?::\d{1,10})?")
# Lists and texts of HostConfig, and the option of `docker run` that says the same.
_LISTS = {
    "CapAdd": "cap-add",
    "CapDrop": "cap-drop",
    "ExtraHosts": "add-host",
    "Dns": "dns",
    "DnsSearch": "dns-search",
    "GroupAdd": "group-add",
    "SecurityOpt": "security-opt",
}
_WORDS = {"CpusetCpus": "cpuset-cpus", "CpusetMems": "cpuset-mems", "PidMode": "pid", "UsernsMode": "userns"}
_NUMBERS = {"Memory": "memory", "MemorySwap": "memory-swap", "CpuShares": "cpu-shares", "PidsLimit": "pids-limit"}


def read_container(seen: Seen, notes: Notes) -> dict[str, Any]:
    """The keys of the definition that say how the container is run, those that differ from the defaults only."""
    keys = {
        "shm_size": _shm(seen, notes),
        "ulimits": _ulimits(seen),
        "devices": _devices(seen),
        "network": _network(seen, notes),
        "user": _user(seen, notes),
        "docker_args": [*_docker_args(seen, notes), *tmpfs_words(seen)],
    }
    _say_owned(seen, notes)
    return {key: value for key, value in keys.items() if value not in (None, {}, [])}


def _shm(seen: Seen, notes: Notes) -> str | None:
    if str(seen.host.get("IpcMode") or "") == "host":
        message = "ipc: host is not carried over: the container gets 16g of /dev/shm of its own"
        notes.say("ipc_host", INFO, message, "write shm_size: if it needs more", "shm_size")
        return None
    size = whole(seen.host.get("ShmSize"))
    if size in (0, _DOCKERS_OWN):
        return None
    return _size(min(max(size, _LEAST_SHM), _MOST_SHM))


def _size(size: int) -> str:
    for unit, letter in ((_GIB, "g"), (_MIB, "m"), (1024, "k")):
        if size % unit == 0:
            return f"{size // unit}{letter}"
    return f"{size}b"


def _ulimits(seen: Seen) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for limit in maps(seen.host.get("Ulimits")):
        soft, hard = whole(limit.get("Soft")), whole(limit.get("Hard"))
        found[str(limit.get("Name"))] = soft if soft == hard else f"{soft}:{hard}"
    return found


def _devices(seen: Seen) -> list[str]:
    found = []
    for device in maps(seen.host.get("Devices")):
        path, inside = str(device.get("PathOnHost") or ""), str(device.get("PathInContainer") or "")
        if path.startswith("/dev/") and not path.startswith(("/dev/nvidia", "/dev/dri")):
            found.append(path if inside in ("", path) else f"{path}:{inside}")
    return found


def _network(seen: Seen, notes: Notes) -> str | None:
    network = seen.network
    if network in ("bridge", "host"):
        return None if network == "bridge" else network
    if network == "none" or network.startswith("container:"):
        remedy = "a service has bridge, host, or a network of its own name"
        notes.say("network_refused", ERROR, f"the network {network[:20]} is not carried over", remedy, "network")
        return None
    project = seen.labels.get(COMPOSE_PROJECT)
    whose = f"of the compose project {project}, which must not be taken down" if project else "and has to stay"
    notes.say("network", WARNING, f"is in the network {network} {whose}; names in it change", about="network")
    return network


def _user(seen: Seen, notes: Notes) -> str | None:
    user = str(seen.config.get("User") or "")
    if user == str(seen.image_config.get("User") or "") or not user:
        return None
    if _USER.fullmatch(user):
        return user
    remedy = "write user: as uid:gid, in quotes; on the host: docker exec NAME id"
    notes.say("user_by_name", ERROR, f"runs as {user[:40]}, by name", remedy, "user")
    return None


def _docker_args(seen: Seen, notes: Notes) -> list[str]:
    host = seen.host
    found = [f"--{option}={value}" for key, option in _LISTS.items() for value in texts(host.get(key))]
    found += [f"--{option}={value}" for key, option in _WORDS.items() if (value := str(host.get(key) or ""))]
    found += [f"--{option}={number}" for key, option in _NUMBERS.items() if (number := whole(host.get(key))) > 0]
    cpus = whole(host.get("NanoCpus"))
    found += [f"--cpus={cpus / 1e9:g}"] if cpus else []
    found += ["--privileged"] if host.get("Privileged") is True else []
    found += ["--read-only"] if host.get("ReadonlyRootfs") is True else []
    folder = str(seen.config.get("WorkingDir") or "")
    found += [f"--workdir={folder}"] if folder not in ("", str(seen.image_config.get("WorkingDir") or "")) else []
    long = [word for word in found if len(word) > 200 or not word.isprintable()]  # noqa: PLR2004 - a profile, inlined
    for word in long:
        option = word.partition("=")[0]
        notes.say("docker_option", WARNING, f"{option} has a long value and is not carried over", about="docker_args")
    kept = [word for word in found if word not in long and word != "--security-opt=label=disable"]
    if kept:
        options = ", ".join(dict.fromkeys(word.partition("=")[0] for word in kept))
        notes.say("docker_args", INFO, f"{options} are carried over: leave out what nobody needs", about="docker_args")
    return kept


def _say_owned(seen: Seen, notes: Notes) -> None:
    policy = restart_policy(seen.host)
    if policy != "no":
        owned(notes, "restart", f"restart: {policy} is not carried over: systemd restarts the server, nobody else")
    if seen.host.get("AutoRemove") is True:
        owned(notes, "rm", "--rm is not carried over: the evidence of a dead server would be gone")
    if str(part(seen.host, "LogConfig").get("Type") or "json-file") != "json-file":
        owned(notes, "log-driver", "its log driver is not carried over: the collection reads Docker's own log")
    labels = sorted(set(seen.labels) - set(part(seen.image_config, "Labels")))
    labels = [label for label in labels if not label.startswith("com.docker.compose.")]
    if labels:
        message = f"the labels {', '.join(labels)[:200]} are not carried over"
        notes.say("labels", WARNING, message, "what a proxy reads goes into docker_args, --label=NAME=VALUE", "labels")


def restart_policy(host: Mapping[str, Any]) -> str:
    """Docker's restart policy as ``docker update --restart`` takes it."""
    policy = part(host, "RestartPolicy")
    name, count = str(policy.get("Name") or "no"), whole(policy.get("MaximumRetryCount"))
    return f"{name}:{count}" if name == "on-failure" and count else name
