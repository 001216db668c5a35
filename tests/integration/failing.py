"""Starts of the real engine that fail, each in a container of its own: what it said, and how it ended."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, field

from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import StartupReport, parse_startup_log
from tests.integration.lab_host import LabHost
from tests.lab import names, servers

REPOSITORY = "vllm/vllm-openai"
VERSIONS = ("v0.32.0", "v0.31.0")
MODEL = names.MODEL_PATH
ROOM = "/tmp/failing"
LABEL = "io.gpuhosts.vllm.lab.failing"
TAKEN_PORT = 8299
SECONDS = 600  # for one start, on a busy machine; one with time needs 5 s to 30 s
ENV = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CACHE_ROOT": "/cache", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
HUB = {"HF_ENDPOINT": "http://10.212.0.4:8080", "HF_HUB_OFFLINE": "0", "HF_HOME": "/hub"}

# Models that cannot be served, each a copy of the tiny one with one thing wrong.
_MODELS = rf"""
rm -rf {ROOM}; mkdir -p {ROOM}; cd {ROOM}
for name in headless bad-tokenizer own-code; do cp -r {MODEL} $name; done
truncate --size 4 headless/model.safetensors
echo '{{' > bad-tokenizer/tokenizer.json
sed -i 's/"model_type": *"llama"/"model_type": "own", "auto_map": {{"AutoConfig": "own.Own"}}/' own-code/config.json
printf 'logging-config:\n  formatter: json\n' > json.yml
"""
# Loading: the engine's process is there, and has said what it will load.
LOADING = "Initializing a V1 LLM engine"
READY = "Application startup complete"
# Wait for a word of a container's log: TELLS 'word' SAYS.
TELLS, SAYS = f"timeout {SECONDS} grep --max-count 1 --quiet", "<(docker logs --follow {name} 2>&1)"
ENGINE_KILLED = "docker top {name} -eo pid,args | awk '/VLLM::EngineCore/ {{print $1}}' | xargs kill -KILL"


@dataclass(frozen=True)
class Case:
    """One start: what differs from a healthy one, and what is done (``{name}``: its container) once it said ``at``.

    Without anything to do, it is left alone then, and removed.
    """

    words: tuple[str, ...] = ()
    model: str = MODEL
    env: dict[str, str] = field(default_factory=dict)
    run: tuple[str, ...] = ()
    port: int | None = None
    at: str = ""
    do: str = ""


@dataclass(frozen=True)
class Ended:
    """What a start left; no exit code where it was ready and was not asked to end."""

    log: str
    exit_code: int | None
    seconds: float

    @property
    def report(self) -> StartupReport:
        """What the collection reads in its log."""
        return parse_startup_log(self.log)


@dataclass(frozen=True)
class Engines:
    """The real engines as images on a host, and what they shall fail at."""

    host: LabHost
    images: dict[str, str]

    @classmethod
    def prepare(cls, host: LabHost) -> Engines:
        """Pull the images by their digests, lay out the models, and take a port."""
        images = {
            version: f"{REPOSITORY}@{servers.registry().manifest(REPOSITORY, version)['digest']}"
            for version in VERSIONS
        }
        for image in images.values():
            host.run(f"docker image inspect {image} >/dev/null 2>&1 || docker pull --quiet {image}")
        made = cls(host, images)
        made.remove()  # what a run that was ended in the middle has left
        host.run(_MODELS)
        host.run(
            f"systemd-run --quiet --collect --unit failing-port python3 -m http.server {TAKEN_PORT} --directory {ROOM}"
        )
        return made

    def remove(self) -> None:
        """Leave nothing of it on the host."""
        gone = f"docker ps --all --quiet --filter label={LABEL} | xargs --no-run-if-empty docker rm --force"
        self.host.run(f"{gone}; systemctl stop failing-port; rm -rf {ROOM}", check=False)

    def start(self, version: str, label: str, case: Case, port: int) -> Ended:
        """Run one start until it ended, or until it said ``at`` where nothing is done then."""
        name = f"failing-{version}-{label}"
        run = shlex.join(self._words(version, name, case, case.port or port))
        script = [f"docker run --detach {run} >/dev/null"]
        if case.at:
            script.append(f"{TELLS} {shlex.quote(case.at)} {SAYS}; {case.do}".format(name=name))
        ends = f"timeout {SECONDS} docker wait {name}" if case.do or not case.at else "echo ready"
        began = time.monotonic()
        said = self.host.run(f"bash -c {shlex.quote(chr(10).join([*script, ends]))}", check=False)
        log = self.host.run(f"docker logs {name} 2>&1; docker rm --force {name} >/dev/null 2>&1", check=False)
        code = said.split()[-1:] or ["nothing"]
        assert code[0].isdigit() or code == ["ready"], f"{name}: {said}: {log[-2000:]}"
        return Ended(log, int(code[0]) if code[0].isdigit() else None, time.monotonic() - began)

    def _words(self, version: str, name: str, case: Case, port: int) -> list[str]:
        told = {**ENV, **case.env}
        words = ["--name", name, "--label", LABEL, "--init", "--network", "host"]
        words += [word for key, value in told.items() for word in ("--env", f"{key}={value}")]
        # What a release found out about the model's class is kept for its other starts: it takes as long as a failure.
        mounts = (f"{MODEL}:{MODEL}:ro", f"{ROOM}:{ROOM}:ro", f"{ROOM}/cache-{version}:/cache")
        words += [word for mount in mounts for word in ("--volume", mount)]
        words += ["--shm-size", "1g", *case.run]
        words += [self.images[version], case.model, "--served-model-name", "chat", "--dtype", "float32"]
        return [*words, "--max-model-len", "512", "--enforce-eager", "--port", str(port), *case.words]
