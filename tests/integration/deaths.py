"""Kill parts of services on a lab host, and see what becomes of them: one script for the stand-in and the real engine.

What is asked of every death: the host notices it, keeps why (`starts/<seq>/state.json`), and brings the service back
or ends it; at no moment does systemd call the unit down while its engine runs on.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from tests.integration.harness import ROOT, Inventory, binary, environment
from tests.integration.lab_host import TOUCHED, LabHost

STATE = "/var/lib/gpuhosts-vllm"
ENGINE, WORKER, SERVER, CLIENT, DOCKERD = "EngineCore", "worker", "API server", "docker client", "dockerd"
SERVING, LOADING, FIRST = "serving", "loading", "first start"

# How each death must be named, and the exit codes that it may leave. An engine that is asked to end while it is ready
# ends with 0; while it loads it does not hear, and is killed, or comes to be ready just in time.
EXPECTED = {
    (ENGINE, SERVING): ("engine_ended", (0,)),
    (ENGINE, LOADING): ("engine_ended", (1,)),
    (WORKER, SERVING): ("engine_ended", (0,)),
    (WORKER, LOADING): ("engine_ended", (0, 1)),
    (SERVER, SERVING): ("killed", (137,)),
    (SERVER, LOADING): ("killed", (137,)),
    (CLIENT, SERVING): ("client_killed", (0,)),
    (CLIENT, LOADING): ("client_killed", (0, 1, 137)),
    (DOCKERD, SERVING): ("docker_lost", (0, 1, 137)),
    (DOCKERD, LOADING): ("docker_lost", (0, 1, 137)),
}

_COMPLETION = (
    "curl -sS -m 20 -o /dev/null -w '%{{http_code}}' -H 'Content-Type: application/json' "
    """-d '{{"model": "chat", "prompt": "Hello", "max_tokens": 8}}' http://127.0.0.1:{port}/v1/completions"""
)

# Runs on the host and writes a line whenever something changes: the time, a service, its unit's states, and how many
# processes live in its container. It asks /proc and not Docker, which is one of those that die.
_WATCHER = """
import os, re, subprocess, sys, time
names, owner = sys.argv[1:], {}
def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
def inside():
    for name in names:
        owner.setdefault(read(f"/run/gpuhosts-vllm/{name}/cid").strip(), name)
    found = dict.fromkeys(names, 0)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        container = re.search(r"docker[-/]([0-9a-f]{64})", read(f"/proc/{pid}/cgroup"))
        if container and owner.get(container[1]) and read(f"/proc/{pid}/stat").rpartition(")")[2][1:2] not in "ZX":
            found[owner[container[1]]] += 1
    return found
def units():
    words = ["systemctl", "show", "--property=ActiveState,SubState", "--value", *(f"vllm-{name}" for name in names)]
    blocks = subprocess.run(words, stdout=subprocess.PIPE, encoding="utf-8").stdout.split("\\n\\n")
    return dict(zip(names, ("/".join(block.split()) for block in blocks)))
last, until = {}, time.time() + 1200
with open("/run/lab-watched", "w") as file:
    while time.time() < until and not os.path.exists("/run/lab-watch-end"):
        state, living = units(), inside()
        for name in names:
            if last.get(name) != (state.get(name), living[name]):
                last[name] = (state.get(name), living[name])
                print(f"{time.time():.2f} {name} {state.get(name)} {living[name]}", file=file, flush=True)
        time.sleep(0.1)
"""

# Runs on the host, for there a load is hit in time on a slow machine too: waits for every victim, kills it, and prints
# when, and in which start. A load has begun when the engine's process is there.
_STRIKER = """
import glob, json, os, re, signal, subprocess, sys, time
told = json.loads(sys.argv[1])
until, seen, struck = time.time() + told["limit"], {}, []
def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
def main_pid(unit):
    words = ["systemctl", "show", "--property=MainPID", "--value", unit]
    return int(subprocess.run(words, stdout=subprocess.PIPE, encoding="utf-8").stdout or 0)
def inside(container):
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if container and re.search("docker[-/]" + container, read(f"/proc/{pid}/cgroup")):
            fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
            if fields and fields[0] not in "ZX":
                found[int(pid)] = (int(fields[1]), read(f"/proc/{pid}/cmdline"))
    return found
def newest(service):
    folders = glob.glob(f"/var/lib/gpuhosts-vllm/{service}/starts/*/state.json")
    return json.loads(read(max(folders, key=lambda path: int(path.split("/")[-2]))) or "{}") if folders else {}
def victim(service, who):
    processes = inside(read(f"/run/gpuhosts-vllm/{service}/cid").strip())
    titled = lambda title: sorted(pid for pid, (_parent, words) in processes.items() if words.startswith(title))
    first = [pid for pid, (parent, _words) in processes.items() if parent not in processes]
    found = {
        "EngineCore": lambda: titled("VLLM::EngineCore")[0],
        "worker": lambda: titled("VLLM::Worker")[0],
        "API server": lambda: min(pid for pid, (parent, _words) in processes.items() if parent in first),
        "docker client": lambda: main_pid(f"vllm-{service}"),
        "dockerd": lambda: main_pid("docker"),
    }
    return found[who]() if titled("VLLM::EngineCore") else 0
while told["victims"] and time.time() < until:
    for one in list(told["victims"]):
        known = newest(one["service"])
        right = known.get("ready") if one["serving"] else "ready" not in known
        if known.get("seq", 0) <= one["after"] or not right or known.get("ended_at"):
            continue
        try:
            pid = victim(one["service"], one["who"])
        except (IndexError, ValueError):
            continue
        if pid and time.time() >= seen.setdefault(one["service"], time.time() + told["settle"]):
            struck.append({"service": one["service"], "seq": known["seq"], "killed": time.time()})
            os.kill(pid, signal.SIGKILL)
            told["victims"].remove(one)
    time.sleep(0.1)
print(json.dumps(struck))
"""

Found = TypeVar("Found")

# What the tests have to tell, also those that pass: `show` prints it past pytest's capture.
_TOLD: list[str] = []


def tell(line: str) -> None:
    """Have a line printed when the test ends."""
    _TOLD.append(line)


def show(capsys: Any) -> None:
    """Print what was told."""
    with capsys.disabled():
        for line in _TOLD:
            print(f"\n{line}", end="", flush=True)
    _TOLD.clear()


@dataclass(frozen=True)
class Sample:
    """What the watcher saw of a service from one moment to its next change."""

    at: float
    service: str
    active: str
    sub: str
    processes: int


@dataclass
class Death:
    """One death and what became of it; times are seconds after the kill."""

    engine: str
    service: str
    who: str
    when: str
    seq: int = 0
    killed: float = 0.0
    start: dict[str, Any] = field(default_factory=dict)
    noticed: float | None = None
    serving: float | None = None
    orphaned: float = 0.0

    def line(self) -> str:
        """Give the row of the table that the tests print."""
        noticed, again = ("-" if each is None else f"{each:.1f} s" for each in (self.noticed, self.serving))
        oom = ", out of memory" if self.start.get("oom_killed") else ""
        return (
            f"{self.engine:<18} {self.who:<14} {self.when:<12} noticed after {noticed:>6}, serving again after "
            f"{again:>6}: {self.start.get('ending')}, exit {self.start.get('exit_code')}{oom}"
        )


def moment(text: str) -> float:
    """A time as Docker or the host tool writes it, in seconds."""
    return datetime.fromisoformat(text[:23].rstrip("Z") + "+00:00").timestamp()


def state_of(host: LabHost, service: str, seq: int) -> dict[str, Any]:
    """Give what the host kept of a start."""
    text = host.run(f"cat {STATE}/{service}/starts/{seq}/state.json 2>/dev/null", check=False)
    return dict(json.loads(text or "{}"))


def newest(host: LabHost, service: str) -> dict[str, Any]:
    """Give what the host kept of the newest start."""
    look = f"cd {STATE}/{service}/starts 2>/dev/null && cat $(ls | sort -n | tail -1)/state.json 2>/dev/null"
    return dict(json.loads(host.run(look, check=False) or "{}"))


def until(what: str, seconds: float, look: Callable[[], Found]) -> Found:
    """Wait until ``look`` gives something true, and give it."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)
    return found


def pid_of(host: LabHost, pattern: str, seconds: float = 180) -> int:
    """Wait until a process of the host has a command line like this, and give its id."""
    find = f"pgrep -f '{pattern}' | head -1"
    return until(f"a process like {pattern}", seconds, lambda: int(host.run(find, check=False) or 0))


def strike(host: LabHost, deaths: Sequence[Death], *, settle: float = 0.0, seconds: float = 180) -> None:
    """Send SIGKILL to a part of every service as soon as it serves, or loads."""
    victims = [
        {"service": each.service, "who": each.who, "serving": each.when == SERVING, "after": each.seq}
        for each in deaths
    ]
    told = json.dumps({"victims": victims, "settle": settle, "limit": seconds})
    host.run(f"cat > /run/lab-strike.py <<'END'\n{_STRIKER}END")
    struck = {each["service"]: each for each in json.loads(host.run(f"python3 /run/lab-strike.py '{told}'"))}
    for death in deaths:
        assert death.service in struck, f"{death.line()}: not within {seconds:.0f} s"
        death.seq, death.killed = struck[death.service]["seq"], struck[death.service]["killed"]


@contextlib.contextmanager
def watched(host: LabHost, services: Sequence[str]) -> Iterator[list[Sample]]:
    """Watch units and containers for as long as the block lasts; the samples are there at its end."""
    samples: list[Sample] = []
    host.run(f"rm -f /run/lab-watch-end; cat > /run/lab-watch.py <<'END'\n{_WATCHER}END")
    host.run(f"systemd-run --quiet --collect --unit lab-watch python3 /run/lab-watch.py {' '.join(services)}")
    try:
        yield samples
    finally:
        host.run("touch /run/lab-watch-end; systemctl stop lab-watch", check=False)
        for line in host.run("cat /run/lab-watched").splitlines():
            at, service, state, processes = line.split()
            active, _slash, sub = state.partition("/")
            samples.append(Sample(float(at), service, active, sub, int(processes)))


def orphaned(samples: Sequence[Sample], service: str) -> float:
    """The longest time that processes lived in the container while the unit was down, or waited for its next start."""
    longest, since = 0.0, None
    for sample in (each for each in samples if each.service == service):
        down = sample.active in ("inactive", "failed") or sample.sub.startswith("auto-restart")
        if since is not None:
            longest = max(longest, sample.at - since)
        since = (since if since is not None else sample.at) if down and sample.processes else None
    return longest


def serves(host: LabHost, service: str, port: int) -> bool:
    """Whether the unit is active, has the one container, and generates."""
    if host.run(f"systemctl is-active vllm-{service}", check=False) != "active":
        return False
    assert len(host.run(f"docker ps -aq --filter label=io.gpuhosts.vllm.service={service}").split()) == 1
    asked = f"vllm-health --url http://127.0.0.1:{port} >&2 && {_COMPLETION.format(port=port)}"
    return host.run(asked, check=False) == "200"


def load_again(host: LabHost, services: Sequence[str]) -> dict[str, int]:
    """Restart services without waiting for them, so that their engines load; the numbers of the starts before."""
    before = {service: int(newest(host, service)["seq"]) for service in services}
    host.run(f"systemctl restart --no-block {' '.join(f'vllm-{service}' for service in services)}")
    return before


def die(
    host: LabHost, deaths: Sequence[Death], ports: dict[str, int], *, settle: float = 0.0, limit: float = 180
) -> None:
    """Kill one part of each committed service, all at the same time; wait until all serve again by themselves."""
    host.run("systemctl reset-failed")  # many deaths on purpose: none is to be the fifth
    services = [death.service for death in deaths]
    loading = [death for death in deaths if death.when == LOADING]
    if loading:
        before = load_again(host, [death.service for death in loading])
        for death in loading:
            death.seq = before[death.service]
    with watched(host, services) as samples:
        strike(host, deaths, settle=settle, seconds=limit)
        for death in deaths:
            again = until(f"{death.line()}: the next start", limit, lambda d=death: _came_back(host, d))
            until(f"{death.line()}: serving", 120, lambda d=death: serves(host, d.service, ports[d.service]))
            death.serving = moment(again["ready_at"]) - death.killed
    for death in deaths:
        judge(host, death, samples)


def judge(host: LabHost, death: Death, samples: Sequence[Sample] = ()) -> None:
    """Read what was kept of a death, print its row, and compare it with what is expected of it."""
    death.start = state_of(host, death.service, death.seq)
    seen = [moment(death.start[key]) for key in ("verdict_at", "ended_at") if key in death.start]
    death.noticed = min((each for each in seen if each >= death.killed), default=0.0) - death.killed
    death.orphaned = orphaned(samples, death.service)
    tell(death.line())
    phase = LOADING if death.when == FIRST else death.when
    ending, codes = EXPECTED[death.who, phase]
    assert death.start["ending"] == ending and death.start["exit_code"] in codes, death.start
    assert death.start["oom_killed"] is False and death.start["fault"] is True, death.start
    assert death.orphaned < 1.0, f"{death.line()}: it ran on for {death.orphaned:.1f} s: {samples}"
    if ending == "engine_ended" and death.who != SERVER:
        assert death.start["first_error"] and "root cause" not in death.start["first_error"], death.start
    if death.when != SERVING:
        assert death.start["ready"] is False and death.start["reason"], death.start


def _came_back(host: LabHost, death: Death) -> dict[str, Any] | None:
    known = newest(host, death.service)
    return known if known.get("ready") and known["seq"] > death.seq and not known.get("ended_at") else None


@dataclass
class Told:
    """A playbook under way, and every line that it said with its time."""

    process: subprocess.Popen[str]
    lines: list[tuple[float, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What it said so far."""
        return "\n".join(line for _at, line in self.lines)

    def when(self, *words: str) -> float | None:
        """When it first said a line with all these words."""
        return next((at for at, line in self.lines if all(word in line for word in words)), None)

    def end(self, seconds: float) -> int:
        """Wait for its end; its exit status."""
        return self.process.wait(timeout=seconds)


@contextlib.contextmanager
def telling(inventory: Inventory, playbook: str) -> Iterator[Told]:
    """Begin a playbook and note when it says what."""
    TOUCHED.update(inventory.hosts())
    words = [binary("ansible-playbook"), f"gpuhosts.vllm.{playbook}", "-i", str(inventory.folder / "hosts.json")]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        words, cwd=ROOT, env=environment(), stdin=null, stdout=pipe, stderr=subprocess.STDOUT, encoding="utf-8"
    ) as process:
        told = Told(process)

        def read() -> None:
            told.lines.extend((time.time(), line.rstrip("\n")) for line in process.stdout or ())

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            yield told
        finally:
            if process.poll() is None:
                process.kill()
            reader.join(10)


def main_ended(host: LabHost, service: str) -> float:
    """When the main process of the unit's last start ended, as systemd noted it."""
    said = host.run(f"systemctl show --timestamp=us+utc --property ExecMainExitTimestamp --value vllm-{service}")
    _day, date, clock, _zone = said.split()
    return datetime.fromisoformat(f"{date}T{clock}+00:00").timestamp()
