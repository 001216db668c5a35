"""Run the project's playbooks against lab hosts the way a user does, and read what Ansible said."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.integration.lab_host import STANDS_FOR, TOUCHED, address_of

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / ".build" / "tree"
LAB_HOSTS = ROOT / "inventories" / "lab" / "hosts.yml"
STANDIN = "lab/vllm-standin:v0.32.0"
MODEL = "/srv/models/tiny-llama"

_RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.M)
_CHANGED = re.compile(r"^changed: \[([^\]\s]+)\](?: => \(item=(.*?)\))?", re.M)


@dataclass(frozen=True)
class Played:
    """What one playbook run left: exit status, its text, counts by host, and the tasks that said changed."""

    rc: int
    text: str
    seconds: float
    recap: Mapping[str, Mapping[str, int]]
    changed: tuple[tuple[str, str], ...] = field(default=())

    def changes(self, host: str) -> int:
        """How many changes a host's recap counts."""
        return self.recap[host]["changed"]


def read(text: str) -> tuple[dict[str, dict[str, int]], tuple[tuple[str, str], ...]]:
    """Read the recap, and (task, host) for every changed line, from the default callback's text."""
    recap = {
        host: {"ok": int(ok), "changed": int(changed), "unreachable": int(lost), "failed": int(failed)}
        for host, ok, changed, lost, failed in _RECAP.findall(text)
    }
    changed, task = [], ""
    for line in text.splitlines():
        if line.startswith("TASK ["):
            task = line[6 : line.rindex("]")]
        match = _CHANGED.match(line)
        if match:
            changed.append((task, match.group(1)))
    return recap, tuple(changed)


@dataclass
class Inventory:
    """A folder with an inventory of lab hosts, their services and the lock file."""

    folder: Path

    @classmethod
    def make(
        cls,
        folder: Path,
        services: Mapping[str, Any],
        *,
        hosts: tuple[str, ...] = ("gpu1",),
        lock: Path | None = None,
        **variables: Any,
    ) -> Inventory:
        """Write an inventory whose ``vllm_servers`` are the given lab hosts."""
        folder.mkdir(parents=True, exist_ok=True)
        known = yaml.safe_load(LAB_HOSTS.read_text(encoding="utf-8"))["all"]
        addresses = {name: entry for group in known["children"].values() for name, entry in group["hosts"].items()}
        looked_up = [host for host in hosts if host in STANDS_FOR or host not in addresses]
        stand_ins = {host: {"ansible_host": address_of(host)} for host in looked_up}
        servers = {"hosts": {host: {**addresses.get(host, {}), **stand_ins.get(host, {})} for host in hosts}}
        inventory = {"all": {"vars": known["vars"], "children": {"vllm_servers": servers}}}
        (folder / "hosts.json").write_text(json.dumps(inventory, indent=1))
        made = cls(folder)
        made.declare(services, **variables)
        if lock is not None:
            shutil.copy(lock, folder / "vllm.lock.yml")
        return made

    def declare(self, services: Mapping[str, Any], **variables: Any) -> None:
        """Write the services and other variables of the group. JSON is YAML."""
        group = self.folder / "group_vars"
        group.mkdir(exist_ok=True)
        registry = {"mirror": "http://10.212.0.2:5000"}
        content = {"vllm_services": dict(services), "vllm_registry": registry, **variables}
        (group / "vllm_servers.yml").write_text(json.dumps(content, indent=1))

    def hosts(self) -> list[str]:
        """Give the lab hosts that this inventory names."""
        return list(json.loads((self.folder / "hosts.json").read_text())["all"]["children"]["vllm_servers"]["hosts"])

    def play(self, name: str, *arguments: str, timeout: float = 600, **extra: Any) -> Played:
        """Run one playbook of the collection; ``extra`` become extra variables."""
        TOUCHED.update(self.hosts())
        words = [f"gpuhosts.vllm.{name}", "-i", str(self.folder / "hosts.json"), *arguments]
        if extra:
            words += ["-e", json.dumps(extra)]
        return ansible("ansible-playbook", *words, timeout=timeout)


def service(**changes: Any) -> dict[str, Any]:
    """Give the definition of a stand-in service that starts in a second or two."""
    definition: dict[str, Any] = {
        "image": STANDIN,
        "model": MODEL,
        "port": 8000,
        "gpus": "none",
        "shm_size": "64m",
        "config": {"served-model-name": ["chat"], "max-model-len": 1024},
        "gate": {"soak": "1s", "silence": "30s"},
    }
    return {**definition, **changes}


def binary(command: str) -> str:
    """Find a command of the environment that runs the tests."""
    return str(Path(sys.executable).with_name(command))


def environment() -> dict[str, str]:
    """Give the environment that lets Ansible find the collection by its name, and write plain text."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(TREE),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_FORCE_COLOR": "0",
        "ANSIBLE_LOCALHOST_WARNING": "False",
        "ANSIBLE_DEPRECATION_WARNINGS": "False",
    }


def begin(inventory: Inventory, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Begin a playbook in a process group of its own, for tests that end it in mid-play; its text is in `began`."""
    TOUCHED.update(inventory.hosts())
    hosts = str(inventory.folder / "hosts.json")
    words = [binary("ansible-playbook"), f"gpuhosts.vllm.{name}", "-i", hosts, *arguments]
    with (inventory.folder / "began").open("wb") as text:
        return subprocess.Popen(
            words,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=text,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a playbook as a lost controller ends it: with its workers, which have process groups of their own."""
    family = [process.pid]
    for pid in family:
        children = Path(f"/proc/{pid}/task/{pid}/children")
        family += [int(child) for child in children.read_text().split()] if children.exists() else []
    for pid in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def ansible(command: str, *arguments: str, timeout: float = 600) -> Played:
    """Run an Ansible command of the environment that runs the tests, with the collection found by its name."""
    began = time.monotonic()
    done = subprocess.run(
        [binary(command), *arguments],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    recap, changed = read(done.stdout)
    return Played(done.returncode, done.stdout, time.monotonic() - began, recap, changed)
