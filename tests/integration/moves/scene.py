"""One committed service on a lab host, brought to the begin of any kind of run, and its runs cut at any record."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.committed import wait_until
from tests.integration.harness import Inventory, service
from tests.integration.lab_host import LabHost

GUEST = Path(__file__).parents[2] / "lab" / "guest"
STATE = "/var/lib/gpuhosts-vllm/chat"
SECRETS = "/etc/gpuhosts-vllm/chat"
UNIT = "/etc/systemd/system/vllm-chat.service"
KEYS = ("first-key-of-the-service", "second-key-of-the-service")
QUICK = {"STANDIN_START_SECONDS": "0.5", "STANDIN_WARM_SECONDS": "0.5", "STANDIN_STOP_SECONDS": "0.1"}
LENGTHS = (1024, 512)


def chat(length: int) -> dict[str, Any]:
    """The service with a context of ``length``: each length is a release of its own."""
    config = {"served-model-name": ["chat"], "max-model-len": length}
    return service(config=config, env=QUICK, gate={"soak": "1s", "silence": "30s"})


@dataclass
class Scene:
    """The host, and the two releases that were committed on it."""

    host: LabHost
    releases: tuple[str, ...] = ()

    @classmethod
    def make(cls, host: LabHost, inventory: Inventory) -> Scene:
        """Deploy one release, upgrade to the other one, and keep the service as it is then."""
        host.reset()
        for verb, length in (("deploy", LENGTHS[0]), ("upgrade", LENGTHS[1])):
            inventory.declare({"chat": chat(length)}, vllm_secrets={"chat": {"VLLM_API_KEY": KEYS[0]}})
            played = inventory.play(verb, vllm_confirm="chat")
            assert played.rc == 0, played.text
        made = cls(host, tuple(sorted(host.run(f"ls {STATE}/releases").split())))
        assert len(made.releases) == 2
        site = host.run("python3 -c 'import site; print(site.getsitepackages()[0])'")
        for name in ("cut.py", "moves.py"):
            folder = site if name == "cut.py" else "/usr/local/lab"
            host.run(f"mkdir -p {folder}; cat > {folder}/lab_{name} <<'END'\n{(GUEST / name).read_text()}END")
        host.run(
            f"echo 'import lab_cut' > {site}/lab_cut.pth; systemctl stop vllm-chat; "
            f"tar -cf /usr/local/lab/chat.tar {STATE} {SECRETS} {UNIT}; systemctl start vllm-chat"
        )
        return made

    def close(self) -> None:
        """Take the faults out of the host's Python."""
        site = self.host.run("python3 -c 'import site; print(site.getsitepackages()[0])'")
        self.host.run(f"rm -f {site}/lab_cut.* /usr/local/lab/lab_moves.py /usr/local/lab/chat.tar")

    @property
    def active(self) -> bool:
        """Whether the unit is up."""
        return self.host.run("systemctl is-active vllm-chat || true") == "active"

    def link(self, name: str) -> str | None:
        """The release that a link of the service names."""
        return self.host.run(f"readlink {STATE}/{name} || true").rpartition("/")[2] or None

    def links(self) -> tuple[str | None, str | None]:
        """What is current, and what was good last."""
        return self.link("current"), self.link("last_good")

    def other(self) -> str:
        """The release that is not the current one."""
        return next(each for each in self.releases if each != self.link("current"))

    def opens(self, key: str) -> bool:
        """Whether a key opens the server."""
        ask = "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8000/v1/models"
        return self.host.run(f"{ask} -H 'Authorization: Bearer {key}'", check=False) == "200"

    def key(self) -> str:
        """The key that lies on the host."""
        text = self.host.run(f"cat {SECRETS}/secrets")
        return next(key for key in KEYS if key in text)

    def drive(self, **told: Any) -> dict[str, Any]:
        """Open a run, cut where it is told, and see how it went; without a kind: see how the last one ended."""
        words = json.dumps({"service": "chat", **told})
        return dict(json.loads(self.host.run(f"python3 /usr/local/lab/lab_moves.py '{words}'")))

    def serves(self) -> None:
        """Let it serve one of the two releases, both committed: as it is, or as it was when the scene was made."""
        self.host.run("systemctl reset-failed vllm-chat docker.service", check=False)
        current, good = self.links()
        if self.active and current == good and current in self.releases:
            return
        self.host.run(
            f"systemctl stop vllm-chat; rm -rf {STATE} {SECRETS} /run/gpuhosts-vllm/chat; "
            "tar -xf /usr/local/lab/chat.tar -C /; systemctl daemon-reload; systemctl enable -q vllm-chat; "
            "systemctl start vllm-chat"
        )
        wait_until("the service serves", lambda: self.active, 60)

    def is_down(self) -> None:
        """Let it be stopped for good."""
        self.serves()
        assert self.drive(kind="stop", release=self.link("current"))["ended"] == "committed"

    def is_staged(self) -> None:
        """Let it be there as before its first start."""
        self.is_down()
        self.host.run(f"cd {STATE} && rm -rf journal.jsonl current last_good starts stopped")
