# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What ``vllm serve --help=all`` of an image prints: asked of the image itself once, then read from a file.

No engine starts, no GPU and no network is given. The container ends by itself, and Docker removes it then: also when
whoever asked was killed. One that is left after all has the label of a probe, and the next preflight removes it.

Private to the collection.
"""

from __future__ import annotations

import json
from pathlib import Path

from ..release.paths import LABEL_PROBE, Paths
from .commands import Runner, run
from .containers import docker_reason
from .files import make_folder, read_if_there, write_atomic

SCHEMA = 1
SECONDS = 120
_MOST = 1 << 20
# A text of less is none: the shortest that a release prints is far longer.
_LEAST = 1000
# What it runs may hang or print without end: the shell is killed after that time, and the container ends with it.
_ASK = f"""\
(sleep {SECONDS}; kill -9 $$) >/dev/null 2>&1 &
{{ vllm serve --help=all 2>&1 >&3 3>&- </dev/null | tail -c 2000 >&2 3>&-; }} 3>&1 | head -c {_MOST}
"""


class NoHelp(Exception):
    """The image does not say its options; the message says why."""


def image_help(paths: Paths, image_id: str, *, runner: Runner = run) -> str:
    """The help text of an image that is here, by its id; NoHelp when there is none to be had."""
    kept = paths.image_options(image_id)
    text = _kept(kept, image_id)
    if text is None:
        text = _ask(paths, image_id, runner)
        make_folder(kept.parent)
        data = {"schema": SCHEMA, "image_id": image_id, "help": text}
        write_atomic(kept, json.dumps(data, ensure_ascii=False) + "\n")
    return text


def _kept(path: Path, image_id: str) -> str | None:
    """The text that an earlier question left; what is torn, or of another image, is asked again."""
    try:
        data = json.loads(read_if_there(path) or "null")
    except (ValueError, OSError):
        return None
    if not isinstance(data, dict) or (data.get("schema"), data.get("image_id")) != (SCHEMA, image_id):
        return None
    return data["help"] if isinstance(data.get("help"), str) else None


def _ask(paths: Paths, image_id: str, runner: Runner) -> str:
    options = ["--rm", "--init", "--pull", "never", "--network", "none", "--log-driver", "none"]
    options += ["--name", f"{paths.container}-options", "--label", f"{LABEL_PROBE}={paths.service}"]
    argv = ["docker", "run", *options, "--entrypoint", "/bin/sh", image_id, "-c", _ASK]
    asked = runner(argv, timeout=SECONDS + 30.0)
    text = asked.out
    if not asked.ok or len(text) < _LEAST or "--model" not in text:
        said = docker_reason(asked)
        raise NoHelp(f"vllm serve --help=all in a container without GPU and network said: {said[-300:]}")
    if len(text.encode("utf-8")) >= _MOST:
        raise NoHelp(f"vllm serve --help=all printed more than {_MOST:,} bytes")
    return text
