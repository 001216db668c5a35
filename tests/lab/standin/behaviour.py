# SPDX-License-Identifier: Apache-2.0
"""How the stand-in engine is told to misbehave: its own environment, nothing else.

STANDIN_VERSION       release whose log shapes and /version it shows (what the image says, else 0.32.0)
STANDIN_DEVICE        gpu or cpu: which lines a start prints (gpu)
STANDIN_START_SECONDS length of a cold start (2)
STANDIN_WARM_SECONDS  length of a start that finds its compile cache (0.8)
STANDIN_SLOW_STAGE    the stage that takes the time: engine, load, profile, kv_cache, graphs, serve (load)
STANDIN_PROGRESS      1: the slow stage prints progress all the time, 0: it is silent (1)
STANDIN_NEVER_READY   1: stay in the slow stage for ever
STANDIN_EXIT_AT       end at this stage: arguments, config, or one of the above ...
STANDIN_ERROR         ... with this error text ...
STANDIN_EXIT_CODE     ... and this exit status (1)
STANDIN_FAIL_STARTS   so many starts fail at STANDIN_EXIT_AT, later ones work (0: all fail); counted in VLLM_CACHE_ROOT
STANDIN_HEALTH        status of /health when ready (200); hang: no answer
STANDIN_POST          ok, fail (500), hang, drop (connection closed), garbage (200 and no JSON), nonsense (text of
                      garbage tokens), unavailable (503), once503 (503 the first time), empty (no tokens),
                      unfinished (no finish_reason)
STANDIN_FIRST_TOKEN_SECONDS, STANDIN_TOKEN_SECONDS
                      pace of the answers (0, 0.005)
STANDIN_MODEL_NAME    what /v1/models lists instead of the served names
STANDIN_BUILD         what /version says instead of the version
STANDIN_NO_COMPLETIONS  1: /v1/completions is not there
STANDIN_TERM          when SIGTERM is ignored: loading (as vLLM does), always, never
STANDIN_STOP_SECONDS  how long an orderly stop takes (0.5)
STANDIN_CRASH_AFTER   die so many seconds after ready ...
STANDIN_CRASH_CODE    ... with this status (0, as vLLM does when its engine dies)
STANDIN_DEATH_SECONDS from the death of the engine process to the end of the server (5 when ready, or at once when a
                      request comes; 3.8 while loading, also after STANDIN_EXIT_AT)
STANDIN_KV_TOKENS, STANDIN_KV_GIB
                      what the start says about the KV cache (2097152, 16.0)
STANDIN_PORT_TAKEN    1: fail as if the port were taken (a port that is really taken fails the same way)
STANDIN_NOISE         so many numbered lines more ...
STANDIN_NOISE_AT      ... at the begin of a stage from engine on (load), before it fails there; `serving`: once ready
STANDIN_NOISE_SECONDS ... in at least so many seconds (0) ...
STANDIN_NOISE_WIDTH   ... each with so many characters behind its number (40)
STANDIN_PRINTS        variables of the environment that the engine prints in many spellings (A,B: none)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

STAGES = ("arguments", "config", "engine", "load", "profile", "kv_cache", "graphs", "serve")


@dataclass(frozen=True)
class Behaviour:
    """What this start does."""

    version: str
    device: str
    start_seconds: float
    warm_seconds: float
    slow_stage: str
    progress: bool
    never_ready: bool
    exit_at: str
    error: str
    exit_code: int
    fail_starts: int
    health: int | None
    post: str
    first_token_seconds: float
    token_seconds: float
    model_name: str
    build: str
    no_completions: bool
    term: str
    stop_seconds: float
    crash_after: float | None
    crash_code: int
    death_seconds: float | None
    kv_tokens: int
    kv_gib: float
    port_taken: bool
    noise: int
    noise_at: str
    noise_seconds: float
    noise_width: int
    prints: tuple[str, ...]


def _optional(text: str | None) -> float | None:
    return float(text) if text else None


def read_behaviour(env: Mapping[str, str] = os.environ) -> Behaviour:
    """Read the STANDIN_ variables."""

    def get(name: str, default: str = "") -> str:
        return env.get(f"STANDIN_{name}", default)

    version = get("VERSION", "0.32.0").lstrip("v")
    return Behaviour(
        version=version,
        device=get("DEVICE", "gpu"),
        start_seconds=float(get("START_SECONDS", "2")),
        warm_seconds=float(get("WARM_SECONDS", "0.8")),
        slow_stage=get("SLOW_STAGE", "load"),
        progress=get("PROGRESS", "1") != "0",
        never_ready=get("NEVER_READY") == "1",
        exit_at=get("EXIT_AT"),
        error=get("ERROR"),
        exit_code=int(get("EXIT_CODE", "1")),
        fail_starts=int(get("FAIL_STARTS", "0")),
        health=None if get("HEALTH") == "hang" else int(get("HEALTH", "200")),
        post=get("POST", "ok"),
        first_token_seconds=float(get("FIRST_TOKEN_SECONDS", "0")),
        token_seconds=float(get("TOKEN_SECONDS", "0.005")),
        model_name=get("MODEL_NAME"),
        build=get("BUILD") or version,
        no_completions=get("NO_COMPLETIONS") == "1",
        term=get("TERM", "loading"),
        stop_seconds=float(get("STOP_SECONDS", "0.5")),
        crash_after=_optional(env.get("STANDIN_CRASH_AFTER")),
        crash_code=int(get("CRASH_CODE", "0")),
        death_seconds=_optional(env.get("STANDIN_DEATH_SECONDS")),
        kv_tokens=int(get("KV_TOKENS", "2097152")),
        kv_gib=float(get("KV_GIB", "16.0")),
        port_taken=get("PORT_TAKEN") == "1",
        noise=int(get("NOISE", "0")),
        noise_at=get("NOISE_AT", "load"),
        noise_seconds=float(get("NOISE_SECONDS", "0")),
        noise_width=int(get("NOISE_WIDTH", "40")),
        prints=tuple(name for name in get("PRINTS").split(",") if name),
    )


def death_seconds(behaviour: Behaviour, *, ready: bool) -> float:
    """How long the server lives on without its engine process."""
    usual = 5.0 if ready else 3.8
    return usual if behaviour.death_seconds is None else behaviour.death_seconds
