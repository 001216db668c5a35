# SPDX-License-Identifier: Apache-2.0
"""How long a change interrupts a service, as a part of the time that the new engine needs to start anyway.

On a host of the lab one service goes from vLLM 0.31.0 to 0.32.0 with `upgrade.yml` and back with `rollback.yml`, again
and again, with the stand-in engine (a start of ten seconds) and with the real one (its caches warm). A prober on the
host asks for a tiny completion ten times a second. The interruption is the time from the last good answer to the first
good one, divided by the warm start of the same release in the same run: from its `docker run` to that first good
answer. (`docker run` is what the unit's main process is; `from the container` counts from its StartedAt instead, which
leaves out what Docker needs to make it.) Then a release that dies as it starts: seconds from the end of its container
to the verdict in the journal of the run, and to the line in the play.

Prints every run, and the median, the least and the most with the limits; ends with 1 where a limit is not kept.

    python tests/bench/interruption.py --engines standin,real --runs 5
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO), str(REPO / ".build" / "tree")]

from tests.integration.harness import MODEL, Inventory, begin
from tests.integration.lab_host import LabHost

PROBER = REPO / "tests" / "lab" / "guest" / "prober.py"
STATE = "/var/lib/gpuhosts-vllm/chat"
OLD, NEW = "v0.31.0", "v0.32.0"
SETTLE = 2.0  # of good answers before and after a change
LONGEST_PLAY = 900.0

# What the host is asked before and after.
_CONDITIONS = """
. /etc/os-release; echo "$PRETTY_NAME, $(systemctl --version | head -1 | cut -d' ' -f1,2), \
Docker $(docker version --format '{{.Server.Version}}'), Python $(python3 -c 'import platform; \
print(platform.python_version())'), $(nproc) cores"
"""
_STARTED = """
systemctl show --timestamp=us+utc --property ExecMainStartTimestamp --value vllm-chat
docker inspect --format '{{.State.StartedAt}}' vllm-chat
"""


@dataclass(frozen=True)
class Engine:
    """One engine under measurement, and how a release of it dies."""

    name: str
    image: str
    config: dict[str, Any]
    env: dict[str, str]
    dying: dict[str, Any]

    def service(self, version: str, **changes: Any) -> dict[str, Any]:
        """The definition of the service with one version of it."""
        definition = {
            "image": f"{self.image}:{version}",
            "model": MODEL,
            "port": 8000,
            "gpus": "none",
            "shm_size": "1g",
            "config": self.config,
            "env": self.env,
            "gate": {"soak": "1s", "silence": "5m"},
        }
        return {**definition, **changes}


STAND_IN_ENV = {"STANDIN_DEVICE": "cpu", "STANDIN_START_SECONDS": "10", "STANDIN_WARM_SECONDS": "10"}
REAL_ENV = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
REAL_CONFIG = {"served-model-name": ["chat"], "max-model-len": 512, "dtype": "float32", "enforce-eager": True}
ENGINES = {
    "standin": Engine(
        "stand-in",
        "lab/vllm-standin",
        {"served-model-name": ["chat"], "max-model-len": 1024},
        STAND_IN_ENV,
        {"env": {**STAND_IN_ENV, "STANDIN_EXIT_AT": "load", "STANDIN_DEATH_SECONDS": "0"}},
    ),
    "real": Engine(
        "real vLLM",
        "vllm/vllm-openai",
        REAL_CONFIG,
        REAL_ENV,
        {"config": {**REAL_CONFIG, "max-model-len": 100000}},
    ),
}


@dataclass(frozen=True)
class Limits:
    """What must not be exceeded."""

    upgrade: float
    rollback: float
    verdict: float


@dataclass(frozen=True)
class Change:
    """One change as it was measured, in seconds."""

    kind: str
    interruption: float
    start: float
    from_container: float
    wrong_answers: int
    load: float

    @property
    def ratio(self) -> float:
        """The interruption as a part of the start."""
        return self.interruption / self.start

    def line(self) -> str:
        """Say it for people."""
        return (
            f"{self.kind:9} interruption {self.interruption:6.2f} s   warm start {self.start:6.2f} s   "
            f"ratio {self.ratio:.3f} (from the container {self.interruption / self.from_container:.3f})   "
            f"{self.wrong_answers:4} answers missing   load {self.load:.1f}"
        )


def interruption(answers: Sequence[tuple[float, bool]]) -> tuple[float, float, int]:
    """Last good answer before the first that was not, first good one after the last that was not, and how many failed.

    Also good answers in between do not end it: a service that flaps does not serve.
    """
    ordered = sorted(answers)
    failed = [at for at, good in ordered if not good]
    if not failed:
        raise ValueError("no answer was missing: the service was not interrupted, or nobody asked")
    before = [at for at, good in ordered if good and at < failed[0]]
    after = [at for at, good in ordered if good and at > failed[-1]]
    if not before or not after:
        raise ValueError("no good answer before or after the interruption was seen")
    return before[-1], after[0], len(failed)


def read_answers(text: str) -> list[tuple[float, bool]]:
    """What the prober wrote: when an answer was whole, and if it was good."""
    return [(float(end), word == "good") for end, _begin, word in (line.split() for line in text.splitlines())]


def moment(text: str) -> float:
    """Seconds of the epoch of a time as systemd, Docker or the journal of a run writes it; all of them are UTC."""
    words = text.split()
    day, clock = words[1:3] if len(words) > 1 else text.rstrip("Z").split("T")
    seconds, _point, fraction = clock.partition(".")
    whole = datetime.fromisoformat(f"{day}T{seconds}+00:00").timestamp()
    return whole + float(f"0.{fraction or 0}")


@contextlib.contextmanager
def probed(host: LabHost) -> Iterator[list[tuple[float, bool]]]:
    """Ask the service as long as the block lasts; the answers are there at its end."""
    host.run("rm -f /run/lab-probe-end /run/lab-probed; systemctl reset-failed lab-probe 2>/dev/null", check=False)
    host.run(f"cat > /run/lab-prober.py <<'END'\n{PROBER.read_text(encoding='utf-8')}END")
    told = {"port": 8000, "model": "chat", "out": "/run/lab-probed", "until": "/run/lab-probe-end"}
    words = json.dumps({**told, "seconds": LONGEST_PLAY})
    host.run(f"systemd-run --quiet --collect --unit lab-probe python3 /run/lab-prober.py '{words}'")
    answers: list[tuple[float, bool]] = []
    try:
        time.sleep(SETTLE)
        yield answers
        time.sleep(SETTLE)
    finally:
        host.run("touch /run/lab-probe-end; sleep 0.3; systemctl stop lab-probe", check=False)
        answers += read_answers(host.run("cat /run/lab-probed"))


def changed(host: LabHost, kind: str, play: Callable[[], Any]) -> Change:
    """Change the service while it is asked, and read what that was like."""
    with probed(host) as answers:
        played = play()
        assert played.rc == 0, played.text
        load = os.getloadavg()[0]
    began, container = (moment(line) for line in host.run(_STARTED).splitlines())
    last, first, failed = interruption(answers)
    return Change(kind, first - last, first - began, first - container, failed, load)


def verdict(host: LabHost, inventory: Inventory) -> tuple[float, float]:
    """Seconds from the end of a container that died in its start to the journal's verdict, and to the play's line."""
    words = json.dumps({"vllm_confirm": "chat", "vllm_retry": "chat"})
    process = begin(inventory, "upgrade", "-e", words)
    text, told, end = inventory.folder / "began", 0.0, time.monotonic() + LONGEST_PLAY
    while process.poll() is None and time.monotonic() < end:
        if not told and "starting failed (" in text.read_text(encoding="utf-8"):
            told = time.time()
        time.sleep(0.05)
    assert process.wait(timeout=10) != 0 and told, text.read_text(encoding="utf-8")
    entries = [json.loads(line) for line in host.run(f"cat {STATE}/journal.jsonl").splitlines()]
    failed = next(each for each in reversed(entries) if (each["state"], each["phase"]) == ("starting", "failed"))
    state = json.loads(host.run(f"cat {STATE}/starts/{failed['data']['seq']}/state.json"))
    ended = moment(state["container_finished_at"])
    return moment(failed["at"]) - ended, told - ended


def told(engine: Engine, name: str, values: Sequence[float], limit: float | None, unit: str = "") -> list[str]:
    """Print a row of the result; what is above its limit."""
    middle = median(values)
    kept = "" if limit is None else f"   at most {limit:.2f}: {'kept' if middle <= limit else 'NOT KEPT'}"
    numbers = f"{middle:7.3f}{unit}   least {min(values):.3f}   most {max(values):.3f}"
    print(f"{engine.name:9} {name:34} median of {len(values)}: {numbers}{kept}", flush=True)
    return [] if limit is None or middle <= limit else [f"{engine.name}, {name}: {middle:.3f}, at most {limit:.2f}"]


def prepared(engine: Engine, host: LabHost, name: str, folder: Path) -> Inventory:
    """Deploy the old version, and make each release start once: what is measured are warm starts."""
    host.reset()
    inventory = Inventory.make(folder, {"chat": engine.service(NEW)}, hosts=(name,))
    for step in (lambda: inventory.play("lock"), *_there_and_back(inventory, engine)):
        played = step()
        assert played.rc == 0, played.text
    return inventory


def _there_and_back(inventory: Inventory, engine: Engine) -> list[Callable[[], Any]]:
    def lock_and_deploy() -> Any:
        inventory.declare({"chat": engine.service(OLD)})
        locked = inventory.play("lock")
        return locked if locked.rc else inventory.play("deploy", timeout=LONGEST_PLAY)

    return [lock_and_deploy, lambda: upgrade(inventory, engine), lambda: rollback(inventory)]


def upgrade(inventory: Inventory, engine: Engine) -> Any:
    """To the new version; it was left by a rollback before, so a human has to name it once more."""
    inventory.declare({"chat": engine.service(NEW)})
    return inventory.play("upgrade", timeout=LONGEST_PLAY, vllm_confirm="chat", vllm_retry="chat")


def rollback(inventory: Inventory) -> Any:
    """Back to the old version."""
    return inventory.play("rollback", timeout=LONGEST_PLAY, vllm_confirm="chat")


def measured(engine: Engine, host: LabHost, name: str, runs: int, limits: Limits) -> list[str]:
    """Measure one engine and print it; what is above a limit."""
    with tempfile.TemporaryDirectory(prefix="interruption-bench-") as folder:
        inventory = prepared(engine, host, name, Path(folder))
        changes: list[Change] = []
        for _run in range(runs):
            for kind, play in (
                ("upgrade", lambda: upgrade(inventory, engine)),
                ("rollback", lambda: rollback(inventory)),
            ):
                changes.append(changed(host, kind, play))
                print(f"{engine.name:9} {changes[-1].line()}", flush=True)
        inventory.declare({"chat": engine.service(NEW, **engine.dying)})
        verdicts = [verdict(host, inventory) for _run in range(runs)]
    short = []
    for kind, limit in (("upgrade", limits.upgrade), ("rollback", limits.rollback)):
        mine = [each for each in changes if each.kind == kind]
        short += told(engine, f"{kind}: interruption / warm start", [each.ratio for each in mine], limit)
        told(engine, f"{kind}: interruption", [each.interruption for each in mine], None, " s")
        told(engine, f"{kind}: warm start", [each.start for each in mine], None, " s")
    short += told(engine, "dead start: verdict in the journal", [first for first, _second in verdicts], 1.0, " s")
    short += told(
        engine, "dead start: verdict in the play", [second for _first, second in verdicts], limits.verdict, " s"
    )
    return short


def arguments(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="gpu2", help="the host of the lab that is used, and emptied (default: gpu2)")
    parser.add_argument("--runs", type=int, default=5, help="upgrades and rollbacks, of which the median (default: 5)")
    parser.add_argument("--engines", default="standin,real", help="which (default: standin,real)")
    parser.add_argument("--upgrade", type=float, default=1.10, help="highest median ratio of an upgrade (1.10)")
    parser.add_argument("--rollback", type=float, default=1.15, help="highest median ratio of a rollback (1.15)")
    parser.add_argument("--verdict", type=float, default=3.0, help="seconds to the play's verdict on a dead start (3)")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Measure, print, and say whether the limits were kept."""
    args = arguments(words)
    host = LabHost(args.host)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"host {host.real}: {host.run(_CONDITIONS)}; load of this machine, which also runs Ansible: {load}")
    print(f"vLLM {OLD} -> {NEW} and back, {args.runs} times; asked ten times a second", flush=True)
    short: list[str] = []
    for name in args.engines.split(","):
        short += measured(ENGINES[name], host, args.host, args.runs, Limits(args.upgrade, args.rollback, args.verdict))
    host.reset()
    for text in short:
        print(f"above the limit: {text}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
