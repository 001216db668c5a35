"""A host of the lab as a test holds it: run a command, look, put back."""

from __future__ import annotations

import functools
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import testinfra

from tests.lab import engine, hosts, names, restore
from tests.lab.snapshots import Snapshot, differences, snapshot

if TYPE_CHECKING:
    from testinfra.host import Host

# "gpu2=mine": run the tests of gpu2 on another host of the lab (`python -m tests.lab hosts-new mine`).
STANDS_FOR = dict(pair.split("=") for pair in os.environ.get("GPUHOSTS_LAB_AS", "").split(",") if pair)

# The hosts that the test under way has used, by their names in the tests.
TOUCHED: set[str] = set()


def address_of(name: str) -> str:
    """Give the address of the host that stands for a host of the lab."""
    container = hosts.running(engine.client(), STANDS_FOR.get(name, name))
    return str(container.labels[names.LABEL_ADDRESS])


@dataclass(frozen=True)
class Look:
    """What a host looked like at one moment."""

    seen: Snapshot

    def difference(self, before: Look) -> list[str]:
        """Say line by line what changed since ``before``."""
        return differences(before.seen, self.seen)


class Lab(dict[str, "LabHost"]):
    """The hosts by name; whoever takes one has touched it."""

    def __getitem__(self, name: str) -> LabHost:
        """Give a host, and remember that it was used."""
        TOUCHED.add(name)
        return super().__getitem__(name)

    def __missing__(self, name: str) -> LabHost:
        """A host beside the standing set, which a test has made."""
        self[name] = LabHost(name)
        return super().__getitem__(name)


@dataclass(frozen=True)
class LabHost:
    """One host, past ssh and Ansible."""

    name: str

    @property
    def real(self) -> str:
        """The host of the lab that stands for this one."""
        return STANDS_FOR.get(self.name, self.name)

    @functools.cached_property
    def infra(self) -> Host:
        """The same host as testinfra holds it."""
        return testinfra.get_host(f"docker://{names.Place(self.real, '', '').container}")

    def run(self, command: str, *, check: bool = True) -> str:
        """Run a shell command as root and give what it said, without the last line end."""
        done = hosts.exec_on(self.real, command)
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
        return Look(snapshot(self.real))

    def reset(self, **options: Any) -> None:
        """Put the host back to how the lab made it; images stay."""
        restore.reset(self.real, **options)

    def forget_images(self, name: str) -> None:
        """Remove the images of a repository, so that only a registry has them."""
        repository = name.rpartition(":")[0]
        self.run(f"docker images -q {repository} --no-trunc | sort -u | xargs -r docker rmi -f")

    def reboot(self) -> None:
        """Restart the host in an orderly way."""
        hosts.reboot(self.real)

    def power_cut(self) -> None:
        """Take its power away and give it back."""
        hosts.power_cut(self.real)
