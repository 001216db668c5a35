# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""On which address a server is reached from outside, as far as its words and its container say.

Private to the collection.
"""

from __future__ import annotations

from ...config.line_reader import read_command_line
from ...versions import Version
from ..subject import Container

EVERY = "0.0.0.0"
_PORT = "8000"


def reached_on(words: tuple[str, ...] | None, version: Version, container: Container | None = None) -> str | None:
    """The address, ``0.0.0.0`` for all of them; None where nothing listens or nobody says where."""
    if words is None:
        return None
    line = read_command_line(words, version)
    if line.has("--uds") or line.has("--headless"):
        return None
    host = line.value("--host") or EVERY
    if container is None or container.network == "host":
        return host
    port = line.value("--port") or _PORT
    leading = [each for each in container.publishes if each.container_port in {port, ""}] or [*container.publishes]
    addresses = [each.address or EVERY for each in leading if not each.is_loopback]
    loopback = [each.address for each in leading if each.is_loopback]
    return next(iter([*addresses, *loopback]), None)
