# SPDX-License-Identifier: Apache-2.0
"""The engine process of the stand-in: it loads, says so in log lines, and then lives until its server ends.

The real engine sets process titles (`VLLM::EngineCore`, `VLLM::Worker`) by writing over its own arguments, and so does
this one. It is started under that word as its argv[0] too, so that it never has another name.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote, quote_plus

from .behaviour import STAGES, Behaviour, death_seconds, read_behaviour
from .logs import Log, init_line, kv_lines, release

LAUNCHER = Path(__file__).resolve().parent / "vllm"
_SHARES = {"engine": 0.1, "load": 0.35, "profile": 0.3, "kv_cache": 0.05, "graphs": 0.1, "serve": 0.1}
_LOST = (
    "Exception: WorkerProc initialization failed due to an exception in a background process."
    " See stack trace for root cause."
)
_SHUTDOWN = 1.0  # an engine process that failed takes so long to end its executor
_PR_SET_NAME = 15
_ARG_START = 45  # place of arg_start in /proc/self/stat behind the name; arg_end follows it


def start_process(title: str, *words: str, keep: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    """Start one more process of this program under a title; its stdin ends when this process ends."""
    return subprocess.Popen(
        [title, str(LAUNCHER), *words],
        executable=os.path.realpath("/proc/self/exe"),  # a process under another argv[0] has no sys.executable
        stdin=subprocess.PIPE,
        pass_fds=keep,
    )


def set_title(title: str) -> None:
    """Show a title and nothing else in `ps`, as setproctitle does: the short name, and all of the arguments."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_NAME, title.encode()[:15], 0, 0, 0)
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        start, end = int(fields[_ARG_START]), int(fields[_ARG_START + 1])
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(start)
            memory.write(title.encode().ljust(end - start, b"\0"))


def cache_key(options: dict[str, object]) -> str:
    """The name of the compile cache of these options; the options themselves may hold a key and stay here."""
    return hashlib.sha256(repr(sorted((key, str(value)) for key, value in options.items())).encode()).hexdigest()[:10]


def cache_file(key: str) -> Path | None:
    """The file that makes a later start of the same options warm."""
    root = os.environ.get("VLLM_CACHE_ROOT")
    return Path(root) / "torch_compile_cache" / key / "standin" if root else None


def starts_so_far() -> int:
    """Count this start in the compile cache folder; 1 where there is no such folder."""
    root = os.environ.get("VLLM_CACHE_ROOT")
    if not root:
        return 1
    path = Path(root) / "standin-starts"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="ascii") as file:
        file.write(".")
        file.flush()
        return path.stat().st_size


def tell(log: Log, name: str, value: str) -> None:
    """Print a value in the spellings in which programs print one, as a plug-in that knows no secrets would."""
    log.vllm("plugin.py:1", f"{name}={value} {name}={value!r} {json.dumps({name: value})} {shlex.quote(value)}")
    log.plain(f"{json.dumps({name: value}, ensure_ascii=False)} {quote(value, safe='')} {quote_plus(value)}")
    log.plain(f"Authorization: Basic {base64.b64encode(value.encode()).decode()}")


def keep_factors(log: Log, folder: Path) -> None:
    """What vLLM wrote beside its compile cache from 0.12 to 0.28, and printed at DEBUG: its variables, with its key."""
    if not (0, 12) <= log.version < (0, 29):
        return
    factors = {"VLLM_API_KEY": os.environ.get("VLLM_API_KEY"), "VLLM_TARGET_DEVICE": "cuda"}
    if os.environ.get("VLLM_LOGGING_LEVEL", "").upper() == "DEBUG":
        log.vllm("backends.py:1117", f"Compile env factors (raw):\n{factors}\nVllm config hash: 0", "DEBUG")
    path = folder / "rank_0_0" / "backbone" / "cache_key_factors.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text(json.dumps({"env": factors, "config_hash": "0"}, indent=2, sort_keys=True), encoding="utf-8")


class Engine:
    """One load, stage by stage."""

    def __init__(self, told: dict[str, object], behaviour: Behaviour) -> None:
        self.model = str(told["model"])
        self.max_len = int(str(told["max_model_len"]))
        self.fails = bool(told["fails"])
        self.eager = bool(told["eager"])
        self.ranks = int(str(told["workers"]))
        self.behaviour = behaviour
        name = "EngineCore" if release(behaviour.version) >= (0, 18) else "EngineCore_DP0"
        self.log = Log(name, behaviour.version)
        self.workers: list[subprocess.Popen[bytes]] = []
        self.cache = cache_file(str(told["cache"]))
        self.warm = self.cache is not None and self.cache.exists()
        self.began = time.monotonic()

    @property
    def worker_logs(self) -> list[Log]:
        """Who speaks for each rank: its worker; on one GPU there is none, and the engine process does the work."""
        if not self.workers:
            return [self.log]
        titles = worker_titles(self.ranks)
        return [Log(title, self.behaviour.version, child.pid) for title, child in zip(titles, self.workers)]

    def start_workers(self) -> None:
        """Start a process for each rank; the CPU build has one for the only rank too."""
        if self.ranks > 1 or self.behaviour.device == "cpu":
            titles = worker_titles(self.ranks)
            self.workers = [start_process(f"VLLM::{title}", "worker", f"VLLM::{title}") for title in titles]
            end = time.monotonic() + 5.0
            while any(not _titled(child) for child in self.workers) and time.monotonic() < end:
                time.sleep(0.01)

    def gone(self) -> list[int]:
        """The ranks of workers that ended."""
        return [rank for rank, child in enumerate(self.workers) if child.poll() is not None]

    def lost_worker(self) -> bool:
        """Whether a worker is gone; the log says so."""
        gone = self.gone()
        if gone:
            status = self.workers[gone[0]].poll()
            text = f"Worker proc VllmWorker-{gone[0]} died unexpectedly (exit code: {status}), shutting down executor."
            self.log.vllm("multiproc_executor.py:314", text, "ERROR")
        return bool(gone)

    def run(self) -> None:
        """Go through all stages."""
        total = self.behaviour.warm_seconds if self.warm else self.behaviour.start_seconds
        slow = self.behaviour.slow_stage
        for stage in STAGES[2:]:
            if stage == self.behaviour.noise_at:
                self.log.noise(self.behaviour.noise, self.behaviour.noise_seconds, self.behaviour.noise_width)
            if self.fails and stage == self.behaviour.exit_at:
                self.fail(self.behaviour.error or "RuntimeError: stand-in engine was told to fail")
            getattr(self, stage)(self.seconds(stage, total, slow))

    def seconds(self, stage: str, total: float, slow: str) -> float:
        """A stage's part of the start; what is over two seconds goes to the slow stage."""
        usual = min(total, 2.0)
        return usual * _SHARES[stage] + (total - usual if stage == slow else 0.0)

    def wait(self, stage: str, seconds: float) -> None:
        """Let a stage take its time, with a sign of life a second if the behaviour says so."""
        hangs = self.behaviour.never_ready and stage == self.behaviour.slow_stage
        end = time.monotonic() + seconds
        step = 0
        while hangs or time.monotonic() < end:
            step += 1
            speaks = self.behaviour.progress and (hangs or seconds > 1.5)
            if speaks and stage == "load":
                self.log.bar(min(step, 400), 400, step)
            elif speaks:
                self.log.vllm("backends.py:393", f"Compiling a graph for compile range ({step}, {step}) takes 1.00 s")
            if self.gone():
                self.fail(_LOST)
            time.sleep(1.0 if hangs else max(0.0, min(1.0, end - time.monotonic())))

    def fail(self, error: str) -> None:
        """Die the way an engine process dies: the error here, its consequence in the server process."""
        self.log.vllm("core.py:1221", "EngineCore failed to start.", "ERROR")
        where = '  File "vllm/v1/engine/core.py", line 1185, in run_engine_core'
        trace = f"Traceback (most recent call last):\n{where}\n{error}"
        self.log.vllm("core.py:1221", trace, "ERROR")
        time.sleep(min(_SHUTDOWN, death_seconds(self.behaviour, ready=False)))
        self.log.plain(f"Process {self.log.process}:\n{trace}")
        sys.exit(1)

    def engine(self, seconds: float) -> None:
        """Say which engine this is."""
        config = f"model='{self.model}', speculative_config=None, tokenizer='{self.model}', max_seq_len={self.max_len}"
        self.log.vllm("core.py:133", f"Initializing a V1 LLM engine (v{self.behaviour.version}) with config: {config}")
        for name in self.behaviour.prints:
            tell(self.log, name, os.environ.get(name, ""))
        self.start_workers()
        self.wait("engine", seconds)

    def load(self, seconds: float) -> None:
        """Load the weights."""
        logs = self.worker_logs
        for rank, log in enumerate(logs):
            place = f"rank {rank} in world size {len(logs)} is assigned as DP rank 0, PP rank 0, TP rank {rank}"
            log.vllm("parallel_state.py:2350", place)
        logs[0].vllm("gpu_model_runner.py:5040", f"Starting to load model {self.model}...")
        self.log.bar(0, 1, 0)
        self.wait("load", seconds)
        self.log.bar(1, 1, seconds)
        logs[0].vllm("default_loader.py:502", f"Loading weights took {seconds:.2f} seconds")
        if self.behaviour.device == "gpu":
            text = f"Model loading took 0.01 GiB memory and {seconds:.6f} seconds"
            logs[0].vllm("gpu_model_runner.py:5150", text)

    def profile(self, seconds: float) -> None:
        """Find out how much memory is left; before that compile, unless this start is eager."""
        if self.cache is not None and not self.eager:
            self.cache.parent.mkdir(parents=True, exist_ok=True)
            keep_factors(self.log, self.cache.parent)
            self.log.vllm("backends.py:1089", f"Using cache directory: {self.cache.parent} for vLLM's torch.compile")
        self.wait("profile", seconds)
        if not self.eager:
            self.compiled(seconds)
        if self.behaviour.device == "gpu":
            self.log.vllm("gpu_worker.py:759", f"Available KV cache memory: {self.behaviour.kv_gib:g} GiB")
        else:
            text = f"Explicitly set ({self.behaviour.kv_gib:g}/64.0) GiB for KV cache on node 0."
            self.worker_logs[0].vllm("cpu_worker.py:260", text)

    def compiled(self, seconds: float) -> None:
        """Say that compiling is over, and leave what makes the next start warm."""
        if self.warm:
            self.log.vllm("backends.py:345", "Directly load the compiled graph(s) from the cache")
        verb = "takes" if self.log.version < (0, 18) else "took"
        self.log.vllm("monitor.py:53", f"torch.compile {verb} {seconds:.2f} s in total")
        if self.cache is not None and not self.warm:
            self.cache.write_text(f"{os.getpid()}\n", encoding="ascii")

    def kv_cache(self, seconds: float) -> None:
        """Say what fits."""
        self.wait("kv_cache", seconds)
        kv_lines(self.log, self.behaviour.device, self.behaviour.kv_tokens, self.max_len)

    def graphs(self, seconds: float) -> None:
        """Capture graphs, on a GPU."""
        self.wait("graphs", seconds)
        if self.behaviour.device == "gpu" and not self.eager:
            self.log.vllm("gpu_model_runner.py:6581", f"Graph capturing finished in {seconds:.0f} secs, took 0.12 GiB")
        init_line(self.log, time.monotonic() - self.began, 0.0 if self.warm or self.eager else seconds)

    def serve(self, seconds: float) -> None:
        """The last moments before the server opens its port."""
        self.wait("serve", seconds)


def worker_titles(ranks: int) -> list[str]:
    """What the workers are called."""
    return [f"Worker_TP{rank}" for rank in range(ranks)] if ranks > 1 else ["Worker"]


def engine_main(told_text: str, ready_fd: str) -> int:
    """The engine process: load, report on a pipe who is needed, and live until the server's end of stdin closes."""
    set_title("VLLM::EngineCore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as measured: a loading engine does not end at SIGTERM
    engine = Engine(json.loads(told_text), read_behaviour())
    engine.run()
    os.write(int(ready_fd), json.dumps([os.getpid(), *(child.pid for child in engine.workers)]).encode() + b"\n")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while not engine.lost_worker():
        # The pipe of the server ends with the server, however that ends.
        if _ended(sys.stdin.fileno(), 0.1):
            return 0
    text = "EngineCore encountered a fatal error.\nTraceback (most recent call last):\nRuntimeError: cancelled"
    engine.log.vllm("core.py:1512", text, "ERROR")
    return 1


def worker_main(title: str) -> int:
    """A worker process: nothing but a process that can be killed."""
    set_title(title)
    while not _ended(sys.stdin.fileno(), 60.0):
        pass
    return 0


def _titled(child: subprocess.Popen[bytes]) -> bool:
    """Whether a worker is as far as having its title; one that is gone is no longer waited for."""
    if child.poll() is not None:
        return True
    return Path(f"/proc/{child.pid}/comm").read_text(encoding="utf-8").startswith("VLLM::")


def _ended(descriptor: int, seconds: float) -> bool:
    import select  # noqa: PLC0415 - only the engine processes need it

    readable, _, _ = select.select([descriptor], [], [], seconds)
    return bool(readable) and not os.read(descriptor, 1)
