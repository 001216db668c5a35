"""What an engine does in its container, written down: the same script for the real engine and for the stand-in.

A lane is one engine of one version. Its scenarios follow each other, each in a container of its own, and each start of
a container serves as many looks as it can. Two lanes run at a time, so that the real engines load side by side.
"""

from __future__ import annotations

import json
import shlex
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import StartupReport, parse_startup_log
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.progress import Progress
from tests.integration import answers
from tests.integration.lab_host import LabHost, address_of
from tests.lab import names, servers

WATCHER = Path(__file__).with_name("watcher.py")
REAL, STANDIN = "real", "stand-in"
REPOSITORIES = {REAL: "vllm/vllm-openai", STANDIN: "lab/vllm-standin"}
VERSIONS = ("v0.31.0", "v0.32.0")
MODEL = names.MODEL_PATH
KEY = "sk-planted-for-conformance"
LABEL = "io.gpuhosts.vllm.lab.conformance"
START_SECONDS = 900.0  # bounds for a busy machine; one with time needs 30 s and 6 s
END_SECONDS = 180.0
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
# Two blocks of the KV cache hold 256 tokens, and a request may have 512.
FAILED = "EngineCore failed to start."
TOO_SMALL = ("--num-gpu-blocks-override", "2")


@dataclass(frozen=True)
class Ending:
    """How a container ended after a signal, and what it answered until then."""

    exit_code: int
    oom: bool
    seconds: float
    health: tuple[int | str, ...]
    posted: tuple[int | str, ...]


@dataclass
class Life:
    """One container from its start to its end."""

    moments: dict[str, float] = field(default_factory=dict)
    health: tuple[int | str, ...] = ()
    processes: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[str, answers.Answer] = field(default_factory=dict)
    ending: Ending | None = None
    log: str = ""
    streams: tuple[str, ...] = ()

    @property
    def report(self) -> StartupReport:
        """What the collection reads in this log."""
        return parse_startup_log(self.log.splitlines(keepends=True))

    @property
    def staged(self) -> list[tuple[str, str]]:
        """Each line that opened a stage, and that stage, in the standard output and then in the standard error.

        Docker reads the two streams side by side: on a busy machine a line of one can come before an older one of the
        other, and a stage that is opened too late is none. Within a stream the order is that in which it was written.
        """
        found = []
        for stream in self.streams:
            progress = Progress()
            for line in stream.splitlines(keepends=True):
                before = progress.stage
                progress.feed(line)
                if progress.stage != before:
                    found.append((line, progress.stage))
        return found

    @property
    def stages(self) -> list[str]:
        """The stages of this log in their order."""
        return [stage for _at, stage in self.staged]


@dataclass(frozen=True)
class Engine:
    """One engine of one version, as an image on a lab host."""

    host: LabHost
    kind: str
    version: str
    image: str
    cache: str

    @classmethod
    def fetch(cls, host: LabHost, kind: str, version: str) -> Engine:
        """Pull the image by its digest, as the collection does, so that no tag stays on the host."""
        repository = REPOSITORIES[kind]
        image = f"{repository}@{servers.registry().manifest(repository, version)['digest']}"
        host.run(f"docker image inspect {image} >/dev/null 2>&1 || docker pull --quiet {image}")
        cache = f"/tmp/conformance-{kind}-{version}"
        host.run(f"mkdir -p {cache}")
        return cls(host, kind, version, image, cache)

    def container(self, port: int, *words: str, **env: str) -> Container:
        """Say how a container of this engine is run; it has the host's network."""
        name = f"conformance-{uuid.uuid4().hex[:8]}"
        told = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_API_KEY": KEY, "VLLM_CACHE_ROOT": "/cache"}
        if self.kind == STANDIN:
            told |= {"STANDIN_DEVICE": "cpu", **{f"STANDIN_{key}": value for key, value in env.items()}}
        run = ["--init", "--network", "host", "--shm-size", "1g", "--label", LABEL]
        run += [word for key, value in told.items() for word in ("--env", f"{key}={value}")]
        run += ["--volume", f"{MODEL}:{MODEL}:ro", "--volume", f"{self.cache}:/cache", self.image]
        # Not bfloat16: where a processor has AMX, the worker of this build dies of it at the first request.
        run += [MODEL, "--served-model-name", "chat", "--max-model-len", "512", "--dtype", "float32"]
        return Container(self, name, port, [*run, "--enforce-eager", "--port", str(port), *words])


@dataclass
class Container:
    """One container of an engine; leaving the block removes it."""

    engine: Engine
    name: str
    port: int
    run: list[str]
    began: float = 0.0
    life: Life = field(default_factory=Life)

    def __enter__(self) -> Container:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.host.run(f"docker rm --force {self.name} >/dev/null 2>&1", check=False)

    def _watch(self, verb: str, **told: Any) -> dict[str, Any]:
        words = json.dumps({"name": self.name, "port": self.port, "headers": HEADERS, **told})
        script = shlex.quote(WATCHER.read_text(encoding="utf-8"))
        return dict(json.loads(self.engine.host.run(f"python3 -c {script} {verb} {shlex.quote(words)}")))

    def until(self, goal: str) -> Container:
        """Start the container if that was not done yet, and watch it until a moment of its start."""
        run, self.run = self.run, []
        seen = self._watch("begin", run=run, goal=goal, began=self.began, seconds=START_SECONDS)
        self.began = seen["began"]
        assert seen["reached"], f"{self.engine.image}: never {goal!r}: {seen['moments']}: {self.said()[-3000:]}"
        self.life.moments = {**seen["moments"], **self.life.moments}
        self.life.health += tuple(seen["health"])
        self.life.processes = seen["processes"]
        return self

    def pid(self, title: str) -> int:
        """The process with that title on the host."""
        (pid,) = [each["pid"] for each in self.life.processes if each["command"].startswith(title)]
        return int(pid)

    @property
    def server(self) -> int:
        """The process that serves: the one child of the container's init."""
        (pid,) = [each["pid"] for each in self.life.processes if each["parent"] == 0]
        return int(pid)

    @property
    def init(self) -> int:
        """The first process of the container, which hands signals on."""
        return int(self.life.processes[0]["pid"])

    def end(self, pid: int, signal: str, *, post: str | None = None) -> Life:
        """Signal a process, and watch the container until its end."""
        return self._ending(pid=pid, signal=signal, post=post, look=True, error=None, seconds=END_SECONDS)

    def end_by_itself(self, error: str) -> Life:
        """Watch the container until its end; what counts is the time since its log said that text."""
        return self._ending(pid=0, signal="", post=None, look=False, error=error, seconds=START_SECONDS)

    def _ending(self, **told: Any) -> Life:
        seen = self._watch("ending", **told)
        health, posted = tuple(seen.pop("health")), tuple(seen.pop("posted"))
        self.life.ending = Ending(health=health, posted=posted, **seen)
        self.life.log = self.said()
        self.life.streams = (self.said("2>/dev/null"), self.said("2>&1 >/dev/null"))
        return self.life

    def said(self, streams: str = "2>&1") -> str:
        """The container's log so far: of both streams, as Docker has them, or of those that a redirection leaves."""
        return self.engine.host.run(f"docker logs {self.name} {streams}", check=False)


def served(engine: Engine, port: int) -> Life:
    """Start, ask every route, and stop as Docker stops."""
    with engine.container(port, START_SECONDS="4") as container:
        container.until("listed")
        container.life.answers = answers.ask_all(address_of(engine.host.name), port, KEY)
        return container.end(container.init, "SIGTERM")


def engine_killed(engine: Engine, port: int) -> Life:
    """Ask it to stop while it loads, which it has to ignore; kill its engine process when it is ready."""
    with engine.container(port, START_SECONDS="6") as container:
        container.until("engine title")
        engine.host.run(f"kill -TERM {container.init}")
        container.until("listed")
        return container.end(container.pid("VLLM::EngineCore"), "SIGKILL")


def worker_killed(engine: Engine, port: int) -> Life:
    """Kill the worker when it is ready, and then ask for a completion."""
    with engine.container(port) as container:
        container.until("listed")
        body = json.dumps({"model": "chat", "prompt": "a", "max_tokens": 2})
        return container.end(container.pid("VLLM::Worker"), "SIGKILL", post=body)


def server_killed(engine: Engine, port: int) -> Life:
    """Kill the API server when it is ready."""
    with engine.container(port) as container:
        container.until("listed")
        return container.end(container.server, "SIGKILL")


def engine_killed_while_loading(engine: Engine, port: int) -> Life:
    """Kill the engine process in the middle of the load."""
    with engine.container(port, NEVER_READY="1") as container:
        container.until("engine title")
        return container.end(container.pid("VLLM::EngineCore"), "SIGKILL")


def server_killed_while_loading(engine: Engine, port: int) -> Life:
    """Kill the API server in the middle of the load."""
    with engine.container(port, NEVER_READY="1") as container:
        container.until("engine process")
        return container.end(container.server, "SIGKILL")


def engine_fails(engine: Engine, port: int, error: str = "") -> Life:
    """Ask for longer requests than the KV cache holds; the stand-in is told the text of the real error."""
    with engine.container(port, *TOO_SMALL, EXIT_AT="kv_cache", ERROR=error) as container:
        container.until("server")
        return container.end_by_itself(FAILED)


SCENARIOS = {
    each.__name__: each
    for each in (
        served,
        engine_killed,
        worker_killed,
        server_killed,
        engine_killed_while_loading,
        server_killed_while_loading,
        engine_fails,
    )
}
