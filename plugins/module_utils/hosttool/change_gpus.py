# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The GPUs of a service and their driver, before a running engine is stopped: one that is lost would not come back.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..audit.image_driver import DriverHost, cuda_of_image, judge_driver
from ..findings import Finding
from ..host.facts import GpuHost
from ..host.gpus import judge_gpus
from ..host.wanted import Wanted
from ..io.docker import image_inspect
from ..io.system import gpu_host
from ..release.record import ReleaseRecord
from ..versions import parse_version
from .steps import Context


def judge_host_gpus(context: Context, record: ReleaseRecord) -> Iterator[Finding]:
    """What the host cannot give, and a driver older than the image needs; nothing for a service without GPUs."""
    content = record.content
    asked = Wanted(record.service, content["bind"], content["port"], content["gpus"], 0, None)
    if not asked.wants_gpus:
        return
    host = gpu_host(runner=context.runner)
    yield from judge_gpus(host, record.host.device_request, [asked], expected=True)
    driver = _driver(host)
    image = image_inspect(record.host.image_id, runner=context.runner) if driver is not None else None
    cuda = cuda_of_image(image.get("Config") or {}) if image else None
    if driver is not None and cuda is not None:
        version = parse_version(str(content["version"]))
        found = judge_driver(record.service, cuda, driver, version, content["env"])
        yield from (found,) if found is not None else ()


def _driver(host: GpuHost) -> DriverHost | None:
    return next((DriverHost(gpu.driver_version, gpu.name) for gpu in host.gpus if gpu.driver_version), None)
