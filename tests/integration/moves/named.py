"""The named faults: what each of them does to an upgrade of one service, or to the rollback after it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.integration.committed import wait_until
from tests.integration.harness import MODEL, Inventory, begin, service
from tests.integration.lab_host import LabHost
from tests.integration.moves.scene import KEYS, LENGTHS, QUICK, STATE, Scene

OTHER_IMAGE = "lab/vllm-standin:v0.31.0"
BIG_IMAGE = "vllm/vllm-openai:v0.31.0"
HOLDER = "/usr/local/lab/lab_holder.py"
SOAK = "6s"  # long enough to do something to a server that is not committed yet
STOP_DOCKER = "systemctl stop docker.socket docker.service containerd.service"
START_DOCKER = "systemctl start containerd.service docker.socket docker.service"
REGISTRY = "10.212.0.2"


@dataclass
class Told:
    """What a play said, and how it exited."""

    rc: int
    text: str


@dataclass
class Stage:
    """One host with one service that serves, and what the inventory wants of it."""

    scene: Scene
    inventory: Inventory
    others: dict[str, Any] = field(default_factory=dict)

    @property
    def host(self) -> LabHost:
        """The host."""
        return self.scene.host

    def wants(self, length: int, env: dict[str, str] | None = None, **changes: Any) -> None:
        """Ask for a release of the service; one that was never tried has a length of its own."""
        config = {"served-model-name": ["chat"], "max-model-len": length}
        gate = {"soak": "1s", "silence": "30s", **changes.pop("gate", {})}
        definition = service(config=config, env={**QUICK, **(env or {})}, gate=gate, **changes)
        secrets = {"chat": {"VLLM_API_KEY": KEYS[0]}}
        self.inventory.declare({"chat": definition, **self.others}, vllm_secrets=secrets)

    def upgrade(self, **extra: str) -> Told:
        """Upgrade to it, and wait for the end."""
        played = self.inventory.play("upgrade", vllm_confirm="chat", **extra)
        return Told(played.rc, played.text)

    def meddled(self, state: str, do: Callable[[], object], phase: str = "intent") -> Told:
        """Upgrade to it, and do something when its run is in this state."""
        opened = self.lines()
        process = begin(self.inventory, "upgrade", "-e", "vllm_confirm=chat")

        def reached() -> bool:
            known = [(each["state"], each["phase"]) for each in self.records()[opened:]]
            return (state, phase) in known or process.poll() is not None

        wait_until(f"the run is at {state} {phase}", reached, 120, every=0.1)
        assert process.poll() is None, self.began()
        do()
        return self.ended(process)

    def ended(self, process: subprocess.Popen[bytes]) -> Told:
        """How a play that was begun ended."""
        return Told(process.wait(timeout=300), self.began())

    def began(self) -> str:
        """What a play that was begun has said."""
        return (self.inventory.folder / "began").read_text(encoding="utf-8")

    def records(self) -> list[dict[str, Any]]:
        """The journal of the service."""
        return [json.loads(line) for line in self.host.run(f"cat {STATE}/journal.jsonl").splitlines()]

    def lines(self) -> int:
        """How long the journal is."""
        return int(self.host.run(f"wc -l < {STATE}/journal.jsonl"))


Fault = Callable[[Stage], Told]
FAULTS: dict[str, tuple[Fault, tuple[str, ...]]] = {}


def fault(name: str, *words: str) -> Callable[[Fault], Fault]:
    """A row of the page, with the words that a human must read."""

    def keep(function: Fault) -> Fault:
        FAULTS[name] = (function, words)
        return function

    return keep


def like(name: str, *words: str, length: int, **changes: Any) -> None:
    """A row whose fault is in the new release itself."""

    def upgrade(stage: Stage) -> Told:
        stage.wants(length, **changes)
        return stage.upgrade()

    fault(name, *words)(upgrade)


NEVER = {"STANDIN_NEVER_READY": "1"}
like("gate never ready", "not ready within", length=101, env=NEVER, gate={"deadline": "8s"})
like("start slow but progressing", length=102, env={"STANDIN_START_SECONDS": "15", "STANDIN_WARM_SECONDS": "15"},
     gate={"silence": "5s"})  # fmt: skip
like("start stalls", "no progress for 5 s", length=103, env={**NEVER, "STANDIN_PROGRESS": "0"}, gate={"silence": "5s"})
like("health hangs", "not ready within", length=104, env={"STANDIN_HEALTH": "hang"}, gate={"deadline": "10s"})
like("health 200, POST fails", "claim_generates", length=105, env={"STANDIN_POST": "fail"})
like("health 200, POST hangs", "claim_generates", length=106, env={"STANDIN_POST": "hang"})
like("wrong model name", "somebody-else", length=107, env={"STANDIN_MODEL_NAME": "somebody-else"})
like("garbage output", "golden", length=108, env={"STANDIN_POST": "nonsense"},
     gate={"golden_prompts": [{"prompt": "The capital of France is", "pattern": "."}]})  # fmt: skip
like("crash 2 s after ready", "is not the start that became ready", length=109, gate={"soak": SOAK},
     env={"STANDIN_CRASH_AFTER": "2", "STANDIN_DEATH_SECONDS": "0"})  # fmt: skip


@fault("engine ignores SIGTERM")
def deaf(stage: Stage) -> Told:
    """The old engine: it is killed once its time is over."""
    stage.wants(110, {"STANDIN_TERM": "always"})
    first = stage.upgrade()
    assert first.rc == 0, first.text
    stage.wants(111)
    return stage.upgrade()


@fault("crash loop, its restart pending")
def crash_loop(stage: Stage) -> Told:
    """The old engine has just died, and systemd waits before it starts it again."""
    stage.wants(112)
    stage.host.run("docker kill vllm-chat")
    assert stage.host.wait("systemctl show vllm-chat -p SubState --value", "auto-restart", seconds=15)
    return stage.upgrade()


@fault("start limit reached just before the rollback", "planted")
def start_limit(stage: Stage) -> Told:
    """Four starts were used up, the new release takes the fifth."""
    for _start in range(3):
        stage.host.run("systemctl restart vllm-chat")
    stage.wants(113, {"STANDIN_EXIT_AT": "load", "STANDIN_ERROR": "RuntimeError: planted"})
    return stage.upgrade()


@fault("port taken between stop and start", "port 8000", "is held by python3")
def port_taken(stage: Stage) -> Told:
    """Somebody takes it the moment that the old engine lets go of it, and keeps it: nothing of ours can serve there."""
    stage.wants(114)
    pid = stage.host.run(f"python3 {HOLDER} --port 8000")
    try:
        told = stage.upgrade()
        assert f"(pid {pid})" in told.text, told.text
        return told
    finally:
        stage.host.run(f"kill -9 {pid}")


@fault("memory held after the stop")
def memory_held(stage: Stage) -> Told:
    """A worker that Docker did not get, in the cgroup of the old container, and deaf: it is named and killed."""
    stage.wants(115, gpus=["0"], env={"STANDIN_DEVICE": "gpu"})
    first = stage.upgrade()
    assert first.rc == 0, first.text
    stage.wants(116, gpus=["0"], env={"STANDIN_DEVICE": "gpu"})
    pid = stage.host.run(f"python3 {HOLDER} --gpu 0 --of vllm-chat --deaf")
    told = stage.upgrade()
    assert pid in told.text, told.text
    assert stage.host.run(f"kill -0 {pid} 2>/dev/null || echo gone") == "gone"
    return told


def forget_others(stage: Stage) -> None:
    """Let the image that the service runs be the only one of the host."""
    of_it = "$(docker inspect -f '{{.Image}}' vllm-chat)"
    stage.host.run(f"docker images -q --no-trunc lab/vllm-standin | sort -u | grep -v {of_it} | xargs -r docker rmi -f")


@contextlib.contextmanager
def without_registry(stage: Stage, rule: str = "-j REJECT") -> Iterator[None]:
    """The host does not reach the registry; with another rule, not for long."""
    chains = [f"OUTPUT -d {REGISTRY}", f"FORWARD -d {REGISTRY}"]
    try:
        stage.host.run("; ".join(f"iptables -I {chain} {rule}" for chain in chains))
        yield
    finally:
        stage.host.run("; ".join(f"iptables -D {chain} {rule}" for chain in chains))


@fault("registry gone before the pull", REGISTRY)
def no_registry(stage: Stage) -> Told:
    """The image of the new release is not on the host yet."""
    stage.wants(117, image=OTHER_IMAGE)
    forget_others(stage)
    with without_registry(stage):
        return stage.upgrade()


@fault("registry gone during the pull", "vllm-openai")
def registry_lost(stage: Stage) -> Told:
    """It answers what the image is made of, and nothing of it comes: more than some bytes are not let through."""
    stage.wants(118, image=BIG_IMAGE)
    stage.host.forget_images(BIG_IMAGE)
    big = "-p tcp -m connbytes --connbytes 60000: --connbytes-dir reply --connbytes-mode bytes"
    with without_registry(stage, f"{big} -j REJECT --reject-with tcp-reset"):
        return stage.upgrade()


@fault("disk full in the pull", "vllm-openai")
def full_pull(stage: Stage) -> Told:
    """Where Docker puts what it fetches there is room for less than the image."""
    stage.wants(119, image=BIG_IMAGE)
    stage.host.forget_images(BIG_IMAGE)
    stage.host.run("mkdir -p /var/lib/docker/tmp; mount -t tmpfs -o size=256k none /var/lib/docker/tmp")
    try:
        return stage.upgrade()
    finally:
        stage.host.run("umount /var/lib/docker/tmp")


@fault("old image pruned by hand", "docker pull", "there is no way back")
def pruned(stage: Stage) -> Told:
    """The service was down: of what runs Docker does not let go."""
    stage.wants(120, image=OTHER_IMAGE)
    first = stage.upgrade()
    assert first.rc == 0, first.text
    stage.host.run("systemctl stop vllm-chat")
    current = json.loads(stage.host.run(f"cat {STATE}/current/release.json"))
    stage.host.run(f"docker rmi -f {current['host']['image_id']}")
    stage.wants(121)
    return stage.upgrade()


@fault("pointer damaged")
def pointers(stage: Stage) -> Told:
    """One leads nowhere as it starts, the other one is gone as the host boots; the journal knows what was good."""
    stage.host.run(f"ln -sfn releases/rel-000000000000 {STATE}/current; systemctl restart vllm-chat")
    assert stage.scene.active
    stage.host.run(f"rm {STATE}/last_good")
    stage.host.reboot()
    wait_until("it serves", lambda: stage.scene.active, 60)
    stage.wants(122)
    return stage.upgrade()


@fault("journal torn at its end")
def torn_end(stage: Stage) -> Told:
    """As after a power cut in mid-write."""
    stage.host.run(f"printf '%s' '{{\"at\": \"2026-0' >> {STATE}/journal.jsonl")
    stage.wants(123)
    return stage.upgrade()


@fault("journal torn in its middle", "journal.jsonl")
def torn_middle(stage: Stage) -> Told:
    """A record that nobody can read: whether something is under way is not known, so nothing is changed."""
    stage.wants(124)
    stage.host.run(f"cd {STATE} && cp journal.jsonl /run/lab-journal && sed -i '3s/.*/xx/' journal.jsonl")
    try:
        return stage.upgrade()
    finally:
        stage.host.run(f"cp /run/lab-journal {STATE}/journal.jsonl")


# Blanks at the end of a record, until no other one has room in the last page of the file.
PAD = """import sys
text = open(sys.argv[1]).read()
open(sys.argv[1], "w").write(text[:-1] + " " * ((4090 - len(text)) % 4096) + text[-1:])
"""


@fault("disk full at a write of the journal")
def full_journal(stage: Stage) -> Told:
    """In mid-soak; the new release serves meanwhile, and the run ends once there is room again."""
    stage.host.run(
        f"systemctl stop vllm-chat; mkdir /run/lab-state; mount -t tmpfs -o size=1200m none /run/lab-state; "
        f"cp -a {STATE}/. /run/lab-state/; mount --bind /run/lab-state {STATE}; systemctl start vllm-chat"
    )

    def fill() -> None:
        stage.host.run(f"python3 -c '{PAD}' {STATE}/journal.jsonl")
        for size in ("1M", "512"):
            stage.host.run(f"dd if=/dev/zero bs={size} >>{STATE}/filler 2>/dev/null", check=False)
        full = stage.lines()
        time.sleep(12)
        assert stage.lines() == full
        assert stage.host.run("cat /run/gpuhosts-vllm/chat/run") and stage.scene.active
        stage.host.run(f"rm {STATE}/filler")

    try:
        stage.wants(125, gate={"soak": SOAK})
        return stage.meddled("soaking", fill)
    finally:
        stage.host.run(
            f"rm -f {STATE}/filler; systemctl stop vllm-chat; umount {STATE}; rm -rf {STATE}; mkdir {STATE}; "
            f"cp -a /run/lab-state/. {STATE}/; umount /run/lab-state; rmdir /run/lab-state; systemctl start vllm-chat"
        )


@fault("clock stepped")
def clock(stage: Stage) -> Told:
    """The wall clock of the driver goes back by a day as it soaks. The hosts of the lab share this machine's clock."""
    stage.wants(126, gate={"soak": SOAK})
    stage.host.run(
        """echo '{"fail": [], "instead": [], "clock": {"from": "soaking", "by": -86400}}' > /run/lab-cut.json"""
    )
    try:
        told = stage.upgrade()
    finally:
        stage.host.run("rm -f /run/lab-cut.json")
    records = stage.records()
    times = [each["at"] for each in records if each["run"] == records[-1]["run"]]
    assert times[-1] < times[0], times
    return told


@fault("two controllers on one service", "under way")
def two_on_one(stage: Stage) -> Told:
    """Both begin at once: one opens the run, the other one follows it."""
    stage.wants(127, gate={"soak": SOAK})
    before = len({each["run"] for each in stage.records()})
    first = begin(stage.inventory, "upgrade", "-e", "vllm_confirm=chat")
    second = stage.upgrade()
    assert (second.rc, first.wait(timeout=300)) == (0, 0), second.text + stage.began()
    assert len({each["run"] for each in stage.records()}) == before + 1
    return Told(0, second.text + stage.began())


@fault("two controllers on two services of one host")
def two_on_two(stage: Stage) -> Told:
    """Each upgrades its own one; only the loads take turns."""
    stage.others = {"other": service(port=8001, model=MODEL, env=QUICK)}
    stage.wants(LENGTHS[1])
    deployed = stage.inventory.play("deploy")
    assert deployed.rc == 0, deployed.text
    stage.others["other"]["config"] = {"served-model-name": ["chat"], "max-model-len": 256}
    stage.wants(128)
    first = begin(stage.inventory, "upgrade", "-e", "vllm_confirm=other")
    told = stage.upgrade()
    try:
        assert first.wait(timeout=300) == 0, stage.began()
        last = stage.host.run("tail -1 /var/lib/gpuhosts-vllm/other/journal.jsonl")
        assert (json.loads(last)["kind"], json.loads(last)["state"]) == ("change", "committed")
        return told
    finally:
        removed = stage.inventory.play("remove", vllm_confirm="other")
        stage.others = {}
        assert removed.rc == 0, removed.text


@fault("systemctl restart in mid-gate", "is not the start that became ready")
def restarted(stage: Stage) -> Told:
    """A human restarts what is not committed yet: what was proven is not what runs."""
    stage.wants(129, gate={"soak": SOAK})
    return stage.meddled("soaking", lambda: stage.host.run("systemctl restart vllm-chat", check=False))


@fault("daemon-reload in mid-gate")
def reloaded(stage: Stage) -> Told:
    """A human, or a package, reloads systemd."""
    stage.wants(130, gate={"soak": SOAK})
    return stage.meddled("soaking", lambda: stage.host.run("systemctl daemon-reload"))


@fault("dockerd killed in mid-gate", "is not the start that became ready")
def dockerd_killed(stage: Stage) -> Told:
    """With the engine that is not committed yet."""
    stage.wants(131, gate={"soak": SOAK})
    return stage.meddled(
        "soaking", lambda: stage.host.run("kill -9 $(systemctl show docker -p MainPID --value); sleep 1")
    )


@fault("Docker's package restarts it in mid-gate")
def docker_restarted(stage: Stage) -> Told:
    """As an upgrade of the package does it."""
    stage.wants(132, gate={"soak": SOAK})
    return stage.meddled("soaking", lambda: stage.host.run(f"{STOP_DOCKER}; sleep 1; {START_DOCKER}"))
