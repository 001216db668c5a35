"""A host of the lab as a test holds it: run a command, look, put back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from tests.lab import hosts, restore
from tests.lab.snapshots import Snapshot, differences, snapshot


@dataclass(frozen=True)
class Look:
    """What a host looked like at one moment."""

    seen: Snapshot

    def difference(self, before: Look) -> list[str]:
        """Say line by line what changed since ``before``."""
        return differences(before.seen, self.seen)


@dataclass(frozen=True)
class LabHost:
    """One host, past ssh and Ansible."""

    name: str

    def run(self, command: str, *, check: bool = True) -> str:
        """Run a shell command as root and give what it said, without the last line end."""
        done = hosts.exec_on(self.name, command)
        assert not check or done.code == 0, f"{self.name}: {command}: {done.code}: {done.stdout}{done.stderr}"
        return done.stdout.rstrip("\n")

    def wait(self, command: str, wanted: str, *, seconds: float) -> bool:
        """Wait until a command says ``wanted``; False when the time is over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(command, check=False) == wanted:
                return True
            time.sleep(0.5)
        return False

    def snapshot(self) -> Look:
        """Look at everything that the collection may touch."""
        return Look(snapshot(self.name))

    def reset(self, **options: Any) -> None:
        """Put the host back to how the lab made it; images stay."""
        restore.reset(self.name, **options)

    def forget_images(self, name: str) -> None:
        """Remove the images of a repository, so that only a registry has them."""
        repository = name.rpartition(":")[0]
        self.run(f"docker images -q {repository} --no-trunc | sort -u | xargs -r docker rmi -f")
