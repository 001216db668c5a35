# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Logs that hold what users said.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config.command_line import CommandLine
from ...findings import ERROR, INFO, WARNING
from ...versions import Version
from ..case import Case
from .saying import Said, case_rule, line_rule
from .values import is_true

_LOGGER = "vllm/entrypoints/logger.py 0.9.2, 0.10.2, 0.11.0, 0.11.1, 0.28.0; serve/utils/request_logger.py 0.33.0"
_ON, _OFF, _LENGTH = "--enable-log-requests", "--disable-log-requests", "--max-log-len"
_OPT_IN, _PROMPTS_AT_DEBUG, _LEVEL_FLAG = Version(0, 10, 1), Version(0, 11, 1), Version(0, 31)
_QUIET = frozenset({"WARNING", "ERROR", "CRITICAL"})


def _level(case: Case, line: CommandLine) -> str:
    flag = line.value("--log-level") if case.version >= _LEVEL_FLAG else None
    return (flag or (case.subject.env or {}).get("VLLM_LOGGING_LEVEL") or "INFO").upper()


def _logs_requests(case: Case, line: CommandLine) -> bool:
    if case.version >= _OPT_IN:
        return line.has(_ON)
    return not line.has(_OFF)


def _shows_prompts(case: Case, line: CommandLine) -> bool:
    level = _level(case, line)
    if not _logs_requests(case, line) or level in _QUIET or line.integer(_LENGTH) == 0:
        return False
    return level == "DEBUG" or case.version < _PROMPTS_AT_DEBUG


@line_rule("request_log_shows_prompts", WARNING, _LOGGER)
def _prompts(case: Case, line: CommandLine) -> Iterator[Said]:
    if not _shows_prompts(case, line):
        return
    by_default = case.version < _OPT_IN
    part = _OFF if by_default else _ON
    why = "is on by default in this release" if by_default else f"is on ({_ON})"
    yield Said(
        part,
        f"the request log {why}, and it writes every prompt: whoever reads the log reads what users said",
        f"add {part} or {_LENGTH} 0" if by_default else f"leave {_ON} out, set {_LENGTH} 0, or log at INFO from 0.11.1",
        severity=INFO if by_default else None,
    )


@line_rule("request_log_shows_answers", WARNING, _LOGGER, since=Version(0, 10, 1))
def _answers(case: Case, line: CommandLine) -> Iterator[Said]:
    shown = _level(case, line) not in _QUIET and line.integer(_LENGTH) != 0
    if shown and line.has("--enable-log-outputs") and line.has(_ON):
        yield Said(
            "--enable-log-outputs",
            "every answer of the model is written to the log: whoever reads the log reads it",
            f"leave it out in production, or set {_LENGTH} 0",
        )


@line_rule(
    "log_outputs_without_requests",
    ERROR,
    "vllm/entrypoints/openai/cli_args.py (validate_parsed_serve_args) 0.11.0, 0.28.0; common/cli_args.py 0.33.0",
    since=Version(0, 11),
)
def _alone(case: Case, line: CommandLine) -> Iterator[Said]:
    if line.has("--enable-log-outputs") and not line.has(_ON):
        yield Said(
            "--enable-log-outputs",
            f"answers are logged with the requests only, and {_ON} is not given: vLLM refuses to start",
            f"add {_ON}, or leave --enable-log-outputs out",
            expected=_ON,
        )


@case_rule("debug_log_of_answers", WARNING, "vllm/envs.py (VLLM_DEBUG_LOG_API_SERVER_RESPONSE) 0.9.2, 0.33.0")
def _debug(case: Case) -> Iterator[Said]:
    name = "VLLM_DEBUG_LOG_API_SERVER_RESPONSE"
    if is_true((case.subject.env or {}).get(name)):
        yield Said(
            name,
            f"{name} writes every answer of the server to the log",
            "unset it outside a test",
        )


RULES = (_prompts, _answers, _alone, _debug)
