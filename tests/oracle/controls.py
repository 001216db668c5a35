# SPDX-License-Identifier: Apache-2.0
"""Secrets planted on purpose, one in each class of places, to prove that the hunt finds what is there."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.oracle.hunt import Hunt

# What plants it ($1 is the secret, IMAGE has a shell), and where the hunt has to find it.
ON_HOST = {
    "argv": ("sh -c 'sleep 0.3' $1", "argv"),
    "unit file": ("echo $1 >/etc/systemd/system/lab-planted.service", "units"),
    "transient unit": ("systemd-run --quiet --unit=lab-planted-run --setenv=X=$1 sleep 600", "units"),
    "release": ("cd /var/lib/gpuhosts-vllm; mkdir -p .lab/releases; echo $1 >.lab/releases/run", "state"),
    "evidence": ("cd /var/lib/gpuhosts-vllm; mkdir -p .lab/starts; printf 'x\\0%s' $1 >.lab/starts/log", "state"),
    "compressed": ("cd /var/lib/gpuhosts-vllm; mkdir -p .lab/starts; echo $1 | gzip >.lab/starts/log.gz", "state"),
    "run": ("mkdir -p /run/lab-planted; echo $1 >/run/lab-planted/file", "run"),
    "tmp": ("echo $1 >/tmp/lab-planted", "tmp"),
    "remote tmp": ("mkdir -p /root/.ansible/tmp; echo $1 >/root/.ansible/tmp/lab-planted", "tmp"),
    "cache": ("cd /var/cache/gpuhosts-vllm; mkdir -p lab; echo $1 >lab/planted.json", "caches"),
    "log file": ("echo $1 >/var/log/lab-planted", "logs"),
    "any other file": ("echo $1 >/usr/local/lab-planted", "files"),
    "journal": ("echo $1 | systemd-cat -t lab-planted; journalctl --sync", "journal"),
    "inspect": ("docker create --name lab-1 -e X=$1 --entrypoint sleep IMAGE 600 >/dev/null", "docker inspect"),
    "docker's disk": ("docker create --name lab-2 --label x=$1 --entrypoint sleep IMAGE >/dev/null", "docker disk"),
    "docker's log": ("echo echo $1 | docker run --name lab-3 -i --entrypoint sh IMAGE >/dev/null", "docker disk"),
    "a container's file": ("echo echo $1 '>/file' | docker run --name lab-4 -i --entrypoint sh IMAGE", "docker disk"),
    "docker exec": ("docker start lab-1 >/dev/null; docker exec lab-1 true $1", "docker events"),
}
ON_CONTROLLER = {"output": "output", "fact cache": "controller files", "controller argv": "controller argv"}
UNDO = """
docker rm -f lab-1 lab-2 lab-3 lab-4 >/dev/null 2>&1
systemctl stop lab-planted-run; rm -f /etc/systemd/system/lab-planted.service
rm -rf /run/lab-planted /tmp/lab-planted /root/.ansible/tmp/lab-planted /var/log/lab-planted /usr/local/lab-planted
rm -rf /var/lib/gpuhosts-vllm/.lab /var/cache/gpuhosts-vllm/lab
"""


@contextlib.contextmanager
def on_host(run: Callable[[str], Any], image: str, planted: Mapping[str, str]) -> Iterator[None]:
    """Plant them all on a host, and take them all away again."""
    try:
        for name, (command, _place) in ON_HOST.items():
            secret = shlex.quote(planted[name])
            run(f"set -e; mkdir -p /var/lib/gpuhosts-vllm /var/cache/gpuhosts-vllm; set -- {secret}; "
                + command.replace("IMAGE", image))  # fmt: skip
        yield
    finally:
        run(UNDO)


def on_controller(hunt: Hunt, planted: Mapping[str, str]) -> None:
    """Plant them on the controller: what Ansible prints and keeps, and what other programs are told."""
    hunt.hear("a play", f"ok: [host] => {{'token': {planted['output']!r}}}")
    (hunt.folder / "facts").mkdir(exist_ok=True)
    (hunt.folder / "facts" / "host").write_text(json.dumps({"x": planted["fact cache"]}))
    words = ["/bin/sh", "-c", "sleep 0.3", planted["controller argv"]]
    subprocess.run(words, check=True, env={"PATH": os.environ["PATH"]})
