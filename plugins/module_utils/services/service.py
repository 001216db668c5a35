# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read one service: each key by its own reader, and no reader stops the others.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, TypeVar

from ..versions import Version
from . import measures, names
from .config_keys import read_config
from .container import read_mounts, read_ulimits
from .docker_args import read_docker_args
from .environment import read_env, read_secrets
from .exposure import judge_exposure
from .golden import read_golden
from .gpus import read_gpus
from .images import read_image, read_model, read_version
from .model import Gate, Image, Model, Service
from .notify import read_notify
from .printed_keys import judge_level
from .problems import Complaints
from .schema import DRAIN_KEYS, GATE_KEYS, SERVICE_KEYS, by_name
from .typed import read_typed

T = TypeVar("T")
LEAST_SHM, MOST_SHM = 1 << 26, 1 << 42
MOST_SECONDS = 86_400
MOST_WARMUP = 100


def read_service(name: str, given: Mapping[str, Any], secrets: object, complaints: Complaints) -> Service | None:
    """Judge one service whose defaults are already under it; None when it has a fault (all are in ``complaints``)."""
    raw = read_typed(given, by_name(SERVICE_KEYS), complaints)
    read = _Reader(raw, complaints)
    image = read_image(raw["image"], complaints) if raw["image"] is not None else None
    version = read_version(raw["version"], image, complaints)
    model = read_model(raw["model"], raw["revision"], complaints) if raw["model"] is not None else None
    container = _container(read, model)
    rest = _rest(read, version, secrets)
    if complaints.found or image is None or version is None or model is None:
        return None
    return _service(name, raw, image, version, model, container, rest)


class _Reader:
    """The keys of one service, and the way to read them one by one."""

    def __init__(self, raw: Mapping[str, Any], complaints: Complaints) -> None:
        self.raw, self.complaints = raw, complaints

    def one(self, key: str, reader: Callable[[Any], T]) -> T | None:
        """Read one key; a key that is missing or has the wrong type was complained of already."""
        value = self.raw[key]
        return None if value is None else self.value(key, value, reader)

    def value(self, key: str, value: Any, reader: Callable[[Any], T]) -> T | None:
        try:
            return reader(value)
        except ValueError as error:
            self.complaints.at(key, value, str(error))
            return None

    def each(self, key: str, reader: Callable[[Any], str]) -> tuple[str, ...]:
        """Read the items of a list of texts."""
        items = self.one(key, names.text_list) or []
        read = [self.value(f"{key}[{index}]", item, reader) for index, item in enumerate(items)]
        return tuple(dict.fromkeys(item for item in read if item is not None))


def _container(read: _Reader, model: Model | None) -> dict[str, Any]:
    docker_args = read.one("docker_args", names.text_list) or []
    shm_size, shm_bytes = read.one("shm_size", _shm) or ("", 0)
    return {
        "shm_size": shm_size,
        "shm_bytes": shm_bytes,
        "mounts": read_mounts(read.raw["mounts"], model, read.complaints),
        "ulimits": read_ulimits(read.raw["ulimits"], read.complaints),
        "devices": read.each("devices", names.device),
        "network": read.one("network", names.network),
        "user": read.one("user", names.user),
        "docker_args": read_docker_args(docker_args, read.complaints),
        "after": tuple(sorted(read.each("after", names.unit))),
    }


def _rest(read: _Reader, version: Version | None, secrets: object) -> dict[str, Any]:
    raw, complaints = read.raw, read.complaints
    env = read_env(raw["env"], complaints)
    secret_names = read_secrets(secrets, complaints)
    for name in sorted(set(secret_names).intersection(raw["env"])):
        complaints.say(f"env.{name}", "also in vllm_secrets", "each variable in one of the two places")
    bind = read.one("bind", names.bind)
    judge_exposure(raw, bind, secret_names, complaints)
    judge_level(env, version, secret_names, complaints)
    drain = read_typed(raw["drain"], by_name(DRAIN_KEYS), complaints, prefix="drain.")
    return {
        "port": read.one("port", names.port),
        "bind": bind,
        "gpus": read_gpus(raw["gpus"], complaints),
        "config": read_config(raw["config"], version, complaints),
        "env": env,
        "secret_names": secret_names,
        "gate": _gate(read),
        "notify": read_notify(raw["notify"], complaints),
        "drain_cap_seconds": read.value("drain.cap", drain["cap"], _seconds),
    }


def _service(  # noqa: PLR0913, PLR0917 - the parts of a service
    name: str,
    raw: Mapping[str, Any],
    image: Image,
    version: Version,
    model: Model,
    container: Mapping[str, Any],
    rest: Mapping[str, Any],
) -> Service:
    told = {key: raw[key] for key in ("state", "exposed_without_key", "gpus_shared")}
    return Service(name=name, image=image, version=version, model=model, **told, **container, **rest)


def _shm(value: str) -> tuple[str, int]:
    text, size = measures.size(value)
    if not LEAST_SHM <= size <= MOST_SHM:
        raise ValueError("64m to 4096g; vLLM's workers talk through it")
    return text, size


def _seconds(value: Any) -> int:
    found = measures.seconds(value)
    if found > MOST_SECONDS:
        raise ValueError(f"at most {MOST_SECONDS} seconds (one day)")
    return found


def _gate(read: _Reader) -> Gate:
    raw = read_typed(read.raw["gate"], by_name(GATE_KEYS), read.complaints, prefix="gate.")
    auto = raw["deadline"] == "auto"
    deadline = None if auto else read.value("gate.deadline", raw["deadline"], _deadline)
    silence = read.value("gate.silence", raw["silence"], _deadline) or 0
    soak = read.value("gate.soak", raw["soak"], _seconds) or 0
    warmup = read.value("gate.warmup", raw["warmup"], _warmup) or 0
    floor = raw["kv_floor_tokens"]
    if floor is not None:
        read.value("gate.kv_floor_tokens", floor, _positive)
    golden = read_golden(raw["golden_prompts"], read.complaints)
    progress = _progress_deadline(read, raw, deadline, soak)
    if deadline is not None and soak >= deadline:
        allowed = f"less than the deadline ({deadline} s): a start would be over time before it could count"
        read.complaints.at("gate.soak", raw["soak"], allowed)
    return Gate(deadline, silence, soak, floor, warmup, progress, golden)


def _progress_deadline(read: _Reader, raw: Mapping[str, Any], deadline: int | None, soak: int) -> int | None:
    """A change has to have time for its start and its soak: soak < deadline < progress deadline."""
    told = raw["progress_deadline"]
    found = None if told == "auto" else read.value("gate.progress_deadline", told, _deadline)
    least = max(deadline or 0, soak)
    if found is not None and found <= least:
        what = f"the deadline ({deadline} s)" if deadline == least else f"the soak ({soak} s)"
        allowed = f"more than {what}: a change would be over time before it could be committed"
        read.complaints.at("gate.progress_deadline", told, allowed)
    return found


def _deadline(value: Any) -> int:
    found = _seconds(value)
    if found == 0:
        raise ValueError(f"{measures.DURATION}, more than 0")
    return found


def _positive(value: int) -> int:
    if value <= 0:
        raise ValueError("a whole number above 0")
    return value


def _warmup(value: int) -> int:
    if not 0 <= value <= MOST_WARMUP:
        raise ValueError(f"0 to {MOST_WARMUP}")
    return value
