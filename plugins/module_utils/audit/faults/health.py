# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Health checks that are missing, or that give up before a model can be loaded.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import INFO, WARNING
from ..case import Case
from ..rules.saying import Said, case_rule
from ..subject import COMPOSE
from .shown import container, unit_env
from .weights import billions

_PAGE = "https://docs.docker.com/reference/dockerfile/#healthcheck"
_SHORT, _SHORT_LARGE, _LARGE = 120, 900, 65


@case_rule("no_healthcheck", INFO, _PAGE)
def _none(case: Case) -> Iterator[Said]:
    shown = container(case)
    if shown is not None and case.subject.kind == COMPOSE and not shown.has_healthcheck:
        yield Said(
            "healthcheck",
            "a server that hangs counts as running, and depends_on cannot wait until it serves",
            "add a healthcheck that gets /health, with a start_period as long as the load",
        )


def _period(case: Case) -> float | None:
    """The time that a check leaves to the start, None where no check is seen."""
    shown = container(case)
    return (shown.start_period_seconds or 0.0) if shown is not None and shown.has_healthcheck else None


def _large(case: Case) -> bool:
    return ((billions(case.line.model) if case.line and case.line.model else None) or 0) >= _LARGE


@case_rule("short_start_period", WARNING, _PAGE)
def _short(case: Case) -> Iterator[Said]:
    period = _period(case)
    if period is not None and period < _SHORT:
        yield Said(
            "start_period",
            f"{period:g} s is shorter than most models load: the container is unhealthy before it can serve",
            "set start_period: 600s",
            observed=period,
        )


@case_rule("short_start_period_for_70b", WARNING, _PAGE)
def _short_large(case: Case) -> Iterator[Said]:
    period = _period(case)
    if period is not None and _SHORT <= period < _SHORT_LARGE and _large(case):
        yield Said(
            "start_period",
            f"a model of this size loads longer than {period:g} s from network storage: unhealthy before it can serve",
            "set start_period: 1800s",
            observed=period,
        )


@case_rule("proxy_may_break_localhost_health", WARNING, "curl(1) (NO_PROXY); seen in published units")
def _proxy(case: Case) -> Iterator[Said]:
    names = {name.lower(): each for name, each in {**(case.subject.env or {}), **unit_env(case)}.items()}
    if not names.get("http_proxy"):
        return
    spared = str(names.get("no_proxy", ""))
    if "localhost" not in spared and "127.0.0.1" not in spared and spared.strip() != "*":
        yield Said(
            "http_proxy",
            "requests to localhost go to the proxy, too: health checks inside fail although the server serves",
            "add no_proxy=localhost,127.0.0.1",
        )


RULES = (_none, _short, _short_large, _proxy)
