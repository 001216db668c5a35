# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Call somebody outside of this collection: a command or a URL, never longer than told. No decisions.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence

from ..health.answer import Answer, short
from .http import request

MOST_OUTPUT = 2 << 10
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LOOK = 0.05
_SUCCESS = range(200, 300)


def call_command(argv: Sequence[str], body: bytes, seconds: float) -> str | None:
    """Run a command of its own session with ``body`` as its input; None, or why it did not do its work.

    Whatever it has begun is killed with it. The input is a file: a command that does not read it cannot hold us up.
    """
    try:
        output, code = _run(argv, body, seconds)
    except OSError as error:
        return f"{argv[0]}: {error.strerror or error}"
    if code is None:
        return f"{argv[0]} did not end within {seconds:g} s"
    said = short(output.decode("utf-8", "replace"))
    return None if code == 0 else f"{argv[0]} ended with status {code}" + (f": {said}" if said else "")


def call_url(url: str, body: bytes, seconds: float) -> str | None:
    """POST ``body`` as JSON; None, or why nobody took it. A name that is not resolved in time is no way to wait on."""
    answers: list[Answer] = []

    def post() -> None:
        headers = {"Content-Type": "application/json"}
        answers.append(request(url, method="POST", headers=headers, body=body, timeout=seconds, max_bytes=MOST_OUTPUT))

    asking = threading.Thread(target=post, daemon=True)
    asking.start()
    asking.join(seconds + 1.0)
    if not answers:
        return f"no answer within {seconds:g} s"
    answer = answers[0]
    return None if answer.status in _SUCCESS else answer.error or f"HTTP {answer.status}"


def _run(argv: Sequence[str], body: bytes, seconds: float) -> tuple[bytes, int | None]:
    with tempfile.TemporaryFile() as given:
        given.write(body)
        given.seek(0)
        with subprocess.Popen(  # pylint: disable=ansible-bad-function
            list(argv),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": _PATH, "LC_ALL": "C.UTF-8"},
            cwd="/",
            start_new_session=True,
        ) as started:
            return _watch(started, time.monotonic() + seconds)


def _watch(started: subprocess.Popen[bytes], until: float) -> tuple[bytes, int | None]:
    """The first of its output, and its status; None when its time was over. Its whole session ends with it."""
    kept = bytearray()
    stream = started.stdout
    if stream is None:  # never: it was asked for
        return b"", None
    try:
        os.set_blocking(stream.fileno(), False)
        with selectors.DefaultSelector() as waiting:
            waiting.register(stream, selectors.EVENT_READ)
            while started.poll() is None and time.monotonic() < until:
                if waiting.select(_LOOK) and not _read(stream.fileno(), kept):
                    time.sleep(_LOOK)  # it closed its output and goes on
        _read(stream.fileno(), kept)
        return bytes(kept), started.returncode
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(started.pid, signal.SIGKILL)


def _read(descriptor: int, kept: bytearray) -> bool:
    """Take what there is, and keep the first of it."""
    try:
        piece = os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return True
    kept += piece[: MOST_OUTPUT - len(kept)]
    return bool(piece)
