# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Stage a release: lay down its files without touching what runs.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..findings import WARNING, Finding
from ..io import containers
from ..io.files import link_name
from ..io.host_tool import linked
from ..io.releases import read_files, read_record, rewrite, write_new
from ..io.systemd import show
from ..release.files import GATE_NAME, RECORD_NAME, immutable_files
from ..release.paths import TOOL_LINK, Paths
from ..release.plan import playbook
from ..release.record import HostFacts, RecordError, ReleaseRecord, make_record

_RUN_FILES = ("run", "entry", "args")


@dataclass(frozen=True)
class Staged:
    """What staging changed, or would change."""

    release: str
    changed: bool = False
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @property
    def actions(self) -> list[str]:
        """In words."""
        return [f"write releases/{self.release}/{name}" for name in self.after]


def host_facts(content: Mapping[str, Any], known: Mapping[str, Any]) -> HostFacts:
    """What this host adds to the release: the user inside the image is asked of the image itself."""
    uid, gid = containers.user_of(known["image_id"], content["user"])
    return HostFacts(
        image_id=known["image_id"],
        device_request=known["device_request"],
        platform_digest=known["platform_digest"],
        secret_names=tuple(sorted(known["secret_names"])),
        uid=uid,
        gid=gid,
        tool_version=tool_version(),
    )


def tool_version() -> str | None:
    """The program that is installed on this host, by its file name."""
    target = linked()[TOOL_LINK]
    return target.rsplit("/", 1)[-1][: -len(".pyz")] if target else None


def stage(paths: Paths, record: ReleaseRecord, gate: str, *, check: bool) -> Staged:
    """Write what is missing or differs. What a running engine was started with is never rewritten under it."""
    wanted = {**immutable_files(_keep_tool_version(paths, record)), GATE_NAME: gate}
    found = read_files(paths, record.id, list(wanted))
    after = {name: text for name, text in wanted.items() if found.get(name) != text}
    findings: tuple[Finding, ...] = ()
    if RECORD_NAME in found and set(after) & set(_RUN_FILES) and _in_use(paths, record.id):
        findings = (_kept(paths, record.id, sorted(set(after) & set(_RUN_FILES))),)
        after = {name: text for name, text in after.items() if name == GATE_NAME}
    if after and not check:
        if RECORD_NAME in found:
            rewrite(paths, record.id, after)
        else:
            write_new(paths, record.id, wanted)
    before = {name: found.get(name, "") for name in after}
    return Staged(record.id, bool(after), before, after, findings)


def stage_unknown(paths: Paths, release_id: str, content: Mapping[str, Any]) -> Staged:
    """Check mode on a host without the image: the content is all that can be told of the release."""
    if RECORD_NAME in read_files(paths, release_id, [RECORD_NAME]):
        return Staged(release_id)
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return Staged(release_id, True, {RECORD_NAME: ""}, {RECORD_NAME: text})


def make_host_record(service: str, content: Mapping[str, Any], known: Mapping[str, Any]) -> ReleaseRecord:
    """The record of the release on this host; RecordError or DockerError say why there is none."""
    return make_record(service, content, host_facts(content, known))


def _keep_tool_version(paths: Paths, record: ReleaseRecord) -> ReleaseRecord:
    """A newer tool that would write the same files is no reason to write them again."""
    try:
        found = read_record(paths, record.id)
    except (RecordError, ValueError):
        return record
    if found is None:
        return record
    return replace(record, host=replace(record.host, tool_version=found.host.tool_version))


def _in_use(paths: Paths, release_id: str) -> bool:
    unit = show(paths.unit)
    return link_name(paths.current) == release_id and unit is not None and unit.is_running


def _kept(paths: Paths, release_id: str, names: list[str]) -> Finding:
    return Finding(
        id="release_in_use",
        severity=WARNING,
        subject=paths.service,
        message=f"{', '.join(names)} of {release_id} would be written differently now, but the engine that runs was "
        "started with it; it was left as it is",
        remedy=f"{playbook('stop', paths.service)}, then deploy and {playbook('start', paths.service)}",
    )
