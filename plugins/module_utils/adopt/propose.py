# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A hand-made server as a service definition, with all that could not be carried over.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..audit.reading.inside import Inside, read_inside
from ..audit.reading.script import start_of_server
from ..config.line_reader import read_command_line
from ..config.releases import NEWEST
from ..findings import ERROR, INFO, WARNING, Finding
from ..services.schema import MIN_VERSION
from ..versions import parse_version, version_of_tag
from .container import read_container, restart_policy
from .gpus import read_gpus
from .images import read_image
from .models import ModelSaid, read_model
from .mounts import hub_folder, read_mounts
from .naming import service_name
from .notes import Notes
from .options import Options, read_options
from .place import Place, place_of, read_place
from .seen import COMPOSE_PROJECT, Seen, texts, whole
from .variables import read_variables

_GRACE = 10
_OLDEST = parse_version(MIN_VERSION)


@dataclass(frozen=True)
class Questions:
    """What to ask the host and the server before the proposal is made."""

    url: str
    hub: str
    model: str | None
    revision: str | None
    config_path: str | None


@dataclass(frozen=True)
class Proposal:
    """The definition, the names of the secrets that it needs, and how the server runs now. No secret is in it."""

    name: str
    definition: Mapping[str, Any]
    secrets: Mapping[str, str]
    findings: tuple[Finding, ...]
    running: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "definition": dict(self.definition),
            "secrets": dict(self.secrets),
            "findings": [each.to_dict() for each in self.findings],
            "running": dict(self.running),
        }


def runs_vllm(seen: Seen) -> bool:
    """Whether the container runs a vLLM server that is not ours."""
    if seen.is_ours:
        return False
    command = " ".join((*texts(seen.config.get("Entrypoint")), *texts(seen.config.get("Cmd"))))
    named = str(seen.config.get("Image") or "").lower()
    return _inside(seen).words is not None and ("vllm" in named or "vllm" in command.lower())


def _inside(seen: Seen) -> Inside:
    entrypoint, command = texts(seen.config.get("Entrypoint")), texts(seen.config.get("Cmd"))
    found = read_inside(entrypoint, command)
    if found.words is None and entrypoint == texts(seen.image_config.get("Entrypoint")):
        return read_inside(None, command) if "vllm" in str(seen.config.get("Image") or "").lower() else found
    return found


def questions(seen: Seen) -> Questions:
    """What has to be known besides ``docker inspect``."""
    words = _inside(seen).words or ()
    line = read_command_line(words, NEWEST)
    place = place_of(seen, line.value("--host"), line.value("--port"))
    return Questions(place.url, hub_folder(seen), line.model, line.value("--revision"), line.value("--config"))


def propose(seen: Seen, name: str) -> Proposal:
    """The definition of the service that this server becomes."""
    notes = Notes(name)
    inside = _inside(seen)
    image = read_image(seen, notes)
    options = read_options(inside.words or (), image.version or NEWEST, seen.config_file, notes)
    env = read_variables(seen, dict(inside.env), notes)
    _say_start(seen, inside, notes)
    place = place_of(seen, options.host, options.port)
    model = read_model(options, seen, notes)
    config = _config(options, model, notes)
    keys: dict[str, Any] = {
        "image": image.reference,
        "version": str(image.version) if image.write_version else None,
        "model": model.name,
        "revision": model.revision,
        **read_place(place, notes),
        "gpus": read_gpus(seen, notes),
        "config": config,
        "env": env,
        **read_container(seen, notes),
        "mounts": read_mounts(seen, model, config, notes),
    }
    kept = {key: value for key, value in keys.items() if value not in (None, {}, [])}
    definition = notes.clean(kept, "its definition")
    _say_secrets(name, notes)
    return Proposal(name, definition, notes.secrets, tuple(notes.findings()), running(seen, place))


def _config(options: Options, model: ModelSaid, notes: Notes) -> dict[str, Any]:
    """Clients call the model by the name that it was started by: it has to stay."""
    config = dict(options.config)
    if model.written and model.name != model.written and "served-model-name" not in config:
        config["served-model-name"] = [model.written]
        message = f"clients know the model as {model.written}, so it keeps this name"
        notes.say("served_name", INFO, message, about="config.served-model-name")
    return config


def _say_start(seen: Seen, inside: Inside, notes: Notes) -> None:
    if inside.shell_text:
        remedy = "what it did besides starting the server goes into an image of your own"
        notes.say("shell", WARNING, "a shell starts the server; only the server is carried over", remedy, "entrypoint")
    elif texts(seen.config.get("Entrypoint")) != texts(seen.image_config.get("Entrypoint")):
        notes.say("entrypoint", INFO, "its entry point is not carried over: vllm serve is", about="entrypoint")
    if start_of_server((*texts(seen.config.get("Entrypoint")), *texts(seen.config.get("Cmd")))) is None and not (
        inside.shell_text
    ):
        message = "the image has an entry point of its own; a service runs vllm serve itself"
        notes.say("entrypoint_own", WARNING, message, "see that nothing else of it is needed", "entrypoint")
    if seen.unit is not None and seen.unit.others:
        message = f"the unit {seen.unit.name} starts {', '.join(seen.unit.others)} as well, and would stop them with it"
        notes.say("unit_shared", ERROR, message, "give each container a unit of its own first", "unit")
    tag = str(seen.config.get("Image") or "").rpartition(":")[2]
    found = version_of_tag(tag)
    if found is not None and found < _OLDEST:
        notes.say("version_old", ERROR, f"vLLM {found} cannot be run as a service", f"{_OLDEST} and newer can", "image")


def _say_secrets(name: str, notes: Notes) -> None:
    for secret, where in notes.secrets.items():
        message = f"a secret lies in the open ({where}); it is not shown and not carried over"
        notes.say("secret_in_the_open", WARNING, message, f"put it into vllm_secrets.{name}.{secret}", secret)


def running(seen: Seen, place: Place) -> dict[str, Any]:
    """How the server runs now: what a take-over has to know, and to undo."""
    unit = seen.unit
    return {
        "container": seen.name,
        "container_id": seen.id,
        "image_id": str(seen.container.get("Image") or ""),
        "restart": restart_policy(seen.host),
        "auto_remove": seen.host.get("AutoRemove") is True,
        "grace": max(_GRACE, whole(seen.config.get("StopTimeout"))),
        "compose": seen.labels.get(COMPOSE_PROJECT),
        "unit": unit.name if unit else None,
        "unit_enabled": unit.enabled if unit else False,
        "shared_with": list(unit.others) if unit else [],
        "address": place.address,
        "port": place.port,
        "start_seconds": seen.start_seconds,
    }


def proposals_of(
    servers: Iterable[Seen], taken: Collection[str], containers: Collection[str], units: Collection[str]
) -> list[Proposal]:
    """A proposal for each server of a host, each with a name of its own."""
    found: list[Proposal] = []
    for seen in sorted(servers, key=lambda each: each.name):
        name = service_name(seen, [*taken, *(each.name for each in found)], containers, units)
        found.append(propose(seen, name))
    return found
