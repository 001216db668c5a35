# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the API key does not cover, on a server that more than its own host reaches.

That a server has no key at all is another rule's.

Private to the collection.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping

from ..config import routes
from ..findings import ERROR, INFO, WARNING, Finding
from ..versions import Version
from .case import Case, Rule

DEVELOPMENT, UNGUARDED = "DEV_ENDPOINTS_EXPOSED", "ENDPOINT_UNGUARDED"
SOURCE = "GUARDED_PREFIX in vllm/entrypoints/serve/utils/server_utils.py; docs/usage/security.md"
_COLLECTIVE_RPC = Version(0, 10, 2)
_PAUSE, _PAUSE_GATED = Version(0, 12, 0), Version(0, 16, 0)
_RUST_READ = Version(0, 33, 0)
_PROXY = "Put a reverse proxy in front that passes the routes you want, and bind the server to 127.0.0.1."


def development(case: Case) -> Iterator[Finding]:
    """Development routes under VLLM_SERVER_DEV_MODE, which never ask for the key."""
    if not _is_reached(case.subject.host_bind) or not _is_on(case.subject.env, "VLLM_SERVER_DEV_MODE"):
        return
    route = "/collective_rpc" if case.version >= _COLLECTIVE_RPC else "/sleep"
    others = ", ".join(_paths(routes.development(case.version))[:12])
    yield Finding(
        id=DEVELOPMENT,
        severity=ERROR,
        subject=case.about(route),
        message=(
            f"VLLM_SERVER_DEV_MODE serves development routes without the API key on {case.subject.host_bind}: anyone "
            f"who reaches it can stop or change the engine ({others})."
        ),
        expected="VLLM_SERVER_DEV_MODE unset, or a server on loopback",
        observed=f"VLLM_SERVER_DEV_MODE on {case.subject.host_bind}",
        remedy="Unset VLLM_SERVER_DEV_MODE, or bind the server to 127.0.0.1.",
        source=SOURCE,
    )


def unguarded(case: Case) -> Iterator[Finding]:
    """Routes that stay open with a key: one finding for those that run the model, one for those that only tell."""
    if not _is_reached(case.subject.host_bind) or not _has_key(case):
        return
    prefixes = " ".join(routes.guarded_prefixes(case.version))
    paths = set(_paths(routes.unguarded(case.version)))
    acting = [path for path in _ACTING if path in paths and path != "/invocations"]
    yield _open(case, WARNING, "/invocations", acting, prefixes, "run the model or change the server")
    telling = [path for path in _TELLING if path in paths and path != "/metrics"]
    yield _open(case, INFO, "/metrics", telling, prefixes, "read how the server is used")
    if _PAUSE <= case.version < _PAUSE_GATED:
        yield _open(case, WARNING, "/pause", ["/resume", "/is_paused"], prefixes, "stop the generation for everybody")
    if case.version >= _RUST_READ and _serves_cohere_in_rust(case.subject.env):
        yield _open(case, WARNING, "/cohere", [], "/v1 /v2 /inference", "run the model")


# What a route lets a stranger do decides how loud the audit is.
_ACTING = (
    "/invocations", "/inference/v1/generate", "/score", "/rerank", "/v2/rerank", "/v2/embed", "/pooling", "/classify",
    "/generative_scoring", "/tokenize", "/detokenize", "/scale_elastic_ep",
)  # fmt: skip
_TELLING = ("/metrics", "/load", "/version", "/kv_event_sources", "/is_scaling_elastic_ep")


def _open(case: Case, severity: str, route: str, others: list[str], *said: str) -> Finding:
    prefixes, can = said
    also = f" (so are {', '.join(others)})" if others else ""
    return Finding(
        id=UNGUARDED,
        severity=severity,
        subject=case.about(route),
        message=(
            f"The API key covers {prefixes} only in vLLM {case.version}: {route} is open to everyone who reaches "
            f"{case.subject.host_bind}{also}, who can {can} without a key."
        ),
        expected=f"{route} not reachable from outside",
        observed=f"{route} on {case.subject.host_bind}",
        remedy=_PROXY,
        source=SOURCE,
    )


def _paths(found: object) -> list[str]:
    return [route.path for route in found] if isinstance(found, tuple) else []


def _is_reached(bind: str | None) -> bool:
    if bind is None or bind.strip().lower() == "localhost":
        return False
    try:
        return not ipaddress.ip_address(bind.strip().strip("[]") or "0.0.0.0").is_loopback
    except ValueError:
        return True


def _is_on(env: Mapping[str, str] | None, name: str) -> bool:
    """How vLLM reads such a switch: bool(int(...))."""
    text = (env or {}).get(name, "")
    try:
        return bool(int(text))
    except (TypeError, ValueError):
        return False


def _has_key(case: Case) -> bool:
    if case.subject.has_key is not None:
        return case.subject.has_key
    given = case.line is not None and case.line.has("--api-key")
    return given or bool((case.subject.env or {}).get("VLLM_API_KEY"))


def _serves_cohere_in_rust(env: Mapping[str, str] | None) -> bool:
    return _is_on(env, "VLLM_USE_RUST_FRONTEND") and _is_on(env, "VLLM_ENABLE_COHERE_API")


RULES = (Rule(DEVELOPMENT, ERROR, SOURCE, development), Rule(UNGUARDED, WARNING, SOURCE, unguarded))
