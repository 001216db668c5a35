# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Who reaches what: ports that lead nowhere, services without a lock, traffic between nodes on public addresses.

Private to the collection.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from ...config.command_line import CommandLine
from ...findings import ERROR, WARNING
from ...versions import Version
from ..case import Case
from ..subject import Container, Publish
from .saying import Said, case_rule, line_rule
from .values import is_official

_GRPC = "vllm/entrypoints/grpc_server.py 0.18.0, 0.28.0; vllm/entrypoints/launchers/grpc_server.py 0.33.0"
_OWN_NETWORK = ("host", "none", "container:", "service:")


def is_loopback(address: str) -> bool:
    """Whether only the machine itself reaches an address."""
    return address in {"localhost", "::1", "[::1]"} or address.startswith("127.")


def _is_public(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.strip("[]")).is_global
    except ValueError:
        return False


def _answers_http(line: CommandLine) -> bool:
    return not line.has("--headless") and not line.has("--uds")


def _bridge(case: Case) -> Container | None:
    """The container, where it has a network of its own and publishes ports that are written as numbers."""
    container = case.subject.container
    if container is None or not container.publishes or (container.network or "").startswith(_OWN_NETWORK):
        return None
    return container if all(port.container_port.isdigit() for port in container.publishes) else None


@line_rule("published_port_is_not_served", WARNING, "vllm/entrypoints/openai/cli_args.py (--port) 0.9.2 to 0.33.0")
def _port(case: Case, line: CommandLine) -> Iterator[Said]:
    container = _bridge(case)
    port = line.integer("--port") if line.has("--port") else 8000
    if container is None or port is None or not _answers_http(line) or line.has("--data-parallel-supervisor-port"):
        return
    inside = [publish.container_port for publish in container.publishes]
    if str(port) not in inside:
        yield Said(
            "--port",
            f"the server listens on {port} in the container, and the published ports lead to {', '.join(inside)}: "
            "nobody reaches it from outside",
            f"publish the port {port} of the container, or set --port {inside[0]}",
            expected=str(port),
            observed=inside,
        )


@line_rule("loopback_inside_container", WARNING, "vllm/entrypoints/openai/cli_args.py (--host) 0.9.2 to 0.33.0")
def _loopback(case: Case, line: CommandLine) -> Iterator[Said]:
    container, host = _bridge(case), line.value("--host")
    if container is None or host is None or not is_loopback(host) or not _answers_http(line):
        return
    yield Said(
        "--host",
        f"the server listens on {host} of the container, where published ports do not lead: nobody reaches it",
        "set --host 0.0.0.0 in the container, and bind the published port to 127.0.0.1 to keep it on this machine",
        expected="0.0.0.0",
        observed=host,
    )


def _leads_out(publish: Publish, port: int) -> bool:
    return publish.container_port == str(port) and not publish.is_loopback


def _is_exposed(case: Case, line: CommandLine, port: int) -> bool:
    """Whether a port of the server is known to be reached from other machines."""
    if is_loopback(line.value("--host") or ""):
        return False
    container, bind = case.subject.container, case.subject.host_bind
    if container is not None and container.publishes:
        return any(_leads_out(publish, port) for publish in container.publishes)
    return bind is not None and not is_loopback(bind)


@line_rule("grpc_exposed", WARNING, _GRPC, since=Version(0, 18))
def _grpc(case: Case, line: CommandLine) -> Iterator[Said]:
    for flag, port_flag in (("--grpc", "--port"), ("--grpc-port", "--grpc-port")):
        if not line.has(flag):
            continue
        port = line.integer(port_flag) if line.has(port_flag) else 8000
        if port is not None and _is_exposed(case, line, port):
            yield Said(
                flag,
                f"gRPC on port {port} asks for no key and has no TLS, and it is reached from other machines",
                "publish it on 127.0.0.1, or keep the network between client and server to themselves",
                observed=port,
            )


@line_rule("grpc_and_grpc_port", ERROR, "vllm/entrypoints/common/cli_args.py 0.33.0", since=Version(0, 32))
def _both(case: Case, line: CommandLine) -> Iterator[Said]:
    if line.has("--grpc") and line.has("--grpc-port"):
        yield Said(
            "--grpc-port",
            "--grpc starts the Python gRPC server, --grpc-port is of the Rust frontend: vLLM refuses to start",
            "keep one of them",
        )


def _uses_ray(line: CommandLine) -> str | None:
    names = ("--distributed-executor-backend", "--data-parallel-backend")
    return next((name for name in names if line.value(name) == "ray"), None)


@line_rule(
    "ray_not_in_image",
    ERROR,
    "requirements/cuda.txt 0.17.1 (ray) and 0.18.0 (none); vllm/config/parallel.py (assert_ray_available)",
    since=Version(0, 18),
)
def _ray_missing(case: Case, line: CommandLine) -> Iterator[Said]:
    container, part = case.subject.container, _uses_ray(line)
    if part is None or container is None or not is_official(container.image) or container.entrypoint is not None:
        return
    if case.subject.shell_text:
        return
    yield Said(
        part,
        f"{container.image} brings no Ray since 0.18.0: the start fails at the import",
        "build an image with `ray[cgraph]` on top of it, or spread with --nnodes and the backend mp",
        observed="ray",
    )


@case_rule("inter_node_address_public", WARNING, "docs/usage/security.md 0.9.2, 0.33.0 (inter-node communication)")
def _public(case: Case) -> Iterator[Said]:
    line, env = case.line, case.subject.env or {}
    places = [("VLLM_HOST_IP", env.get("VLLM_HOST_IP", ""))]
    for name in ("--master-addr", "--data-parallel-address"):
        places.append((name, (line.value(name) if line else None) or ""))
    for part, address in places:
        if address and _is_public(address):
            yield Said(
                part,
                f"{address} is a public address, and what nodes say to each other (Ray, torch, ZMQ) is neither "
                "authenticated nor encrypted: who reaches the ports runs code in the engine",
                "use an address of a network that only the nodes share",
                observed=address,
            )


@case_rule("vllm_port_is_a_uri", ERROR, "vllm/envs.py (get_vllm_port) 0.9.2, 0.19.1, 0.33.0")
def _port_variable(case: Case) -> Iterator[Said]:
    value = (case.subject.env or {}).get("VLLM_PORT", "")
    if "://" in value:
        yield Said(
            "VLLM_PORT",
            f"VLLM_PORT={value} is an address, vLLM reads a number there: it refuses to start",
            "name the Kubernetes service otherwise than vllm, or unset the variable; the server's port is --port",
            expected="a number",
            observed=value,
        )


RULES = (_port, _loopback, _grpc, _both, _ray_missing, _public, _port_variable)
