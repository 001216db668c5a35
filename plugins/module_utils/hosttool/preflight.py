# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``preflighted``: everything that can be known before anything is touched.

Private to the collection.
"""

from __future__ import annotations

from ..io import containers, systemd
from ..io.files import make_folder
from ..io.ports import listeners
from ..release.paths import LABEL_PROBE, LABEL_SERVICE
from ..release.record import ReleaseRecord
from ..release.runfile import probe_command
from ..release.states import GATED_KINDS, REPLACING_KINDS, ROTATE
from .adopting import holds_port
from .before_start import check_name, check_port, make_caches
from .change_preflight import check_change, has_way_back
from .errors import ToolError
from .image_options import check_options
from .rotating import check_staged
from .steps import Context, Outcome, StepFailed


def preflight(context: Context) -> Outcome:
    """Image by id, unit, port, and a throw-away container with the same devices, mounts and user.

    Before a running engine is stopped for another one also the way back, and all that has to be there for it.
    """
    if context.opening.kind not in GATED_KINDS:
        return Outcome()
    record = context.record()
    if context.opening.kind == ROTATE:
        check_staged(context.paths)
    _check_unit(context)
    try:
        warnings = check_change(context, record)
        _check_image(context, record)
        check_name(context.paths, runner=context.runner)
        _check_port(context, record)
        _check_container(context, record)
        warnings += check_options(context, record)
    except containers.DockerError as error:
        raise StepFailed(f"Docker does not answer: {error}; see systemctl status docker") from error
    except ToolError as error:
        raise StepFailed(str(error)) from error
    back = ", and there is a way back" if context.opening.kind in REPLACING_KINDS and has_way_back(context) else ""
    return Outcome(f"image, unit, port and devices are there{back}", {"warnings": warnings} if warnings else {})


def _check_unit(context: Context) -> None:
    unit = systemd.show(context.paths.unit, runner=context.runner)
    if unit is None or unit.load != "loaded":
        seen = "systemd does not answer" if unit is None else f"systemd says {unit.load}"
        masked = unit is not None and unit.load == "masked"
        remedy = f"on the host: systemctl unmask {context.paths.unit}" if masked else "install it with deploy"
        raise StepFailed(f"the unit {context.paths.unit} cannot be used: {seen}; {remedy}")


def _check_image(context: Context, record: ReleaseRecord) -> None:
    if not containers.image_present(record.host.image_id, runner=context.runner):
        name = f"{record.content['image']}:{record.content['tag']}"
        raise StepFailed(f"the image {name} ({record.host.image_id[:19]}) is not on this host; pull it with deploy")


def _check_port(context: Context, record: ReleaseRecord) -> None:
    """The port is free, or held by who lets go of it before the start: the service itself, or what it takes over."""
    if holds_port(context, int(record.content["port"])):
        return
    own = containers.with_label(LABEL_SERVICE, context.paths.service, runner=context.runner)
    if not own or (context.opening.kind in REPLACING_KINDS and not _holds(context, record, own)):
        check_port(context.paths, record, runner=context.runner)


def _holds(context: Context, record: ReleaseRecord, own: list[str]) -> bool:
    """Whether a container of the service has the port: by Docker's word, or as the one in which its listener runs."""
    port = record.content["port"]
    if context.paths.container in containers.publishing(port, runner=context.runner):
        return True
    return any(each.container in own for each in listeners() if each.port == port)


def _check_container(context: Context, record: ReleaseRecord) -> None:
    make_folder(context.paths.volatile)
    make_caches(context.paths, record)
    for left in containers.with_label(LABEL_PROBE, context.paths.service, runner=context.runner):
        containers.remove(left, runner=context.runner)
    command = probe_command(record, f"{context.paths.container}-probe")
    said = containers.run_probe(command, runner=context.runner)
    if said is not None:
        raise StepFailed(f"a container like the service's cannot run: {said}{_remedy(said, record)}")


def _remedy(said: str, record: ReleaseRecord) -> str:
    """What to do about the refusals that are known."""
    gpus = record.content["gpus"]
    if "could not select device driver" in said:
        return "; Docker has no GPU runtime here: install the NVIDIA container toolkit with deploy, or set gpus: none"
    if "unresolvable CDI devices" in said:
        return f"; the host has no such GPU (asked for {gpus!r}): list them with nvidia-ctk cdi list, then change gpus"
    if record.host.device_request == "cdi" and gpus != "none" and "no such file or directory" in said:
        again = "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
        return f"; the CDI specification names what is not here, as after a driver update: write it again with {again}"
    if "bind source path does not exist" in said:
        return "; make the path on the host, or change model or mounts"
    return ""
