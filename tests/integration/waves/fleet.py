"""The fleet of five: its definition, what each host has, and the upgrade in waves of two."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from tests.integration.harness import Inventory, Played, service
from tests.integration.lab_host import Lab

FLEET = ("wave1", "wave2", "wave3", "wave4", "wave5")
STATE = "/var/lib/gpuhosts-vllm/chat"
ENV = {"STANDIN_START_SECONDS": "1", "STANDIN_WARM_SECONDS": "0.5", "STANDIN_DEATH_SECONDS": "0.5"}
WORDS = ("--forks", "5", "-e", "vllm_confirm=chat", "-e", "vllm_serial=2", "-e", "vllm_patience=10")


def chat(length: int, **env: str) -> dict[str, Any]:
    """The service with a context of ``length``: each length is a release of its own."""
    config = {"served-model-name": ["chat"], "max-model-len": length}
    return service(config=config, env={**ENV, **env})


def quick_to_notice(inventory: Inventory) -> None:
    """Let ssh notice in seconds that a host is gone, as the runbook of deploy advises; and keep a report."""
    path = inventory.folder / "hosts.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    alive = "-o ServerAliveInterval=2 -o ServerAliveCountMax=2 -o ConnectTimeout=5"
    data["all"]["vars"]["ansible_ssh_args"] += f" {alive}"
    data["all"]["vars"]["vllm_report_file"] = str(inventory.folder / "report.json")
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")


@dataclass
class Fleet:
    """The five hosts and their inventory."""

    inventory: Inventory
    lab: Lab

    def wants(self, length: int, **on_host: dict[str, str]) -> None:
        """Ask for a release; ``on_host`` sets environment of the engine on single hosts."""
        self.inventory.declare({"chat": chat(length)})
        folder = self.inventory.folder / "host_vars"
        folder.mkdir(exist_ok=True)
        for host in FLEET:
            env = on_host.get(host, {})
            # What is called like a secret has to be one: it reaches the engine's environment all the same.
            secrets = {name: value for name, value in env.items() if "TOKEN" in name}
            plain = {name: value for name, value in env.items() if name not in secrets}
            more = {"vllm_extra_services": {"chat": {"env": plain}}, "vllm_secrets": {"chat": secrets}}
            (folder / f"{host}.yml").write_text(json.dumps(more if env else {}))

    def upgrade(self, *more: str) -> Played:
        """Upgrade all, one host first, then two by two."""
        return self.inventory.play("upgrade", *WORDS, *more)

    def report(self) -> dict[str, dict[str, Any]]:
        """The change of each host, as the report file has it."""
        data = json.loads((self.inventory.folder / "report.json").read_text(encoding="utf-8"))
        return {entry["host"]: entry["change"] for entry in data["services"]}

    def current(self, host: str) -> str:
        """The release that a host has and has committed."""
        return self.lab[host].run(f"cd {STATE} && test $(readlink current) = $(readlink last_good) && readlink current")

    def currents(self) -> list[str]:
        """The same of all hosts, in order."""
        return [self.current(host) for host in FLEET]

    def journals(self, *hosts: str) -> list[str]:
        """What the journals of hosts say, to see that nothing came to them."""
        return [self.lab[host].run(f"cat {STATE}/journal.jsonl; docker ps -q --no-trunc") for host in hosts]

    def take_back(self, printed: str) -> Played:
        """Run the command that a report printed."""
        line = next(line.strip() for line in printed.splitlines() if "gpuhosts.vllm.rollback" in line)
        program, playbook, *words = shlex.split(line)
        assert (program, playbook) == ("ansible-playbook", "gpuhosts.vllm.rollback")
        return self.inventory.play("rollback", "--forks", "5", *words)
