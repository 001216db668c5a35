# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One pull: its name, its script, what its output says of progress and of the reason why it failed.

Private to the collection.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from ..host.refusal import Refusal, refusal
from ..host.room import moved
from .manifest import platform_text
from .reference import is_digest, parse_reference
from .resolve import Get, resolve
from .settings import RegistrySettings

_LAYER = re.compile(r"^([0-9a-f]{12}): (.+?)\s*$", re.MULTILINE)
_DONE = ("Pull complete", "Already exists")

# What Docker prints, the kind that it is of, what it means, and what to do. The first that fits counts.
_REASONS = (
    (
        r"no space left on device",
        "disk_room",
        "Docker's file system is full",
        "free room (docker system df) or move Docker's folder to a larger disk",
    ),
    (
        r"toomanyrequests|rate limit",
        "registry_limit",
        "the registry's pull limit is reached",
        "set a login or a mirror in vllm_registry, or wait",
    ),
    (
        r"unauthorized|authentication required|access denied|no basic auth|denied:|forbidden",
        "registry_auth",
        "the registry refuses the login, or wants one",
        "set vllm_registry.server, username and password; a name that does not exist looks the same",
    ),
    (
        r"manifest unknown|manifest for .* not found|: not found|does not match",
        "image_not_found",
        "the registry has no such digest",
        "compare vllm.lock.yml with the registry; lock the tag again with -e vllm_relock=<image:tag>",
    ),
    (
        r"x509|certificate|tls:",
        "registry_ca",
        "the registry's certificate is not trusted",
        "set vllm_registry.server and ca_cert to the CA that signed it",
    ),
    (
        r"server gave HTTP response to HTTPS client",
        "registry_insecure",
        "the registry speaks plain http",
        "give it TLS, or list it in vllm_registry.insecure",
    ),
    (
        r"dial tcp|no such host|timeout|connection refused|network is unreachable|deadline exceeded|EOF|proxyconnect",
        "registry_unreachable",
        "the registry cannot be reached from this host",
        "check name, route and proxy from the host; vllm_registry has mirror and proxy",
    ),
    (
        r"Cannot connect to the Docker daemon",
        "docker_unreachable",
        "Docker stopped answering during the pull",
        "on the host: systemctl status docker",
    ),
)


def require_pull(service: str, pull: str) -> None:
    """Stop at an image that is not pinned by a digest: a tag may mean something else tomorrow."""
    try:
        pinned = is_digest(parse_reference(pull).digest or "")
    except ValueError:
        pinned = False
    if not pinned:
        raise refusal(
            "image_unlocked",
            f"{service}: pull {pull}",
            "this is not repository@sha256: with 64 hexadecimal digits",
            "run the playbook gpuhosts.vllm.lock, review vllm.lock.yml and commit it",
        )


def check_pulled(pull: str, found: Mapping[str, Any], platform: str) -> None:
    """Stop where Docker's image of this name is not what was asked, or not for this host."""
    digests = [each.rpartition("@")[2] for each in found.get("RepoDigests") or ()]
    if pull.rpartition("@")[2] not in digests:
        raise refusal(
            "image_digest_wrong",
            f"image {pull}",
            f"Docker has an image of this name with the digests {', '.join(digests) or 'none'}",
            f"docker image rm {pull}, then run again",
        )
    here = platform_text({"os": found.get("Os"), "architecture": found.get("Architecture")})
    if here != platform:
        raise refusal(
            "image_platform",
            f"image {pull}",
            f"it is made for {here} and this host is {platform}",
            "choose an image for this host's processor, then run the lock playbook",
        )


def pull_name(pull: str) -> str:
    """The name of the job that pulls this digest: the same for everybody who wants it."""
    return "pull-" + pull.rpartition("sha256:")[2][:12]


def pull_script(pull: str, config_folder: str | None, home: str) -> str:
    """The commands of the pull; a login of ours is in a configuration folder of its own, never in the user's."""
    setting = f"DOCKER_CONFIG={shlex.quote(config_folder)}" if config_folder else f"HOME={shlex.quote(home)}"
    return f"{setting} docker pull {shlex.quote(pull)}"


def pull_progress(log: str, in_flight: int, total: int | None) -> str:
    """Say in one line how far a pull is: layers that are done, and what is being downloaded and unpacked."""
    states = dict(_LAYER.findall(log))
    done = sum(state in _DONE for state in states.values())
    if not states:
        return "asking the registry"
    size = f" of {moved(total)} in all" if total else ""
    return f"{done} of {len(states)} layers done, {moved(in_flight)} in flight{size}"


def explain_pull(log: str, pull: str, status: int | None) -> Refusal:
    """Say why a pull failed, with Docker's own last words."""
    lines = [line for line in log.splitlines() if line.strip() and not _LAYER.match(line)]
    said = lines[-1].strip() if lines else "nothing"
    for pattern, kind, meaning, remedy in _REASONS:
        if re.search(pattern, log, re.IGNORECASE):
            return refusal(kind, f"image {pull}", f"{meaning}; Docker says: {said}", remedy)
    ended = "was ended from outside" if status is None else f"failed with exit status {status}"
    return refusal("pull_failed", f"image {pull}", f"the pull {ended}; Docker says: {said}", f"docker pull {pull}")


def second_opinion(first: Refusal, pull: str, settings: RegistrySettings, get: Get) -> Refusal:
    """Ask mirror and registry why a pull failed: what a mirror answered Docker does not tell."""
    told = first.finding
    if told.id not in ("registry_unreachable", "image_not_found"):
        return first
    try:
        resolved = resolve(parse_reference(pull), settings, get)
    except Refusal as second:
        return second
    return refusal(
        "docker_registry",
        told.subject,
        f"{told.message}; but asked without Docker, {resolved.source} has it",
        "compare Docker's own mirrors and proxy with vllm_registry: docker info (a proxy needs a restart of Docker)",
    )
