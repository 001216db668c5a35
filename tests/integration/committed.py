"""A committed service on a lab host, for tests that end it in every way and see how it comes back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from tests.integration.harness import Inventory, Played, ansible
from tests.integration.lab_host import LabHost
from tests.lab import engine, hosts

# A start that finds its compile cache takes a second; one that does not loads long enough to be hit while it does.
COLD, WARM = 10, 1
ENV = {"STANDIN_START_SECONDS": str(COLD), "STANDIN_WARM_SECONDS": str(WARM)}
CACHE = "/var/cache/gpuhosts-vllm/compile"


@dataclass
class Committed:
    """One service that was deployed and committed."""

    host: LabHost
    inventory: Inventory
    name: str = "chat"
    rows: list[str] = field(default_factory=list)

    @property
    def unit(self) -> str:
        """The unit of the service, and the name of its container."""
        return f"vllm-{self.name}"

    @property
    def state(self) -> str:
        """The folder with what is known of it."""
        return f"/var/lib/gpuhosts-vllm/{self.name}"

    def start(self, seq: int) -> dict[str, Any]:
        """Give what the host kept of a start."""
        return dict(json.loads(self.host.run(f"cat {self.state}/starts/{seq}/state.json 2>/dev/null || echo '{{}}'")))

    def log(self, seq: int) -> str:
        """Give the log that the host kept of a start."""
        return self.host.run(f"cat {self.state}/starts/{seq}/log 2>/dev/null || true")

    def newest(self) -> int:
        """Give the number of the newest start."""
        return int(self.host.run(f"ls {self.state}/starts 2>/dev/null | sort -n | tail -1", check=False) or 0)

    def active(self) -> str:
        """Give what systemd says of the unit."""
        return self.host.run(f"systemctl is-active {self.unit} || true")

    def status(self) -> str:
        """Give what the host tells people about the service."""
        return self.host.run(f"vllm-host status {self.name}", check=False)

    def fresh_limit(self) -> None:
        """Forget the starts so far: a row of a table that fails on purpose is not to be the fifth."""
        self.host.run(f"systemctl reset-failed {self.unit} docker.service", check=False)

    def slow(self) -> None:
        """Let the next starts take long."""
        self.host.run(f"find {CACHE} -name standin -exec mv {{}} {{}}.away ';'")

    def quick(self) -> None:
        """Let the next starts find their compile cache."""
        self.host.run(f"find {CACHE} -name standin.away -exec sh -c 'mv $1 ${{1%.away}}' - {{}} ';'")

    def loads(self) -> int:
        """Restart it with an engine that takes long, and give the number of the start once that engine loads."""
        before = self.newest()
        self.slow()
        self.host.run(f"systemctl restart --no-block {self.unit}")
        return self.loading_after(before)

    def loading_after(self, before: int, seconds: float = 120) -> int:
        """Wait until a start after ``before`` loads its model, and give its number."""
        stages = ("loading weights", "weights loaded", "model loaded", "compiling", "compiled", "sizing the KV cache")
        look = f"systemctl show {self.unit} --property StatusText --value"

        def loading() -> bool:
            if self.newest() <= before:
                return False
            stage = self.host.run(look, check=False)
            return stage.startswith(stages)

        wait_until(f"a start after {before} loads", loading, seconds)
        return self.newest()

    def serving_after(self, before: int, seconds: float = 180) -> int:
        """Wait until a start after ``before`` is ready, and give its number."""

        def serving() -> bool:
            return self.newest() > before and self.active() == "active"

        wait_until(f"a start after {before} serves", serving, seconds)
        return self.newest()

    def proves(self) -> None:
        """Prove on the host that it serves, by the module that verify.yml uses."""
        done = ansible(
            "ansible",
            *("gpu1", "-i", str(self.inventory.folder / "hosts.json"), "-b"),
            *("-m", "gpuhosts.vllm.vllm_verify", "-a", f"service={self.name}"),
        )
        assert done.rc == 0, done.text
        assert self.host.run("docker ps -aq --filter label=io.gpuhosts.vllm.service | wc -l") == "1"

    def play(self, verb: str, **extra: Any) -> Played:
        """Run a playbook about it."""
        return self.inventory.play(verb, **extra)


def wait_until(what: str, look: Callable[[], object], seconds: float, every: float = 0.3) -> None:
    """Wait until ``look`` says something true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if look():
            return
        time.sleep(every)
    raise AssertionError(f"not within {seconds:.0f} s: {what}")


def seconds_to_multi_user(host: LabHost) -> float:
    """Seconds from the moment that the host's container was started to the end of its boot."""
    began = hosts.running(engine.client(), host.real).attrs["State"]["StartedAt"]
    words = "systemctl show multi-user.target --property ActiveEnterTimestamp --value --timestamp=us+utc"
    assert host.wait("systemctl is-active multi-user.target", "active", seconds=60)
    text = host.run(words).removesuffix(" UTC")
    ended = datetime.strptime(text, "%a %Y-%m-%d %H:%M:%S.%f").replace(tzinfo=timezone.utc)
    return (ended - datetime.fromisoformat(began[:26].rstrip("Z") + "+00:00")).total_seconds()
