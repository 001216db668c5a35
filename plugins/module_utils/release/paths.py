# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The names of everything that a service has on a host, in one place.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LABEL_SERVICE = "io.gpuhosts.vllm.service"
LABEL_RELEASE = "io.gpuhosts.vllm.release"
LABEL_PROBE = "io.gpuhosts.vllm.probe"

STATE_ROOT = "var/lib/gpuhosts-vllm"
CONFIG_ROOT = "etc/gpuhosts-vllm"
RUN_ROOT = "run/gpuhosts-vllm"
CACHE_ROOT = "var/cache/gpuhosts-vllm"
TOOL_ROOT = "usr/local/lib/gpuhosts-vllm"
TOOL_LINK = "usr/local/bin/vllm-host"
HEALTH_LINK = "usr/local/bin/vllm-health"


@dataclass(frozen=True)
class Paths:
    """Where one service keeps its things; ``root`` is another folder than ``/`` in tests only."""

    service: str
    root: str = "/"

    @property
    def unit(self) -> str:
        """The systemd unit of the service."""
        return f"vllm-{self.service}.service"

    @property
    def driver_unit(self) -> str:
        """The transient unit that drives a run of the service."""
        return f"gpuhosts-vllm-run-{self.service}.service"

    @property
    def container(self) -> str:
        """The name of the service's one container."""
        return f"vllm-{self.service}"

    @property
    def unit_file(self) -> Path:
        """The unit as a file."""
        return Path(self.root) / "etc/systemd/system" / self.unit

    @property
    def boot_link(self) -> Path:
        """What `systemctl enable` makes: it lets a start of Docker, so also a boot, start the service."""
        return self.unit_file.parent / "docker.service.wants" / self.unit

    @property
    def secrets(self) -> Path:
        """The 0600 file with the secrets, the only place that has their values."""
        return Path(self.root) / CONFIG_ROOT / self.service / "secrets"

    @property
    def earlier_secrets(self) -> Path:
        """The values that the container which is there was started with, when the file has newer ones."""
        return self.secrets.with_name("secrets.before")

    @property
    def next_secrets(self) -> Path:
        """The values that a rotation is going to bring."""
        return self.secrets.with_name("secrets.next")

    @property
    def back_secrets(self) -> Path:
        """The values that a rotation goes back to, until it is committed."""
        return self.secrets.with_name("secrets.back")

    @property
    def state(self) -> Path:
        """The folder that outlives a reboot."""
        return Path(self.root) / STATE_ROOT / self.service

    @property
    def releases(self) -> Path:
        """All releases that were staged on this host."""
        return self.state / "releases"

    def release(self, release_id: str) -> Path:
        """The folder of one release: release.json, run, args, entry, gate.json."""
        return self.releases / release_id

    @property
    def starts(self) -> Path:
        """All starts of the service that are kept, also the failed ones."""
        return self.state / "starts"

    def start(self, seq: int) -> Path:
        """The evidence of one start: log, startup.json, state.json."""
        return self.starts / str(seq)

    @property
    def current(self) -> Path:
        """The link to the release that the service runs."""
        return self.state / "current"

    @property
    def last_good(self) -> Path:
        """The link to the newest release that was committed here."""
        return self.state / "last_good"

    @property
    def stopped(self) -> Path:
        """There while the service was stopped by a run: such a service stays down over a reboot."""
        return self.state / "stopped"

    @property
    def freeze(self) -> Path:
        """There while a human forbids changes; its text says who and why."""
        return self.state / "freeze"

    @property
    def journal(self) -> Path:
        """The append-only record of all runs."""
        return self.state / "journal.jsonl"

    @property
    def volatile(self) -> Path:
        """The folder that a reboot empties."""
        return Path(self.root) / RUN_ROOT / self.service

    @property
    def lease(self) -> Path:
        """Locked by the one process that drives a run."""
        return self.volatile / "lease"

    @property
    def open_run(self) -> Path:
        """Holds the id of the open run; gone after a reboot, which is how one is noticed."""
        return self.volatile / "run"

    @property
    def awaits(self) -> Path:
        """There while the open run waits for the controller's confirmation."""
        return self.volatile / "awaits"

    @property
    def confirmed(self) -> Path:
        """Holds the id of the run that the controller has confirmed."""
        return self.volatile / "confirmed"

    @property
    def called_back(self) -> Path:
        """There when somebody wants the open run to go back; its text says who and why."""
        return self.volatile / "called_back"

    @property
    def progress(self) -> Path:
        """The lines that people read while a run is under way."""
        return self.volatile / "progress"

    @property
    def cid(self) -> Path:
        """Where Docker writes the container id of this start."""
        return self.volatile / "cid"

    @property
    def boot_marker(self) -> Path:
        """One random word a boot, shared by all services of the host."""
        return Path(self.root) / RUN_ROOT / "boot"

    @property
    def starts_lock(self) -> Path:
        """Locked for the moment in which a start decides if it may begin; no service can have its name."""
        return Path(self.root) / RUN_ROOT / "starts.lock"

    @property
    def hub_cache(self) -> Path:
        """The Hugging Face cache of the host."""
        return Path(self.root) / CACHE_ROOT / "hf"

    def compile_cache(self, image_id: str, uid: int = 0) -> Path:
        """The compile caches of one image, apart for each user that does not run as root."""
        owner = f"-u{uid}" if uid else ""
        return Path(self.root) / CACHE_ROOT / "compile" / (image_id.split(":", 1)[-1] + owner)

    def image_options(self, image_id: str) -> Path:
        """What an image says of its own options."""
        return Path(self.root) / CACHE_ROOT / "options" / (image_id.split(":", 1)[-1] + ".json")
