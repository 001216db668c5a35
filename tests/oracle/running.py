# SPDX-License-Identifier: Apache-2.0
"""Whether what runs on a host is what is recorded: units, containers, processes, sockets, GPU memory."""

from __future__ import annotations

import json
from typing import Any

SERVICE, PROBE = "io.gpuhosts.vllm.service", "io.gpuhosts.vllm.probe"
ANY_ADDRESS = ("*", "0.0.0.0", "::")


def judge_host(seen: dict[str, Any], *, open_run: bool, docker_up: bool) -> list[str]:
    """Say what is wrong with the host as a whole."""
    found = [
        *_judge_docker(seen, docker_up=docker_up),
        *_judge_containers(seen, open_run=open_run),
        *_judge_holders(seen),
        *_judge_drivers(seen, open_run=open_run),
    ]
    found += [f"left-over file {path}" for path in seen["left_over"]]
    found += [f"everybody may write to {path}" for path in seen["for_everybody"]]
    found += [f"{path} is locked by a process, and nothing is under way" for path in seen["locked"] if not open_run]
    return found


def _judge_docker(seen: dict[str, Any], *, docker_up: bool) -> list[str]:
    unit = seen["units"].get("docker.service", {})
    if not seen["services"]:
        return []
    state = unit.get("ActiveState")
    if docker_up and state != "active":
        return [f"docker.service is {state}, and nobody said that it should be down"]
    if not docker_up and state != "inactive":
        return [f"docker.service is {state}, and it was said to be stopped"]
    if docker_up and seen["containers"] is None:
        return ["docker.service is active and Docker does not answer"]
    return []


def _judge_containers(seen: dict[str, Any], *, open_run: bool) -> list[str]:
    found = []
    for each in seen["containers"] or []:
        service, shown = each["labels"].get(SERVICE), f"container {each['name']} ({each['id'][:12]})"
        if PROBE in each["labels"] and not open_run:
            found.append(f"{shown} is a left-over probe of {each['labels'][PROBE]}")
        elif each["name"].startswith("vllm-") and each["name"] != f"vllm-{service}" and PROBE not in each["labels"]:
            found.append(f"{shown} has the name of a service and not its label ({SERVICE}={service})")
        elif service is not None and service not in seen["services"]:
            found.append(f"{shown} has the label of {service}, which has no folder in /var/lib/gpuhosts-vllm")
        if (service is not None or PROBE in each["labels"]) and each["status"] != "running" and not open_run:
            found.append(f"{shown} is {each['status']}")
    return found


def _judge_holders(seen: dict[str, Any]) -> list[str]:
    """Engine processes and GPU memory belong to running containers of services."""
    running = {each["id"]: each for each in _of_services(seen) if each["status"] == "running"}
    found = []
    for pid, process in seen["processes"].items():
        title = process["words"][0] if process["words"] else ""
        if title.startswith("VLLM::") and owner(int(pid), seen["processes"], running) is None:
            found.append(f"process {pid} ({title}) belongs to no running container of a service")
    for holder in seen["gpu"] or []:
        if not holder["pid"].isdigit() or owner(int(holder["pid"]), seen["processes"], running) is None:
            who = f"process {holder['pid']} ({holder['name']})"
            found.append(f"GPU memory is held by {who}, of no running container of a service")
    return found


def _judge_drivers(seen: dict[str, Any], *, open_run: bool) -> list[str]:
    if open_run:
        return []
    return [
        f"the driver {name} is still there ({unit['ActiveState']})"
        for name, unit in seen["units"].items()
        if name.startswith("gpuhosts-vllm-run-") and unit["LoadState"] != "not-found"
    ]


def judge_service(name: str, seen: dict[str, Any], *, open_run: bool) -> list[str]:
    """Say what is wrong with what runs, or does not run, of one service."""
    unit, service = seen["units"][f"vllm-{name}.service"], seen["services"][name]
    mine = [each for each in _of_services(seen) if each["labels"][SERVICE] == name]
    found = []
    if len(mine) > 1:
        shown = ", ".join(f"{each['name']} ({each['id'][:12]}, {each['status']})" for each in mine)
        found.append(f"has {len(mine)} containers: {shown}")
    found += _judge_run(name, service, seen["locked"], open_run=open_run)
    if service["run"] and open_run:
        return found
    state = unit["ActiveState"]
    if state == "active":
        found += _judge_active(service, unit, mine, seen)
    elif state in ("inactive", "failed"):
        found += _judge_down(name, state, mine, seen)
    else:
        found.append(f"its unit does not settle: {state} ({unit['SubState']})")
    if service["stopped"] and state != "inactive":
        found.append(f"is marked as stopped, and its unit is {state}")
    return found


def _judge_run(name: str, service: dict[str, Any], locked: list[str], *, open_run: bool) -> list[str]:
    run, lease = service["run"], f"/run/gpuhosts-vllm/{name}/lease"
    if not run:
        return []
    if not open_run:
        return [f"/run/gpuhosts-vllm/{name}/run says that {run} is open"]
    return [] if lease in locked else [f"{run} is open, and nobody holds {lease}"]


def _judge_active(
    service: dict[str, Any], unit: dict[str, str], mine: list[dict[str, Any]], seen: dict[str, Any]
) -> list[str]:
    running = [each for each in mine if each["status"] == "running"]
    if len(running) != 1:
        return [f"its unit is active with {len(running)} running containers"]
    container = running[0]
    newest = newest_start(service)
    recorded = {
        "the newest start's container_id": newest.get("container_id"),
        "/run/.../cid": service["cid"],
    }
    found = [
        f"container {container['id'][:12]} runs, {what} is {str(value)[:12]}"
        for what, value in recorded.items()
        if value != container["id"]
    ]
    if newest.get("invocation_id") != unit["InvocationID"]:
        found.append(
            f"its unit's InvocationID is {unit['InvocationID']}, the newest start has {newest.get('invocation_id')}"
        )
    return found + _judge_socket(service, container, seen)


def _judge_socket(service: dict[str, Any], container: dict[str, Any], seen: dict[str, Any]) -> list[str]:
    """The socket of the service's port belongs to its container, at the address that the release says."""
    release = service["releases"].get((service["current"] or "").rpartition("/")[2], {})
    port, bind = release.get("port"), release.get("bind")
    sockets = [each for each in seen["listeners"] if each["port"] == port]
    if not sockets:
        return [f"nothing listens on its port {port}"]
    found = []
    for each in sockets:
        if not all(_serves(pid, port, container, seen["processes"]) for pid in each["pids"]) or not each["pids"]:
            found.append(f"port {port} is listened on by {_shown(each['pids'], seen)}, not by its container")
        if bind not in (each["address"], *ANY_ADDRESS) and container["network"] != "host":
            found.append(f"port {port} is open at {each['address']}, its release says {bind}")
    return found


def _shown(pids: list[int], seen: dict[str, Any]) -> str:
    words = {pid: seen["processes"].get(str(pid), {}).get("words", ["?"]) for pid in pids}
    return ", ".join(f"process {pid} ({' '.join(each)[:60]})" for pid, each in words.items()) or "nobody known"


def _serves(pid: int, port: int, container: dict[str, Any], processes: dict[str, Any]) -> bool:
    """Whether a process is of the container, or is Docker's proxy that leads to it."""
    if owner(pid, processes, {container["id"]: container}) is not None:
        return True
    words = processes.get(str(pid), {}).get("words", [])
    if not words or words[0].rpartition("/")[2] != "docker-proxy":
        return False
    told = dict(zip(words[1::2], words[2::2]))
    return told.get("-container-ip") in container["addresses"] and told.get("-host-port") == str(port)


def _judge_down(name: str, state: str, mine: list[dict[str, Any]], seen: dict[str, Any]) -> list[str]:
    found = [
        f"its unit is {state}, and container {each['name']} ({each['id'][:12]}) is {each['status']}" for each in mine
    ]
    ports = {release["port"] for release in seen["services"][name]["releases"].values() if release["port"]}
    others = _ports_of_others(name, seen)
    for each in seen["listeners"]:
        if each["port"] in ports - others:
            found.append(
                f"its unit is {state}, and its port {each['port']} is listened on by {_shown(each['pids'], seen)}"
            )
    return found


def _ports_of_others(name: str, seen: dict[str, Any]) -> set[int]:
    """The ports on which other services of the host serve."""
    return {
        service["releases"].get((service["current"] or "").rpartition("/")[2], {}).get("port")
        for other, service in seen["services"].items()
        if other != name and seen["units"][f"vllm-{other}.service"]["ActiveState"] == "active"
    }


def newest_start(service: dict[str, Any]) -> dict[str, Any]:
    """What is recorded of the newest start."""
    numbers = sorted(int(number) for number in service["starts"] if number.isdigit())
    try:
        data = json.loads(service["starts"][str(numbers[-1])]["state"] or "{}") if numbers else {}
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def owner(pid: int, processes: dict[str, Any], containers: dict[str, Any]) -> str | None:
    """The container of a process: told by its control group, or by its ancestors."""
    first = {each["pid"]: each["id"] for each in containers.values()}
    for _step in range(64):
        process = processes.get(str(pid))
        if process is None:
            return None
        if pid in first:
            return str(first[pid])
        if process["group"] and process["group"][0] in containers:
            return str(process["group"][0])
        pid = process["parent"]
    return None


def _of_services(seen: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in seen["containers"] or [] if SERVICE in each["labels"]]
