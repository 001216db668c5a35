# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Step 1: is it the build, the frontend, the runner and the libraries that one thinks it is?

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..findings import ERROR, INFO, WARNING, Finding
from ..versions import Version, parse_version
from .case import Case
from .model import SOURCE, Section, facts, unread_of

SOURCES = ("container", "image", "packages", "version", "release", "docker")
_SHOWN = ("vllm", "torch", "triton", "transformers", "flashinfer-python", "ray", "tokenizers", "xgrammar", "numpy")
# Variables that only older releases read: variable -> (gone in, what to use).
_GONE = {
    "VLLM_USE_V1": (Version(0, 11, 1), "nothing: there is one engine since 0.11"),
    "VLLM_ATTENTION_BACKEND": (Version(0, 15), "--attention-backend"),
    "VLLM_USE_RAY_V2_EXECUTOR_BACKEND": (Version(0, 33), "nothing: it is the only one"),
}
_FLASHINFER = ("flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache")


def section(case: Case) -> Section:
    """The section."""
    content, host = case.content, case.record.get("host") or {}
    labels = (case.image.get("Config") or {}).get("Labels") or {}
    image = f"{content['image']}:{content.get('tag')}" if content.get("image") else None
    libraries = {name: ", ".join(case.packages[name]) for name in _SHOWN if case.packages.get(name)}
    rows = facts(
        ("image", image, "release.json"),
        ("index digest", content.get("index_digest"), "release.json"),
        ("image id", host.get("image_id"), "release.json"),
        ("image made", case.image.get("Created"), "docker image inspect"),
        ("image labels", {name: labels[name] for name in sorted(labels)[:20]}, "docker image inspect"),
        ("vLLM of the release", content.get("version"), "release.json"),
        ("vLLM that answers", case.health.get("version"), "/version"),
        ("vLLM in the log", case.said.get("vllm_version"), "start-up log"),
        ("frontend", _frontend(case), "environment"),
        ("engine", case.said.get("engine"), "start-up log"),
        ("model runner", _runner(case), "environment"),
        ("libraries", libraries, "dist-info folders of the image"),
        ("NCCL", {name: ", ".join(found) for name, found in _nccl(case).items()}, "dist-info folders of the image"),
        ("Docker", case.engine.version if case.engine else None, "docker info"),
        ("host", case.facts.get("host"), "/etc/os-release, uname"),
        ("driver", _driver(case), "nvidia-smi"),
    )
    findings = tuple([*_build(case), *_image(case), *_libraries(case), *_variables(case)])
    title = "1. Build, frontend, runner and dependency versions"
    return Section("versions", title, rows, findings, unread_of(case.unread, SOURCES))


def _frontend(case: Case) -> str | None:
    if not case.variables and not case.processes:
        return None
    return "Rust" if case.is_on("VLLM_USE_RUST_FRONTEND") else "Python"


def _runner(case: Case) -> str | None:
    value = case.variable("VLLM_USE_V2_MODEL_RUNNER")
    return f"VLLM_USE_V2_MODEL_RUNNER={value}" if value else None


def _driver(case: Case) -> str | None:
    known = {gpu.driver_version for gpu in (case.gpus.gpus if case.gpus else ()) if gpu.driver_version}
    return ", ".join(sorted(known)) or None


def _nccl(case: Case) -> dict[str, Any]:
    return {name: found for name, found in case.packages.items() if name.startswith("nvidia-nccl")}


def _build(case: Case) -> Iterator[Finding]:
    wanted = case.version
    told: dict[str, Any] = {
        "/version": case.health.get("version"),
        "the start-up log": case.said.get("vllm_version"),
        "the installed package": next(iter(case.packages.get("vllm") or ()), None),
    }
    for source, text in told.items():
        found = _version(text)
        if wanted is not None and found is not None and found != wanted:
            yield Finding(
                "build_differs",
                ERROR,
                f"{case.service} {source}",
                f"{source} says vLLM {text}, the release is {wanted}",
                expected=str(wanted),
                observed=str(text),
                remedy="pin the image that was meant, or set `version` of the service to what it has; then deploy",
                source=SOURCE,
            )


def _version(text: object) -> Version | None:
    try:
        return parse_version(str(text)) if text else None
    except ValueError:
        return None


def _image(case: Case) -> Iterator[Finding]:
    wanted, runs = (case.record.get("host") or {}).get("image_id"), case.container.get("Image")
    if wanted and runs and wanted != runs:
        yield Finding(
            "image_differs",
            ERROR,
            case.service,
            "its container was made from another image than the release names",
            expected=wanted,
            observed=runs,
            remedy=f"somebody started it by hand; on the host: systemctl restart vllm-{case.service}",
            source=SOURCE,
        )


def _libraries(case: Case) -> Iterator[Finding]:
    for name, found in sorted(case.packages.items()):
        if len(found) > 1 and name in (*_SHOWN, *_nccl(case)):
            yield Finding(
                "package_twice",
                WARNING,
                f"{case.service} {name}",
                f"is in the image in {len(found)} versions; which one is loaded depends on the search path",
                observed=", ".join(found),
                remedy="use an image in which it is installed once",
                source=SOURCE,
            )
    flash = {name: case.packages[name][0] for name in _FLASHINFER if case.packages.get(name)}
    if len({version.partition("+")[0] for version in flash.values()}) > 1:
        yield Finding(
            "flashinfer_differs",
            ERROR,
            case.service,
            "the parts of FlashInfer are of different versions, and it refuses to load its kernels",
            observed=", ".join(f"{name} {version}" for name, version in flash.items()),
            remedy="use an image where they are of one version",
            source=SOURCE,
        )
    if len(_nccl(case)) > 1:
        yield Finding(
            "nccl_twice",
            WARNING,
            case.service,
            "NCCL is installed for more than one CUDA release; torch and vLLM can load different ones",
            observed=", ".join(sorted(_nccl(case))),
            remedy="use an image with one of them",
            source=SOURCE,
        )


def _variables(case: Case) -> Iterator[Finding]:
    version = case.version
    for name, (gone, instead) in _GONE.items():
        if name in case.variables and version is not None and version >= gone:
            yield Finding(
                "variable_without_effect",
                WARNING,
                f"{case.service} env.{name}",
                f"vLLM {version} does not read it any more (gone in {gone})",
                observed=case.variable(name),
                remedy=f"take it out; instead: {instead}",
                source=SOURCE,
            )
    if case.is_on("VLLM_USE_RUST_FRONTEND"):
        yield Finding(
            "rust_frontend",
            INFO,
            case.service,
            "the frontend is the Rust one: routes, metrics and limits can differ from the Python one",
            remedy="compare once with VLLM_USE_RUST_FRONTEND: '0'",
            source=SOURCE,
        )
