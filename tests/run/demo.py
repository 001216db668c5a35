# SPDX-License-Identifier: Apache-2.0
"""The demonstration: the real vLLM engine on one lab host, deployed and proven by the collection's own playbooks."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

from bootstrap import REPO, CannotSetUp, say
from lanes import environment, tool

HOST = "gpu1"
INVENTORY = "inventories/lab/hosts.yml"
ASK = {"model": "chat", "prompt": "Hello", "max_tokens": 16}
URL = "http://127.0.0.1:8000/v1/completions"
CURL = ["curl", "-sS", URL, "-H", "Content-Type: application/json", "-d", json.dumps(ASK)]
INSIDE = [*(["sudo"] if os.geteuid() else []), "docker", "exec", f"gpuhosts-lab-{HOST}"]


def run(what: str, *command: str) -> None:
    """Run one step of the demonstration in sight of the user; the first that fails ends it."""
    say(f"{what}: {shlex.join(command)}")
    words = [tool(command[0]), *command[1:]]
    if subprocess.run(words, cwd=REPO, env=environment({}), check=False).returncode:
        raise CannotSetUp(f"this step failed: {what}; its own messages are above")


def closing_lines() -> str:
    """Ask the server once more the way a user would, and say how to go on."""
    command = [*INSIDE, *CURL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotSetUp(f"the server was deployed, but this did not answer: {shlex.join(command)}\n{done.stderr}")
    host = f"--limit {HOST}"
    return "\n".join(
        [
            "",
            "The server listens on the loopback address of its host. To call it:",
            f"  {shlex.join(command)}",
            "It just answered:",
            f"  {done.stdout.strip()}",
            "",
            "To look at it:         " + shlex.join([*INSIDE, "vllm-host", "status", "chat"]),
            "To use the playbooks:  . .build/venv/bin/activate; export ANSIBLE_COLLECTIONS_PATH=$PWD/.build/tree",
            f"                       ansible-playbook -i {INVENTORY} playbooks/verify.yml {host}",
            f"                       ansible-playbook -i {INVENTORY} playbooks/stop.yml {host} -e vllm_confirm=chat",
            "To remove everything:  make clean",
        ]
    )


def deployed(*play: str) -> str:
    """Deploy and ask. What an earlier run or a test left on the host is taken away when it is in the way."""
    try:
        run("deploy", *play, "playbooks/deploy.yml")
        return closing_lines()
    except CannotSetUp as problem:
        say(f"{problem}; the host gets a fresh start, once")
    run("reset", "python", "-m", "tests.lab", "reset", HOST)
    run("deploy", *play, "playbooks/deploy.yml")
    return closing_lines()


def main() -> int:
    """Build, lock, deploy, ask."""
    # The lab builds its images itself, so their digests are this machine's own: what was locked before may be stale.
    (REPO / INVENTORY).with_name("vllm.lock.yml").unlink(missing_ok=True)
    play = ("ansible-playbook", "-i", INVENTORY, "--limit", HOST)
    try:
        run("lab", "python", "-m", "tests.lab", "up", "--hosts", HOST, "--engine", "real", "--versions", "0.32.0")
        run("lock", *play, "playbooks/lock.yml")
        print(deployed(*play), flush=True)
    except CannotSetUp as problem:
        print(problem, file=sys.stderr)
        return 1
    say("done")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
