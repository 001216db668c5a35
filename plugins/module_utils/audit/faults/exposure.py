# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Keys that can be read, servers that anyone can reach, code that anyone can run.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...config.command_line import CommandLine
from ...findings import ERROR, INFO, WARNING
from ..case import Case
from ..rules.saying import Said, case_rule
from ..rules.values import is_commit, is_path, is_true
from ..subject import MAP, SERVE, UNIT
from .shown import SEEN, container, docker_runs, env, given, text, value

_KEY = "VLLM_API_KEY"
_PLACEHOLDER = re.compile(
    r"(?i)(empty|none|token-abc123|sk-(x+|123\d*|test|local|dummy|fake|vllm|your.*)|change[-_]?me.*|"
    r"dummy|secret|password|your[-_].*|my[-_]?(api[-_]?|secret[-_]?)?key|api[-_]?key)"
)
_FALLBACK = re.compile(r"\$\{[A-Z_]*(?:KEY|TOKEN)[A-Z_]*:?-([^}\s]+)\}")
_SECRET = re.compile(r"(?:-e|--env)[ =]['\"]?([A-Z0-9_]*(?:API_KEY|TOKEN|SECRET|PASSWORD))\b")
_DOCKER = "https://docs.docker.com/reference/cli/docker/container/run/"
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@case_rule("api_key_on_command_line", WARNING, "vLLM --api-key; proc(5), /proc/PID/cmdline")
def _on_command_line(case: Case) -> Iterator[Said]:
    if given(case, "--api-key"):
        yield Said(
            "--api-key",
            "the key is an argument: every user of the host reads it in the process list, and Docker in its inspect",
            f"take --api-key out and give {_KEY} from a file that only the server's user can read",
        )


def _keys(case: Case) -> list[str]:
    shown = given(case, "--api-key")
    return [*(shown.values if shown else ()), *([env(case, _KEY) or ""] if env(case, _KEY) else [])]


@case_rule("default_api_key", WARNING, SEEN)
def _default_key(case: Case) -> Iterator[Said]:
    fallback = [word for word in _FALLBACK.findall(text(case)) if "$" not in word]
    known = [key for key in _keys(case) if _PLACEHOLDER.fullmatch(key)]
    if known or fallback:
        yield Said(
            _KEY,
            "the key is, or falls back to, a placeholder that is written in many examples: anyone can guess it",
            "generate a key (openssl rand -hex 32) and let the start fail without one: ${VLLM_API_KEY:?}",
            severity=ERROR if known and _is_open(_reached(case)) else None,
        )


def _reached(case: Case) -> str | None:
    """The address by which others reach the server, None where they do not, or where it is not known."""
    if case.subject.host_bind is not None:
        return case.subject.host_bind
    host = value(case, "--host") or "0.0.0.0"
    shown = container(case)
    if shown is not None:
        if shown.network == "host":
            return host
        return next((each.address or "0.0.0.0" for each in shown.publishes if not each.is_loopback), None)
    return host if case.subject.kind in {SERVE, UNIT} and not given(case, "--uds") else None


def _is_open(reached: str | None) -> bool:
    return reached is not None and reached not in _LOOPBACK and not reached.startswith("127.")


def _has_key(case: Case) -> bool:
    shown = case.subject.container
    secret = _KEY in shown.secret_env if shown else False
    return bool(case.subject.has_key or secret or _KEY in (case.subject.env or {}) or given(case, "--api-key"))


@case_rule("listens_on_all_without_api_key", WARNING, "vllm/entrypoints/openai/cli_args.py (--host, --api-key)")
def _open(case: Case) -> Iterator[Said]:
    if case.subject.words is None or case.subject.exposed_without_key or _has_key(case):
        return
    reached = _reached(case)
    if not _is_open(reached) or (case.subject.kind == MAP and not reached):
        return
    shown = case.subject.container
    hidden = bool(shown and shown.env_files) or "EnvironmentFile=" in text(case)
    yield Said(
        "--api-key",
        f"the server answers on {reached} and no key is seen: whoever reaches the port uses the model"
        + (f" (an environment file may hold {_KEY}, which is not seen here)" if hidden else ""),
        f"publish to 127.0.0.1, or give {_KEY} from a file",
        severity=INFO if hidden else None,
        observed=reached,
    )


@case_rule("env_file_visible_in_inspect", WARNING, _DOCKER)
def _inspect(case: Case) -> Iterator[Said]:
    names = sorted({name for run in docker_runs(case) for name in _SECRET.findall(run)})
    shown = container(case)
    files = list(shown.env_files) if shown else []
    if names or files:
        part = ", ".join([*names, *files])
        yield Said(
            part,
            f"what {part} says is stored with the container: docker inspect shows it and it stays on Docker's disk",
            "mount a file of mode 0600 and let the entry script read it",
        )


@case_rule(
    "trust_remote_code",
    WARNING,
    "vllm/config/model.py (trust_remote_code, revision, code_revision) 0.11.1, 0.19.1, 0.33.0",
)
def _remote_code(case: Case) -> Iterator[Said]:
    if case.line is None or not case.line.has("--trust-remote-code"):
        return
    loose = None if _is_local(case) else _not_pinned(case.line)
    yield Said(
        "--trust-remote-code",
        "code of the model's repository runs in the server, as its user and with its secrets"
        + (f"; {loose}: the next start may run code that nobody has read" if loose else ""),
        "leave it out where vLLM knows the architecture; else read the code and pin --revision to its commit "
        "(40 hex digits), and --code-revision where the code is in another repository",
        severity=WARNING if loose else INFO,
    )


def _is_local(case: Case) -> bool:
    model = (case.line.model or "") if case.line else ""
    return is_path(model) or any(is_true(env(case, name)) for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))


def _not_pinned(line: CommandLine) -> str | None:
    """What of the code is no commit, in words; None where it is pinned."""
    revision, code = line.value("--revision"), line.value("--code-revision")
    if not is_commit(revision):
        return f"--revision {revision} is no commit" if revision else "no --revision is given"
    return None if code is None or is_commit(code) else f"--code-revision {code} is no commit"


@case_rule("seccomp_unconfined", WARNING, "https://docs.docker.com/engine/security/seccomp/")
def _seccomp(case: Case) -> Iterator[Said]:
    shown = case.subject.container
    options = shown.security_opts if shown else ()
    if any(each.replace(":", "=") == "seccomp=unconfined" for each in options):
        yield Said(
            "security-opt seccomp=unconfined",
            "Docker's filter of system calls is off: a break-out of the server has the whole kernel before it",
            "leave it out, or write a profile that allows the one call that is missing",
        )


RULES = (_on_command_line, _default_key, _open, _inspect, _remote_code, _seccomp)
