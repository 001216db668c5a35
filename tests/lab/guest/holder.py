# SPDX-License-Identifier: Apache-2.0
"""Runs on a lab host: a process that holds GPU memory, as the stand-in of nvidia-smi counts it. Python 3.9 and newer.

    holder.py [--gpu INDEX] [--of CONTAINER] [--port PORT] [--deaf]

It prints its pid when it stands and lives on by itself, one that ignores SIGTERM with --deaf. With --of it is one of
the processes of that container until the container's first process ends, and then leaves its group: so it outlives a
stop, as a worker does that Docker did not get. With --port it takes that port of 127.0.0.1 as soon as it is free.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

TITLE = "VLLM::Worker"
GROUPS = Path("/sys/fs/cgroup")
ESCAPED = GROUPS / "holders"
LIFETIME = 600


def main() -> None:
    """Become the holder, under its title and with the GPU in its environment."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--gpu", default="0")
    asked.add_argument("--of", default="")
    asked.add_argument("--port", type=int, default=0)
    asked.add_argument("--deaf", action="store_true")
    asked.add_argument("--stands", action="store_true", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.stands:
        hold(given)
        return
    environment = {**os.environ, f"LAB_GPU_{given.gpu}": "1"}
    words = [TITLE, str(Path(__file__).resolve()), *sys.argv[1:], "--stands"]
    begun = subprocess.Popen(
        words, executable=sys.executable, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    said = begun.stdout.readline() if begun.stdout else ""
    if not said:
        sys.exit(f"the holder did not stand: {begun.wait()}")
    sys.stdout.write(said)


def hold(given: argparse.Namespace) -> None:
    """Take what was asked, say so, and hold it."""
    signal.alarm(LIFETIME)
    if given.deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    first = join(given.of) if given.of else None
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    if first is not None:
        select.select([first], [], [])
        ESCAPED.mkdir(exist_ok=True)
        (ESCAPED / "cgroup.procs").write_text(str(os.getpid()))
    kept = [take(given.port)] if given.port else []
    while kept is not None:  # SIGTERM ends it, unless it is deaf
        signal.pause()


def take(port: int) -> socket.socket:
    """The port, as soon as whoever has it lets go of it."""
    while True:
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            time.sleep(0.001)


def join(container: str) -> int:
    """Enter the control group of a container; what becomes readable when its first process ends."""
    inspect = ["docker", "container", "inspect", "--format", "{{.State.Pid}}", container]
    pid = int(subprocess.run(inspect, check=True, capture_output=True, text=True).stdout)
    first = os.pidfd_open(pid)
    group = Path(f"/proc/{pid}/cgroup").read_text().rpartition("::")[2].strip().lstrip("/")
    (GROUPS / group / "cgroup.procs").write_text(str(os.getpid()))
    return first


if __name__ == "__main__":
    main()
