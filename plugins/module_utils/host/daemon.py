# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Docker's configuration: merge what we want into what is there, and say what takes a reload and what a restart.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ..registry.reference import DOCKER_HUB
from ..registry.settings import RegistrySettings, proxy_environment
from .refusal import refusal

# What dockerd reads again on SIGHUP, by its own documentation. Everything else waits for a restart.
RELOADED = frozenset(
    (
        "authorization-plugins",
        "debug",
        "default-runtime",
        "features",
        "insecure-registries",
        "labels",
        "live-restore",
        "max-concurrent-downloads",
        "max-concurrent-uploads",
        "max-download-attempts",
        "registry-mirrors",
        "runtimes",
        "shutdown-timeout",
    )
)
_DROPIN_HEAD = "# Written by gpuhosts.vllm: the proxy of the inventory.\n"
# Features that are looked at only when dockerd starts, although the others are read again.
_FEATURES_AT_START = ("cdi", "containerd-snapshotter")
# Keys whose option of the command line has another name; for all others the option is the key.
_OPTIONS = {
    "hosts": ("-H", "--host"),
    "registry-mirrors": ("--registry-mirror",),
    "insecure-registries": ("--insecure-registry",),
    "log-opts": ("--log-opt",),
    "labels": ("--label",),
    "runtimes": ("--add-runtime",),
    "storage-opts": ("--storage-opt",),
    "debug": ("-D", "--debug"),
    "data-root": ("--data-root", "-g", "--graph"),
    "dns-opts": ("--dns-opt",),
    "exec-opts": ("--exec-opt",),
}


@dataclass(frozen=True)
class Logs:
    """How much of a container's log is kept."""

    max_size: str
    max_file: int


def daemon_keys(settings: RegistrySettings, logs: Logs, cdi: bool, extra: Mapping[str, Any]) -> dict[str, Any]:
    """What daemon.json shall hold; ``extra`` is the user's and wins."""
    # Driver and options go together: Docker does not start with options that another driver does not know.
    keys: dict[str, Any] = {}
    if "log-driver" not in extra:
        keys["log-driver"] = "json-file"
        keys["log-opts"] = {"max-size": logs.max_size, "max-file": str(logs.max_file)}
    if settings.mirror:
        keys["registry-mirrors"] = [settings.mirror]
    if settings.insecure:
        keys["insecure-registries"] = list(settings.insecure)
    if cdi:
        keys["features"] = {"cdi": True}
    return {**keys, **extra}


def certificate_server(settings: RegistrySettings) -> str | None:
    """The registry that the own CA is for, as Docker's folder of certificates names it; None without a CA."""
    if not settings.ca_cert:
        return None
    if settings.server == DOCKER_HUB and settings.mirror:
        return urlsplit(settings.mirror).netloc
    return settings.server


@dataclass(frozen=True)
class Change:
    """The text before and after, and the keys that differ, apart by what makes dockerd see them."""

    before: str
    after: str
    reload: tuple[str, ...]
    restart: tuple[str, ...]


def parse_daemon(text: str, path: str) -> dict[str, Any]:
    """Read daemon.json; a file that Docker could not read either is refused, never replaced."""
    try:
        data = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise _broken(path, str(error)) from error
    if not isinstance(data, dict):
        raise _broken(path, "it is not a JSON object")
    return data


def _broken(path: str, why: str) -> Exception:
    message = f"this file is not what Docker reads ({why})"
    return refusal("daemon_json", path, message, f"repair it: python3 -m json.tool {path}")


def merge(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Put the wanted keys in: maps are merged, lists get what they lack, and what others have set stays."""
    merged = dict(present)
    for key, value in wanted.items():
        held = merged.get(key)
        if isinstance(held, Mapping) and isinstance(value, Mapping):
            merged[key] = merge(held, value)
        elif isinstance(held, list) and isinstance(value, list):
            merged[key] = value + [each for each in held if each not in value]
        else:
            merged[key] = value
    return merged


def plan_change(text: str, path: str, wanted: Mapping[str, Any]) -> Change:
    """Say what the file becomes; the same content in another layout is no change."""
    present = parse_daemon(text, path)
    merged = merge(present, wanted)
    changed = sorted(key for key in merged if merged[key] != present.get(key))
    if not changed:
        return Change(text, text, (), ())
    late = tuple(key for key in changed if not _is_reloaded(key, present.get(key), merged[key]))
    after = json.dumps(merged, indent=2, sort_keys=True) + "\n"
    return Change(text, after, tuple(key for key in changed if key not in late), late)


def _is_reloaded(key: str, before: Any, after: Any) -> bool:
    if key not in RELOADED:
        return False
    if key == "features":
        old = before if isinstance(before, Mapping) else {}
        return all(old.get(name) == after.get(name) for name in _FEATURES_AT_START)
    return True


def require_no_conflict(command: Iterable[str], wanted: Mapping[str, Any], path: str) -> None:
    """Stop where dockerd's command line sets a key too: dockerd refuses to start with both."""
    words = [word.split("=", 1)[0] for word in command]
    for key in wanted:
        clash = [option for option in _OPTIONS.get(key, (f"--{key}",)) if option in words]
        if clash:
            raise refusal(
                "daemon_conflict",
                f"{path}: {key}",
                f"dockerd's command line has {clash[0]}, and Docker does not start with an option in both places",
                "move the option from the unit (systemctl cat docker) into this file, or leave this key out",
            )


def proxy_dropin(settings: RegistrySettings, present: str) -> str:
    """The drop-in that gives dockerd its proxy, empty when there is none and never was.

    daemon.json knows proxies only from Docker 23 on, and an older one does not start with a key that it does not know.
    """
    lines = [f'Environment="{name}={value}"' for name, value in sorted(proxy_environment(settings).items())]
    if not lines:
        return _DROPIN_HEAD if present else ""
    return _DROPIN_HEAD + "[Service]\n" + "\n".join(lines).replace("%", "%%") + "\n"


@dataclass(frozen=True)
class Situation:
    """What runs while the configuration changes; ``known`` is False where Docker cannot be asked."""

    known: bool
    containers: int
    running_services: tuple[str, ...]
    installed_services: tuple[str, ...]


def may_restart(situation: Situation, allowed: bool) -> bool:
    """Whether dockerd may be restarted: never under a vLLM service; by itself only on a host where nothing runs and no
    vLLM service would be started with it; elsewhere when a human named the host."""
    if not situation.known or situation.running_services:
        return False
    return allowed or not (situation.containers or situation.installed_services)


def pending_text(keys: Iterable[str], situation: Situation, host_word: str) -> str:
    """Say what waits for a restart of Docker and how it is done."""
    what = f"Docker has to be restarted to use: {', '.join(keys)}"
    if not situation.known:
        return f"{what}. It runs and does not answer; on the host: systemctl status docker"
    if situation.running_services:
        names = ",".join(situation.running_services)
        return (
            f"{what}. It is not while vLLM services run ({names}): stop them (ansible-playbook gpuhosts.vllm.stop"
            f" -e vllm_confirm={names}), then run again with -e {host_word}=<this host>, then start them"
        )
    others = f"This host has other work ({situation.containers} containers) or installed vLLM services"
    return f"{what}. {others}: run with -e {host_word}=<this host>"
