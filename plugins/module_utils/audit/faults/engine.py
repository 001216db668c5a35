# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Options and variables of vLLM that people copy from old examples.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import ERROR, INFO, WARNING
from ...versions import Version
from ..case import Case
from ..rules.saying import Said, case_rule
from .shown import env, given

_ARGS = "vllm/engine/arg_utils.py"
_ENVS = "vllm/envs.py"
_SPLIT = Version(0, 10, 1)
_OTHER_WAY = Version(0, 33)  # since then --disable-log-requests is the other way of --enable-log-requests


@case_rule("attention_backend_env_removed_in_new_vllm", WARNING, f"{_ENVS} 0.14.1, 0.15.0", since=Version(0, 15))
def _backend(case: Case) -> Iterator[Said]:
    chosen = env(case, "VLLM_ATTENTION_BACKEND")
    if chosen is not None:
        yield Said(
            "VLLM_ATTENTION_BACKEND",
            "vLLM 0.15.0 and newer do not read it: the backend is chosen by itself",
            f"write --attention-backend {chosen}",
            observed=chosen,
        )


@case_rule("v0_engine_flag_removed_in_new_vllm", WARNING, f"{_ENVS} 0.11.0, 0.11.1", since=Version(0, 11))
def _v0(case: Case) -> Iterator[Said]:
    if (env(case, "VLLM_USE_V1") or "").lower() in {"0", "false"}:
        yield Said(
            "VLLM_USE_V1",
            "the V0 engine is gone since 0.11.0: it cannot be asked for any more",
            "take VLLM_USE_V1 out",
            observed=env(case, "VLLM_USE_V1"),
        )


@case_rule("gfx_version_override", WARNING, "ROCm: HSA_OVERRIDE_GFX_VERSION; seen in published units")
def _gfx(case: Case) -> Iterator[Said]:
    forced = env(case, "HSA_OVERRIDE_GFX_VERSION")
    if forced:
        yield Said(
            "HSA_OVERRIDE_GFX_VERSION",
            f"the GPU is treated as gfx {forced}, which it is not: kernels may crash or compute wrongly",
            "take it out and use an image that is built for the GPU",
            observed=forced,
        )


def _written(case: Case, *names: str) -> str | None:
    words = case.subject.words or ()
    plain = (word.split("=", 1)[0].replace("_", "-") for word in words if word.startswith("--"))
    return next((word for word in plain if word in names), None)


@case_rule(
    "disable_log_requests_removed_in_new_vllm",
    ERROR,
    f"{_ARGS} 0.16.0, 0.17.0; vllm/utils/argparse_utils.py 0.33.0",
    since=Version(0, 17),
    until=_OTHER_WAY,
)
def _log_requests(case: Case) -> Iterator[Said]:
    if _written(case, "--disable-log-requests"):
        yield Said(
            "--disable-log-requests",
            "the option is gone since 0.17.0: vLLM does not know it and ends with status 2",
            "take it out: requests are not logged unless --enable-log-requests is given",
        )


@case_rule("misspelt_flag_disable_log_request", WARNING, f"{_ARGS} 0.7.3, 0.16.0, 0.17.0; argparse (allow_abbrev)")
def _misspelt(case: Case) -> Iterator[Said]:
    written = _written(case, "--disable-log-request")
    if not written:
        return
    gone = Version(0, 17) <= case.version < _OTHER_WAY
    yield Said(
        written,
        "no option has this name"
        + (": vLLM ends with status 2" if gone else ", it works as the beginning of another only"),
        "take it out" if case.version >= _SPLIT else "write --disable-log-requests",
        severity=ERROR if gone else None,
    )


@case_rule("no_served_model_name", INFO, f"{_ARGS} (--served-model-name)")
def _served(case: Case) -> Iterator[Said]:
    model = (case.line.model if case.line else None) or ""
    if model.startswith(("/", "./", "~")) and not given(case, "--served-model-name"):
        yield Said(
            "--served-model-name",
            f"clients must name the model {model}: a path of the server's own file system",
            "add --served-model-name NAME",
        )


RULES = (_backend, _v0, _gfx, _log_requests, _misspelt, _served)
