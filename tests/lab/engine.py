# SPDX-License-Identifier: Apache-2.0
"""The Docker engine of this machine: use the one that runs, else start one, and stop only the one that we started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import docker

from . import state
from .shell import as_root
from .steps import LabError, say, step

START_SECONDS = 60.0
LONG = 1800  # seconds a call of the Docker API may take: importing an image sends hundreds of megabytes


def client() -> docker.DockerClient:
    """A client of its own for each thread: the session below it is not safe to share."""
    return docker.from_env(timeout=LONG)


def answers() -> bool:
    try:
        with_client = docker.from_env(timeout=10)
    except docker.errors.DockerException:
        return False
    try:
        return bool(with_client.ping())
    except (docker.errors.DockerException, OSError):
        return False
    finally:
        with_client.close()


def _pid_file() -> Path:
    return state.folder() / "dockerd.pid"


def _log_file() -> Path:
    return state.folder() / "dockerd.log"


def ensure() -> None:
    """A Docker engine that answers."""
    if answers():
        return
    if shutil.which("dockerd") is None:
        message = "Docker is not installed; run: python3 tests/lab/prerequisites.py --install"
        raise LabError(message)
    if Path("/run/systemd/system").is_dir():
        _start_by_systemd()
    else:
        _start_detached()


def _start_by_systemd() -> None:
    with step("start docker.service"):
        subprocess.run(as_root(["systemctl", "start", "docker.service"]), check=False)
        _wait("see: systemctl status docker.service")


def _start_detached() -> None:
    """Without systemd nothing else would start it. Its pid is kept, so that `clean` stops this one and no other."""
    with step("start dockerd"), _log_file().open("ab") as log:
        started = subprocess.Popen(
            as_root(["dockerd"]), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        _pid_file().write_text(f"{started.pid}\n", encoding="ascii")
        _wait(f"see: tail {_log_file()}", started)


def _wait(hint: str, process: subprocess.Popen[bytes] | None = None) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if answers():
            return
        if process is not None and process.poll() is not None:
            break
        time.sleep(0.5)
    message = f"the Docker engine did not answer within {START_SECONDS:.0f} s; {hint}"
    raise LabError(message)


def started_by_us() -> int | None:
    """The pid of the dockerd that the lab started, while that process is still a dockerd."""
    try:
        pid = int(_pid_file().read_text(encoding="ascii"))
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if any(Path(os.fsdecode(word)).name == "dockerd" for word in words if word) else None


def stop_ours() -> None:
    """Stop the dockerd that the lab started; leave any other alone."""
    pid = started_by_us()
    if pid is None:
        say("no dockerd of the lab runs")
        return
    with step(f"stop the lab's dockerd (pid {pid})"):
        try:
            os.kill(pid, signal.SIGTERM)
        except PermissionError:
            subprocess.run(as_root(["kill", "-TERM", str(pid)]), check=False)
        deadline = time.monotonic() + START_SECONDS
        while started_by_us() is not None and time.monotonic() < deadline:
            time.sleep(0.5)
    _pid_file().unlink(missing_ok=True)


def cgroup_version(info: dict[str, object]) -> int:
    """Which cgroup hierarchy this machine's containers get; old engines do not say, and had only the first."""
    return 2 if str(info.get("CgroupVersion", "1")) == "2" else 1
