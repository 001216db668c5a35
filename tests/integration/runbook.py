"""Run the `console` blocks of a runbook as they stand there, and compare what is printed with what the page shows.

A line `$ COMMAND` runs on the controller, `host# COMMAND` as root on the host; the lines below it are its output. Each
of them has to come, in this order, among whatever else is printed. `…` stands for anything. A command ends with
status 0, or with the one that its line names: `$ COMMAND  # exits with 2`.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.integration.harness import ROOT, Inventory, environment
from tests.integration.lab_host import LabHost
from tests.lab import hosts

RUNBOOKS = ROOT / "docs" / "runbooks"
# What a page calls the inventory of its reader.
THEIR_INVENTORY = "inventory/hosts.yml"

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
_COMMAND = re.compile(r"(\$|host#) (.*?)(?:\s+# exits with (\d+))?")


@dataclass(frozen=True)
class Shown:
    """One command of a page, and what the page shows of its output."""

    on_host: bool
    command: str
    status: int
    lines: tuple[str, ...]


def blocks_of(page: str) -> list[list[Shown]]:
    """The console blocks of a runbook; a page without one is an error."""
    found = _BLOCK.findall((RUNBOOKS / f"{page}.md").read_text(encoding="utf-8"))
    assert found, f"docs/runbooks/{page}.md has no console block"
    return [read_block(page, text) for text in found]


def read_block(page: str, text: str) -> list[Shown]:
    """The commands of a block with their output."""
    shown: list[Shown] = []
    for line in text.splitlines():
        command = _COMMAND.fullmatch(line)
        if command:
            shown.append(Shown(command[1] != "$", command[2], int(command[3] or 0), ()))
            continue
        assert shown, f"{page}: a console block begins with output: {line}"
        last = shown[-1]
        shown[-1] = Shown(last.on_host, last.command, last.status, (*last.lines, line))
    return shown


def run(shown: Shown, inventory: Inventory, host: LabHost) -> None:
    """Run one command and compare."""
    if shown.on_host:
        done = hosts.exec_on(host.real, shown.command)
        code, text = done.code, done.stdout + done.stderr
    else:
        code, text = on_controller(shown.command, inventory.folder)
    assert code == shown.status, f"{shown.command}: status {code}, the page says {shown.status}\n{text}"
    missing = first_missing(shown.lines, text.splitlines())
    assert missing is None, f"{shown.command}: the page shows a line that did not come: {missing!r}\n{text}"


def on_controller(command: str, folder: Path) -> tuple[int, str]:
    """Run a command of the page with the test's inventory instead of the reader's."""
    assert THEIR_INVENTORY in command, f"{command}: expected -i {THEIR_INVENTORY}"
    words = shlex.split(command.replace(THEIR_INVENTORY, str(folder / "hosts.json")))
    assert words[0].startswith("ansible"), f"{command}: only Ansible runs on the controller"
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout


def first_missing(wanted: tuple[str, ...], printed: list[str]) -> str | None:
    """The first line of the page that is not printed behind the one before it; None when all are."""
    left = iter(line.rstrip() for line in printed)
    for line in wanted:
        pattern = re.compile(".*".join(map(re.escape, line.rstrip().split("…"))))
        if line.strip() and not any(pattern.fullmatch(each) for each in left):
            return line
    return None
