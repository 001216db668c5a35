# SPDX-License-Identifier: Apache-2.0
"""How fast a start-up log is read, against `grep -c` on the same file, and how much memory that takes.

Writes a large log into a folder of its own, reads it in a fresh process and counts with `grep -c`, in turns, and prints
the median of the runs. Three logs: a start and then what a busy server prints (the one with floors), the same before
the server is ready, and one of long lines that all look like errors. Ends with 1 where a floor is not reached.

    python tests/bench/startup_log.py --mb 200 --runs 3
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

REPO = Path(__file__).resolve().parents[2]
MIB = 1 << 20
PIECE = 1 << 18

START = """\
(APIServer pid=11) INFO 05-06 07:08:09 [api_server.py:1272] vLLM API server version 0.14.0
(EngineCore pid=52) INFO 05-06 07:08:31 [core.py:97] Initializing a V1 LLM engine (v0.14.0) with config: model='acme/M'
(EngineCore pid=52) INFO 05-06 07:08:44 [default_loader.py:291] Loading weights took 6.17 seconds
(EngineCore pid=52) INFO 05-06 07:08:45 [gpu_model_runner.py:3900] Model loading took 13.52 GiB memory and 8.03 seconds
(EngineCore pid=52) INFO 05-06 07:09:02 [gpu_worker.py:355] Available KV cache memory: 20.75 GiB
(EngineCore pid=52) INFO 05-06 07:09:02 [kv_cache_utils.py:1305] GPU KV cache size: 169,984 tokens
"""
READY = """\
(APIServer pid=11) INFO:     Started server process [11]
(APIServer pid=11) INFO:     Waiting for application startup.
(APIServer pid=11) INFO:     Application startup complete.
"""
LOADED = "Loading safetensors checkpoint shards:  {percent:3d}% Completed | {n}/99 [00:02<01:39,  2.77s/it]\r"


def busy(n: int) -> str:
    """What a server under load prints, the n-th time."""
    stamp = f"05-06 {n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d}"
    answered = "".join(
        f"(APIServer pid=11) INFO:     10.0.{n % 250}.{i}:{40000 + (n * 7 + i) % 20000} - "
        f'"POST /v1/chat/completions HTTP/1.1" {"200 OK" if i % 9 else "400 Bad Request"}\n'
        for i in range(20)
    )
    return (
        f"(APIServer pid=11) INFO {stamp} [loggers.py:236] Engine 000: Avg prompt throughput: {n % 900}.7 tokens/s, "
        f"Avg generation throughput: 104.5 tokens/s, Running: {n % 64} reqs, Waiting: 0 reqs, "
        f"GPU KV cache usage: {n % 99}.0%\n"
        + answered
        + f"(APIServer pid=11) ERROR {stamp} [serving_chat.py:222] ValueError: This model's maximum context length is "
        f"8192 tokens. However, you requested {9000 + n} tokens.\n"
    )


def loading(n: int) -> str:
    """What a long start prints: bars that overwrite themselves, warnings, and probes that get no answer yet."""
    bars = "".join(LOADED.format(percent=i, n=i) for i in range(20))
    return bars + (
        f"\n(EngineCore pid=52) WARNING 05-06 07:08:{n % 60:02d} [config.py:1088] Default sampling parameters of {n}\n"
        f"(EngineCore pid=52) INFO 05-06 07:08:{n % 60:02d} [weight_utils.py:392] Using weights format ['*.bin']\n"
    )


def failing(n: int) -> str:
    """Long lines, each of which looks like the error."""
    head = f"(EngineCore pid=52) ERROR 05-06 07:08:{n % 60:02d} [core.py:843] "
    return (
        f"{head}RuntimeError: request {n} failed: CUDA error of {'tensor([1.0, 2.0]), ' * 120}\n"
        f"{head}Traceback (most recent call last):\n"
        f'{head}  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line {n}, in step\n'
    )


class Log(NamedTuple):
    """One kind of log: what is written before the noise, the noise, what is written after it."""

    before: str
    noise: Callable[[int], str]
    after: str
    has_floors: bool = False


LOGS = {
    "busy after a start": Log(START + READY, busy, "", True),
    "noise before ready": Log(START, loading, READY),
    "long lines like errors": Log(START + READY, failing, ""),
}


class Floors(NamedTuple):
    """What the first log must reach."""

    mb_per_second: float
    of_grep: float
    mib: float


class Figures(NamedTuple):
    """One run, or the medians of all: MB a second of both, and MiB above the interpreter."""

    parse: float
    grep: float
    mib: float

    @property
    def ratio(self) -> float:
        """The parser's speed as a part of that of grep."""
        return self.parse / self.grep


def write(path: Path, log: Log, size: int) -> None:
    """Write a log of about that many bytes; a thousand different pieces of noise, again and again."""
    noise = "".join(log.noise(n) for n in range(1000)).encode()
    with path.open("wb") as file:
        file.write(log.before.encode())
        for _block in range(size // len(noise)):
            file.write(noise)
        file.write(noise[: noise.rfind(b"\n", 0, max(1, size % len(noise))) + 1])
        file.write(log.after.encode())


def pieces(path: Path) -> Iterator[bytes]:
    """The file's bytes, a piece at a time."""
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


def peak_mib() -> float:
    """The most memory that this process had. VmHWM where there is one: what getrusage gives outlives an exec."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(path: str) -> None:
    """In the fresh process: read the log (none: nothing at all) and print what that took."""
    seconds, state = 0.0, ""
    if path:
        sys.path.insert(0, str(REPO / ".build" / "tree"))
        from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import (  # noqa: PLC0415
            parse_startup_log,
        )

        begun = time.perf_counter()
        state = parse_startup_log(pieces(Path(path))).state
        seconds = time.perf_counter() - begun
    print(json.dumps({"seconds": seconds, "mib": peak_mib(), "state": state}))


def in_child(path: str) -> tuple[float, float]:
    """(seconds, peak MiB) of a fresh process that reads a log."""
    done = subprocess.run(
        [sys.executable, "-I", __file__, "--child", path], check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    found = json.loads(done.stdout)
    return found["seconds"], found["mib"]


def with_grep(path: Path) -> tuple[float, int]:
    """The seconds of `grep -c ERROR`, and what it counts. Into a pipe: for /dev/null it ends at the first hit."""
    begun = time.perf_counter()
    done = subprocess.run(["grep", "-c", "ERROR", str(path)], check=False, stdout=subprocess.PIPE, encoding="ascii")
    return time.perf_counter() - begun, int(done.stdout)


def measured(path: Path, runs: int) -> Figures:
    """The medians; both programs read a file that was read before, in turns."""
    for _piece in pieces(path):
        pass
    mb = path.stat().st_size / 1e6
    found = []
    for _run in range(runs):
        empty = in_child("")[1]
        seconds, peak = in_child(str(path))
        found.append(Figures(mb / seconds, mb / with_grep(path)[0], peak - empty))
    return Figures(*(median(values) for values in zip(*found)))


def missed(found: Figures, floors: Floors) -> list[str]:
    """The floors that were not reached."""
    return [
        words
        for words, short in (
            (f"{found.parse:.1f} MB/s, at least {floors.mb_per_second:g}", found.parse < floors.mb_per_second),
            (f"1/{1 / found.ratio:.1f} of grep -c, at least 1/{1 / floors.of_grep:g}", found.ratio < floors.of_grep),
            (f"{found.mib:.1f} MiB above the interpreter, under {floors.mib:g}", found.mib >= floors.mib),
        )
        if short
    ]


def arguments(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=200, help="size of each log, in MB (default: 200)")
    parser.add_argument("--runs", type=int, default=3, help="how often, of which the median (default: 3)")
    parser.add_argument("--mb-per-second", type=float, default=40, help="floor (default: 40)")
    parser.add_argument("--of-grep", type=float, default=1 / 25, help="floor: part of grep's speed (default: 1/25)")
    parser.add_argument("--mib", type=float, default=64, help="memory above the interpreter, in MiB (default: 64)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Measure, print a line for each log, and say which floors were missed."""
    args = arguments(words)
    if args.child is not None:
        child(args.child)
        return 0
    short: list[str] = []
    print(f"{args.mb:g} MB a log, median of {args.runs}, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory(prefix="startup-log-bench-") as folder:
        for name, log in LOGS.items():
            path = Path(folder) / "start.log"
            write(path, log, int(args.mb * 1e6))
            found = measured(path, args.runs)
            print(
                f"{name:24} {found.parse:9.1f} MB/s   grep -c {found.grep:9.1f} MB/s   "
                f"1/{1 / found.ratio:.1f}   {found.mib:6.1f} MiB above the interpreter"
            )
            if log.has_floors:
                short = missed(found, Floors(args.mb_per_second, args.of_grep, args.mib))
    for words_of_floor in short:
        print(f"below the floor: {words_of_floor}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
