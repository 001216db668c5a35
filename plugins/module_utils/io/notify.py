# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Tell systemd something: sd_notify without the library. No decisions.

Private to the collection.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping


def notify(message: str, environ: Mapping[str, str] | None = None) -> bool:
    """Send ``KEY=value`` lines to the manager; False when there is none to listen, which is never an error."""
    address = (os.environ if environ is None else environ).get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    name = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        try:
            sender.sendto(message.encode("utf-8"), name)
        except OSError:
            return False
    return True


def status(text: str, extend_seconds: float | None = None, environ: Mapping[str, str] | None = None) -> bool:
    """Show ``text`` in ``systemctl status``, and ask for so many more seconds from now."""
    lines = [f"STATUS={text}"]
    if extend_seconds is not None:
        lines.append(f"EXTEND_TIMEOUT_USEC={int(extend_seconds * 1_000_000)}")
    return notify("\n".join(lines), environ)
