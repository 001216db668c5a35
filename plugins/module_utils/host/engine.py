# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge Docker, and decide how GPUs are asked of it.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..findings import ERROR, INFO, WARNING, Finding
from .facts import Engine, GpuHost
from .refusal import Refusal

MIN_DOCKER = (20, 10)
CDI_DOCKER = (25, 0)


def docker_release(version: str | None) -> tuple[int, int] | None:
    """Year and month of ``26.1.5+dfsg1``; None when the text is no version."""
    match = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(match.group(1)), int(match.group(2))) if match else None


def judge_engine(engine: Engine, expected: bool) -> Iterator[Finding]:
    """Say what of Docker is not as it should be; ``expected``: nobody is going to install or start it after this."""
    severity = ERROR if expected else INFO
    if not engine.installed:
        yield Finding(
            "docker_missing",
            severity,
            "host Docker",
            "Docker is not installed",
            expected=f"Docker {_text(MIN_DOCKER)} or newer",
            remedy="the role container_engine installs it: run the deploy playbook",
        )
    elif not engine.reachable:
        yield Finding(
            "docker_unreachable",
            ERROR if expected else WARNING,
            "host Docker",
            f"Docker is installed and does not answer: {engine.error or 'no reason given'}",
            expected="a running Docker",
            remedy="on the host: systemctl status docker (the role container_engine starts it)",
        )
    else:
        yield from _judge_version(engine.version)


def require_engine(engine: Engine) -> None:
    """Stop where Docker cannot do what is asked of it now."""
    for finding in judge_engine(engine, expected=True):
        raise Refusal(finding)


def _judge_version(version: str | None) -> Iterator[Finding]:
    release = docker_release(version)
    if release is None or release < MIN_DOCKER:
        yield Finding(
            "docker_old",
            ERROR,
            "host Docker",
            f"Docker {version} is too old",
            expected=f"{_text(MIN_DOCKER)} or newer",
            observed=version,
            remedy="upgrade Docker from the distribution or from Docker's own repository, while no service runs",
        )


def _text(release: tuple[int, int]) -> str:
    return f"{release[0]}.{release[1]:02d}"


def toolkit_missing(gpu: GpuHost) -> bool:
    """Whether the host has an NVIDIA GPU and nothing yet that gives it to containers."""
    return (gpu.nvidia_smi or gpu.nvidia_pci) and not (gpu.cdi_devices or gpu.toolkit)


def wants_cdi(engine: Engine, gpu: GpuHost) -> bool:
    """Whether Docker here should be told to use CDI; before it is installed, that a GPU is there is enough."""
    release = docker_release(engine.version)
    return (gpu.nvidia_smi or gpu.nvidia_pci) and (release is None or release >= CDI_DOCKER)


def device_request(engine: Engine, gpu: GpuHost) -> str:
    """How a container gets GPUs here: ``cdi`` (survives a reload of systemd), ``gpus`` (the toolkit's hook), ``none``.

    While Docker cannot be asked, the answer is what it will be once the role container_engine has run.
    """
    release = docker_release(engine.version)
    modern = release is None or release >= CDI_DOCKER
    if not engine.reachable:
        return ("cdi" if modern else "gpus") if gpu.nvidia_smi else "none"
    if engine.cdi_enabled and gpu.cdi_devices:
        return "cdi"
    return "gpus" if gpu.toolkit or "nvidia" in engine.runtimes else "none"
