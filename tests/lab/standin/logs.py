# SPDX-License-Identifier: Apache-2.0
"""Print log lines in the shapes that vLLM prints them, by release.

Up to 0.30 every line of a process carries `(Process pid=N) `, also uvicorn's and tracebacks; from 0.31 only vLLM's own
records do. The KV cache is told in two lines up to 0.27 and in one from 0.28.
"""

from __future__ import annotations

import os
import sys
import time

_LOGO = (
    "",
    "       █     █     █▄   ▄█",
    " ▄▄ ▄█ █     █     █ ▀▄▀ █  version {version}",
    "  █▄█▀ █     █     █     █  model   {model}",
    "   ▀▀  ▀▀▀▀▀ ▀▀▀▀▀ ▀     ▀",
    "",
)

_PAUSE = 0.01
# Docker reads stdout and stderr side by side: what is to stand in an order in its log needs time in between.
_BETWEEN = 0.1


def release(version: str) -> tuple[int, ...]:
    """The numbers of a release, for comparing."""
    return tuple(int(part) for part in version.split("+", maxsplit=1)[0].split(".")[:3] if part.isdigit())


class Log:
    """The log of one process."""

    _written: tuple[object, float] = (None, 0.0)  # the stream that was written last, and when

    def __init__(self, process: str, version: str, pid: int | None = None) -> None:
        self.process = process
        self.version = release(version)
        self.prefix = f"({process} pid={os.getpid() if pid is None else pid}) "

    def vllm(self, source: str, text: str, level: str = "INFO") -> None:
        """One record of vLLM's own logger, on stdout."""
        stamp = time.strftime("%m-%d %H:%M:%S")
        for line in text.split("\n"):
            self._write(sys.stdout, f"{self.prefix}{level} {stamp} [{source}] {line}\n")

    def plain(self, text: str) -> None:
        """Lines that are not vLLM's: uvicorn, tracebacks; on stderr."""
        prefix = self.prefix if self.version < (0, 31) else ""
        for line in text.split("\n"):
            self._write(sys.stderr, f"{prefix}{line}\n")

    def bar(self, done: int, total: int, seconds: float) -> None:
        """One state of the progress bar of loading weights: a carriage return comes first, as tqdm prints it."""
        prefix = self.prefix if self.version < (0, 31) else ""
        share = 100 * done // total
        text = f"Loading safetensors checkpoint shards: {share:3d}% Completed | {done}/{total}"
        self._write(sys.stderr, f"\r{prefix}{text} [00:{int(seconds) % 60:02d}<00:00,  1.00it/s]\n")

    def noise(self, lines: int, seconds: float, width: int) -> None:
        """Many lines at once, each with its number, evenly over their time."""
        began = time.monotonic()
        for number in range(1, lines + 1):
            self.vllm("noise.py:1", f"noise {number} of {lines} {'.' * width}")
            ahead = began + seconds * number / lines - time.monotonic()
            if ahead > _PAUSE:
                time.sleep(ahead)

    @staticmethod
    def _write(stream: object, text: str) -> None:
        """Write a line, at once: two processes share the stream; not too soon after one of the other stream."""
        other, at = Log._written
        if other is not stream:
            time.sleep(max(0.0, at + _BETWEEN - time.monotonic()))
        os.write(stream.fileno(), text.encode())  # type: ignore[attr-defined]
        Log._written = (stream, time.monotonic())


def banner(log: Log, version: str, model: str, options: dict[str, object]) -> None:
    """The first lines of a server: who it is, and what it was told."""
    log.vllm("standin.py:1", f"stand-in engine for tests: this is not vLLM, it behaves like vLLM {version}")
    log.vllm("api_utils.py:339", "\n".join(_LOGO).format(version=version, model=model))
    log.vllm("api_utils.py:286", f"non-default args: {options}")


def kv_lines(log: Log, device: str, tokens: int, max_len: int) -> None:
    """What fits into the KV cache."""
    word = "CPU" if device == "cpu" and log.version >= (0, 30) else "GPU"
    size = f"{word} KV cache size: {tokens:,} tokens"
    concurrency = f"Maximum concurrency for {max_len:,} tokens per request: {tokens / max_len:.2f}x"
    if log.version >= (0, 28):
        log.vllm("kv_cache_utils.py:2327", f"{size}, {concurrency}")
    else:
        log.vllm("kv_cache_utils.py:1733", size)
        log.vllm("kv_cache_utils.py:1734", concurrency)


def init_line(log: Log, seconds: float, compile_seconds: float) -> None:
    """How long the engine took."""
    head = "init engine (profile, create kv cache, warmup model) took"
    if log.version < (0, 20):
        log.vllm("core.py:302", f"{head} {seconds:.2f} seconds")
    elif compile_seconds:
        log.vllm("core.py:395", f"{head} {seconds:.2f} s (compilation: {compile_seconds:.2f} s)")
    else:
        log.vllm("core.py:402", f"{head} {seconds:.2f} s")
