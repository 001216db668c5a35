# SPDX-License-Identifier: Apache-2.0
"""How long the audit of one service takes in a process of its own: imports, tables and all rules.

Starts a fresh Python that imports the audit and audits one service between two releases, as the module does on a host,
in turns with one that does nothing, and prints the median, the least and the most of the runs in milliseconds. Ends
with 1 where the median is above the limit.

    python tests/bench/audit.py --runs 15
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

REPO = Path(__file__).resolve().parents[2]
SUBJECT: dict[str, Any] = {
    "args": [
        "Qwen/Qwen3-8B", "--revision", "9c925d64d72725edaf899c6cb9c377fd0709d9c5", "--port", "8000",
        "--served-model-name", "chat", "--max-model-len", "32k", "--tensor-parallel-size", "2", "--swap-space", "4",
        "--gpu-memory-utilization", "0.9", "--kv-cache-dtype", "fp8", "--enable-auto-tool-choice",
        "--tool-call-parser", "hermes", "--no-enable-prefix-caching", "--max-model-length", "1",
        "--speculative-config", '{"method": "ngram", "num_speculative_tokens": 4}',
    ],
    "env": {"VLLM_LOGGING_LEVEL": "INFO", "VLLM_ATTENTION_BACKEND": "FLASH_ATTN", "VLLM_USE_V1": "1"},
    "host_bind": "0.0.0.0",
    "container": {"image": "vllm/vllm-openai:v0.32.0", "shm_size": "64m", "tensor_parallel_size": 2},
    "unit": {"TimeoutStopSec": "10"},
}  # fmt: skip
VERSION, PREVIOUS = "0.32.0", "0.11.0"


def child() -> None:
    """In the fresh process: import, audit, and print how long that took and what was found."""
    sys.path.insert(0, str(REPO / ".build" / "tree"))
    begun = time.perf_counter()
    from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config  # noqa: PLC0415

    imported = time.perf_counter()
    report = audit_config(SUBJECT, VERSION, PREVIOUS)
    done = time.perf_counter()
    print(json.dumps({"import": imported - begun, "audit": done - imported, "findings": len(report.findings)}))


def in_child() -> dict[str, Any]:
    """What a fresh process says of its audit, and the milliseconds that all of it took."""
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-I", __file__, "--child"], check=True, stdout=subprocess.PIPE)
    return {**json.loads(done.stdout), "whole": time.perf_counter() - begun}


def empty() -> float:
    """The seconds of a Python that does nothing."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
    return time.perf_counter() - begun


def missed(milliseconds: float, limit: float) -> list[str]:
    """The limit, where it is not kept."""
    return [f"{milliseconds:.0f} ms, at most {limit:g}"] if milliseconds > limit else []


def arguments(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15, help="how often, of which the median (default: 15)")
    parser.add_argument("--limit", type=float, default=150, help="milliseconds of import and audit (default: 150)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Measure, print, and say whether the limit was kept."""
    args = arguments(words)
    if args.child:
        child()
        return 0
    in_child()  # what Python compiles once lies on the disk from now on
    found = [{**in_child(), "empty": empty()} for _run in range(args.runs)]
    ms = {key: [1000 * one[key] for one in found] for key in ("import", "audit", "whole", "empty")}
    both = [first + second for first, second in zip(ms["import"], ms["audit"])]
    count = found[0]["findings"]
    print(f"audit of one service, {count} findings, median of {args.runs}, Python {sys.version.split()[0]}")
    for name, values in {"import + audit": both, **ms}.items():
        print(f"{name:16} {median(values):7.1f} ms   least {min(values):7.1f}   most {max(values):7.1f}")
    short = missed(median(both), args.limit)
    for text in short:
        print(f"above the limit: {text}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
