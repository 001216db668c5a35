# SPDX-License-Identifier: Apache-2.0
"""The engine process of the stand-in: it loads, says so in log lines, and then lives until its server ends.

The real engine sets process titles (`VLLM::EngineCore`, `VLLM::Worker`). The standard library cannot, so each process
is started under that word as its argv[0] (`ps` and `pgrep -f` find it), and `comm` is set by prctl where libc allows.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from .behaviour import STAGES, Behaviour, read_behaviour
from .logs import Log, init_line, kv_lines, release

LAUNCHER = Path(__file__).resolve().parent / "vllm"
_SHARES = {"engine": 0.1, "load": 0.35, "profile": 0.3, "kv_cache": 0.05, "graphs": 0.1, "serve": 0.1}
_PR_SET_NAME = 15


def start_process(title: str, *words: str, keep: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    """Start one more process of this program under a title; its stdin ends when this process ends."""
    return subprocess.Popen(
        [title, str(LAUNCHER), *words],
        executable=os.path.realpath("/proc/self/exe"),  # a process under another argv[0] has no sys.executable
        stdin=subprocess.PIPE,
        pass_fds=keep,
    )


def set_name(title: str) -> None:
    """Set the short process name, where that is possible."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_NAME, title.encode()[:15], 0, 0, 0)


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


class Engine:
    """One load, stage by stage."""

    def __init__(self, told: dict[str, object], behaviour: Behaviour) -> None:
        self.model = str(told["model"])
        self.max_len = int(str(told["max_model_len"]))
        self.fails = bool(told["fails"])
        self.behaviour = behaviour
        name = "EngineCore" if release(behaviour.version) >= (0, 18) else "EngineCore_DP0"
        self.log = Log(name, behaviour.version)
        self.cache = cache_file(str(told["cache"]))
        self.warm = self.cache is not None and self.cache.exists()
        self.began = time.monotonic()

    def run(self) -> None:
        """Go through all stages."""
        total = self.behaviour.warm_seconds if self.warm else self.behaviour.start_seconds
        slow = self.behaviour.slow_stage
        for stage in STAGES[2:]:
            if self.fails and stage == self.behaviour.exit_at:
                self.fail()
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
            time.sleep(1.0 if hangs else max(0.0, min(1.0, end - time.monotonic())))

    def fail(self) -> None:
        """Die the way an engine process dies: the error here, its consequence in the server process."""
        error = self.behaviour.error or "RuntimeError: stand-in engine was told to fail"
        self.log.vllm("core.py:1221", "EngineCore failed to start.", "ERROR")
        where = '  File "vllm/v1/engine/core.py", line 1185, in run_engine_core'
        trace = f"Traceback (most recent call last):\n{where}\n{error}"
        self.log.vllm("core.py:1221", trace, "ERROR")
        self.log.plain(f"Process {self.log.process}:\n{trace}")
        sys.exit(1)

    def engine(self, seconds: float) -> None:
        """Say which engine this is."""
        config = f"model='{self.model}', speculative_config=None, tokenizer='{self.model}', max_seq_len={self.max_len}"
        self.log.vllm("core.py:133", f"Initializing a V1 LLM engine (v{self.behaviour.version}) with config: {config}")
        self.wait("engine", seconds)

    def load(self, seconds: float) -> None:
        """Load the weights."""
        self.log.vllm("gpu_model_runner.py:5040", f"Starting to load model {self.model}...")
        self.log.bar(0, 1, 0)
        self.wait("load", seconds)
        self.log.bar(1, 1, seconds)
        self.log.vllm("default_loader.py:502", f"Loading weights took {seconds:.2f} seconds")
        self.log.vllm("gpu_model_runner.py:5150", f"Model loading took 0.01 GiB memory and {seconds:.6f} seconds")

    def profile(self, seconds: float) -> None:
        """Compile, or find that it was compiled."""
        if self.cache is not None:
            self.cache.parent.mkdir(parents=True, exist_ok=True)
            self.log.vllm("backends.py:1089", f"Using cache directory: {self.cache.parent} for vLLM's torch.compile")
        self.wait("profile", seconds)
        if self.warm:
            self.log.vllm("backends.py:345", "Directly load the compiled graph(s) from the cache")
        verb = "takes" if self.log.version < (0, 18) else "took"
        self.log.vllm("monitor.py:53", f"torch.compile {verb} {seconds:.2f} s in total")
        if self.cache is not None and not self.warm:
            self.cache.write_text(f"{os.getpid()}\n", encoding="ascii")

    def kv_cache(self, seconds: float) -> None:
        """Say what fits."""
        self.wait("kv_cache", seconds)
        if self.behaviour.device == "gpu":
            self.log.vllm("gpu_worker.py:759", f"Available KV cache memory: {self.behaviour.kv_gib:g} GiB")
        kv_lines(self.log, self.behaviour.device, self.behaviour.kv_tokens, self.max_len)

    def graphs(self, seconds: float) -> None:
        """Capture graphs, on a GPU."""
        self.wait("graphs", seconds)
        if self.behaviour.device == "gpu":
            self.log.vllm("gpu_model_runner.py:6581", f"Graph capturing finished in {seconds:.0f} secs, took 0.12 GiB")
        init_line(self.log, time.monotonic() - self.began, 0.0 if self.warm else seconds)

    def serve(self, seconds: float) -> None:
        """The last moments before the server opens its port."""
        self.wait("serve", seconds)


def engine_main(told_text: str, ready_fd: str) -> int:
    """The engine process: load, report ready on a pipe, and live until the server's end of stdin closes."""
    set_name("VLLM::EngineCore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as measured: a loading engine does not end at SIGTERM
    told = json.loads(told_text)
    engine = Engine(told, read_behaviour())
    workers = int(told["workers"])
    children = [start_process(f"VLLM::Worker_TP{rank}", "worker") for rank in range(workers)] if workers > 1 else []
    engine.run()
    os.write(int(ready_fd), b"ready\n")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while True:
        if any(child.poll() is not None for child in children):
            engine.log.vllm(
                "multiproc_executor.py:260", "Worker proc died unexpectedly, shutting down executor.", "ERROR"
            )
            return 1
        # The pipe of the server ends with the server, however that ends.
        if _ended(sys.stdin.fileno(), 0.2):
            return 0


def worker_main() -> int:
    """A worker process: nothing but a process that can be killed."""
    set_name("VLLM::Worker")
    while not _ended(sys.stdin.fileno(), 60.0):
        pass
    return 0


def _ended(descriptor: int, seconds: float) -> bool:
    import select  # noqa: PLC0415 - only the engine processes need it

    readable, _, _ = select.select([descriptor], [], [], seconds)
    return bool(readable) and not os.read(descriptor, 1)
