"""Run on a lab host: start an engine's container or end it, and write down what was seen when. Standard library only.

The words of the command line are one JSON object; so is what it prints. Nothing here knows which engine it watches: the
real one and the stand-in are watched by the same eyes. The container has the host's network, so that a refused
connection is the engine's own and not that of Docker's port mapping.
"""

from __future__ import annotations

import datetime
import errno
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LOOK_EVERY = 0.15
ENGINE, WORKER = "VLLM::EngineCore", "VLLM::Worker"
GOALS = ("server", "bound", "engine process", "engine title", "worker title", "listening", "healthy", "listed")


def docker(*words: str) -> str:
    """Run Docker's client and give what it printed."""
    return subprocess.run(["docker", *words], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout.strip()


def state_of(name: str) -> dict[str, Any]:
    """How a container is."""
    return dict(json.loads(docker("inspect", name))[0]["State"])


def processes_of(root: int) -> list[dict[str, Any]]:
    """The processes of a container, from its first one down, each with its parent's place in the list."""
    found = [{"pid": root, "parent": None}]
    for place, each in enumerate(found):
        try:
            folder = Path(f"/proc/{each['pid']}")
            words = (folder / "cmdline").read_bytes()
            each["comm"] = (folder / "comm").read_text(encoding="utf-8").strip()
            each["command"] = words.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
            each["state"] = (folder / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
            children = (folder / f"task/{each['pid']}/children").read_text(encoding="utf-8").split()
        except OSError:  # it ended just now
            each.setdefault("comm", "")
            each.setdefault("command", "")
            each.setdefault("state", "X")
            continue
        found += [{"pid": int(pid), "parent": place} for pid in children]
        tasks = [path for path in (folder / "task").glob("*") if path.name != str(each["pid"])]
        for task in tasks:  # a child belongs to the thread that made it
            try:
                more = (task / "children").read_text(encoding="utf-8").split()
            except OSError:
                continue
            found += [{"pid": int(pid), "parent": place} for pid in more]
    return found


def is_bound(port: int) -> bool:
    """Whether somebody has the port, also one who does not listen yet."""
    with socket.socket() as probe:
        try:
            probe.bind(("0.0.0.0", port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def asked(port: int, path: str, headers: dict[str, str], body: str | None = None) -> tuple[int | str, bytes]:
    """The status of an answer and its body, or in a word why there was none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET" if body is None else "POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except ConnectionRefusedError:
        return "refused", b""
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__, b""
    finally:
        connection.close()


class Watch:
    """What was seen so far, in seconds since the container was asked for."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.name, self.port, self.headers = told["name"], told["port"], told["headers"]
        self.began = told.get("began") or time.time()
        self.moments: dict[str, float] = {}
        self.health: list[int | str] = []
        self.processes: list[dict[str, Any]] = []

    def note(self, moment: str, seen: bool) -> None:
        if seen and moment not in self.moments:
            self.moments[moment] = round(time.time() - self.began, 2)

    def look(self, root: int) -> None:
        """Look once at everything."""
        self.note("bound", is_bound(self.port))
        self.processes = processes_of(root)
        commands = [(each["command"], each["state"]) for each in self.processes]
        self.note("server", any("vllm serve" in command for command, _name in commands[1:]))
        engines = [command for command, state in commands if "spawn_main" in command or command.startswith(ENGINE)]
        self.note("engine process", bool(engines))
        self.note("engine title", any(command.startswith(ENGINE) for command in engines))
        self.note("worker title", any(command.startswith(WORKER) for command, _name in commands))
        self.look_at_answers()

    def look_at_answers(self) -> None:
        status, _body = asked(self.port, "/health", self.headers)
        if status not in self.health[-1:]:
            self.health.append(status)
        self.note("listening", status != "refused")
        self.note("healthy", status == 200)
        if status == 200:
            status, body = asked(self.port, "/v1/models", self.headers)
            self.note("listed", status == 200 and bool(json.loads(body)["data"]))

    def until(self, goal: str, seconds: float) -> bool:
        """Look again and again until a moment was seen; False when the container ended or the time was over."""
        end = time.monotonic() + seconds
        root = 0
        while time.monotonic() < end and goal not in self.moments:
            state = state_of(self.name) if not root or not Path(f"/proc/{root}").exists() else {"Running": True}
            if not state["Running"]:
                return False
            root = root or state["Pid"]
            self.look(root)
            time.sleep(LOOK_EVERY)
        return goal in self.moments


def begin(told: dict[str, Any]) -> dict[str, Any]:
    """Start a container if there is none yet, and watch it until a moment, or until its end."""
    watch = Watch(told)
    if told["run"]:
        docker("run", "--detach", "--name", told["name"], *told["run"])
    reached = watch.until(told["goal"], told["seconds"])
    return {
        "began": watch.began,
        "reached": reached,
        "moments": watch.moments,
        "health": watch.health,
        "processes": watch.processes,
        "running": state_of(told["name"])["Running"],
    }


def ending(told: dict[str, Any]) -> dict[str, Any]:
    """Send a signal (or none) and watch until the container is over: what it answers meanwhile, its end and when."""
    watch, posted = Watch(told), []
    if told["signal"]:
        os.kill(told["pid"], getattr(signal, told["signal"]))
    began = time.time()
    end = time.monotonic() + told["seconds"]
    root = state_of(told["name"])["Pid"]
    while root and Path(f"/proc/{root}").exists() and time.monotonic() < end:
        if told["post"]:
            status, _body = asked(told["port"], "/v1/completions", told["headers"], told["post"])
            posted += [] if status in posted[-1:] else [status]
        elif told["look"]:
            watch.look_at_answers()
        time.sleep(LOOK_EVERY)
    left = max(1.0, end - time.monotonic())
    subprocess.run(["docker", "wait", told["name"]], check=False, stdout=subprocess.DEVNULL, timeout=left)
    state = state_of(told["name"])
    finished = seconds_of(state["FinishedAt"])
    error = when_said(told["name"], told["error"]) if told["error"] else None
    return {
        "exit_code": state["ExitCode"],
        "oom": state["OOMKilled"],
        "seconds": round(finished - (error or began), 2),
        "health": watch.health,
        "posted": posted,
    }


def seconds_of(stamp: str) -> float:
    """A time of Docker's as seconds since 1970."""
    whole = datetime.datetime.strptime(stamp[:19] + "+0000", "%Y-%m-%dT%H:%M:%S%z")
    return whole.timestamp() + float("0." + stamp[20:].rstrip("Z"))


def when_said(name: str, text: str) -> float | None:
    """When a container's log said something first."""
    log = subprocess.run(
        ["docker", "logs", "--timestamps", name], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ).stdout.decode(errors="replace")
    line = next((line for line in log.splitlines() if text in line), None)
    return None if line is None else seconds_of(line.split(" ", 1)[0])


if __name__ == "__main__":
    verb, words = sys.argv[1:3]
    print(json.dumps({"begin": begin, "ending": ending}[verb](json.loads(words))))
