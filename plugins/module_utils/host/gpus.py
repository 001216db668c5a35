# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge if the host has the GPUs that services ask for, and can give them to a container.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..findings import ERROR, INFO, Finding
from ..gpu.query import remedy_for
from ..release.runfile import device_options
from .facts import GpuHost
from .wanted import Wanted


def judge_gpus(gpu: GpuHost, request: str, services: Iterable[Wanted], expected: bool) -> Iterator[Finding]:
    """Say what each service asks that the host cannot give; a host without such a service needs no GPU.

    ``expected``: the way by which containers get GPUs has to be there already, nobody sets it up after this.
    """
    for service in services:
        if service.wants_gpus:
            yield from _judge_one(gpu, request, service, expected)


def _judge_one(gpu: GpuHost, request: str, service: Wanted, expected: bool) -> Iterator[Finding]:
    subject = f"{service.name}: gpus {service.gpus}"
    cpu = f"or set gpus: none for {service.name}, with a CPU image"
    if not gpu.nvidia_smi:
        yield Finding(
            "nvidia_smi_missing",
            ERROR,
            subject,
            "the host has no nvidia-smi, so no NVIDIA driver" + (" (a card is there)" if gpu.nvidia_pci else ""),
            expected="the NVIDIA driver with nvidia-smi",
            remedy=f"install the driver, {cpu}",
        )
    elif not gpu.gpus:
        said = gpu.error or "no GPU"
        yield Finding("gpu_none", ERROR, subject, f"nvidia-smi says: {said}", observed=said, remedy=remedy_for(said))
    else:
        counted = list(_judge_count(gpu, service, subject))
        yield from counted
        if request == "none":
            yield _not_offered(subject, expected)
        elif request == "cdi" and gpu.cdi_devices and not counted:
            yield from _judge_cdi(gpu, service, subject)


def _judge_count(gpu: GpuHost, service: Wanted, subject: str) -> Iterator[Finding]:
    have = [f"{each.index} ({each.name})" for each in gpu.gpus]
    asked = service.gpus
    missing = _missing(gpu, asked)
    if isinstance(asked, int) and asked > len(have):
        message = f"{asked} GPUs are asked and the host has {len(have)}"
    elif missing:
        message = f"the host has no GPU {', '.join(missing)}"
    else:
        return
    yield Finding(
        "gpu_count",
        ERROR,
        subject,
        message,
        expected=asked,
        observed=have,
        remedy="ask for what nvidia-smi -L lists on the host",
    )


def _missing(gpu: GpuHost, asked: object) -> list[str]:
    if not isinstance(asked, (list, tuple)):
        return []
    known = {str(each.index) for each in gpu.gpus} | {each.uuid for each in gpu.gpus}
    # An instance of a partitioned GPU is not in this list of GPUs: Docker judges it at the probe.
    return [str(each) for each in asked if str(each) not in known and not str(each).startswith("MIG-")]


def _judge_cdi(gpu: GpuHost, service: Wanted, subject: str) -> Iterator[Finding]:
    """The specification is a file that somebody wrote once: it may be older than the GPUs."""
    asked = [word for _option, word in device_options(service.gpus, "cdi")]
    absent = [word for word in asked if word.partition("=")[2] not in gpu.cdi_devices]
    if absent:
        yield Finding(
            "gpu_not_in_cdi",
            ERROR,
            subject,
            f"the CDI specification does not offer {', '.join(absent)}",
            expected=asked,
            observed=list(gpu.cdi_devices),
            remedy="on the host: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        )


def _not_offered(subject: str, expected: bool) -> Finding:
    return Finding(
        "gpu_not_offered",
        ERROR if expected else INFO,
        subject,
        "Docker offers no way to give a GPU to a container (no CDI specification in use, no NVIDIA runtime)",
        expected="a CDI specification of kind nvidia.com/gpu, or the NVIDIA container toolkit",
        remedy="the role container_engine sets it up (restarting Docker is left to you while services run)",
    )
