# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read the hook of a service: what is told of a failed gate, of a run that went back and of one that could not.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from .problems import Complaints
from .schema import NOTIFY_KEYS, by_name
from .typed import read_typed

_COMMAND = "the absolute path of a program on the host, then its arguments, each a text"
_WEBHOOK = "an address such as https://alerts.example.com/vllm, without a login in it"


def read_notify(given: Mapping[str, Any], complaints: Complaints) -> dict[str, Any]:
    """What ``gate.json`` says of the hook; empty where there is none."""
    raw = read_typed(given, by_name(NOTIFY_KEYS), complaints, prefix="notify.")
    command, webhook = raw["command"], raw["webhook"]
    if command and not _is_command(command):
        complaints.at("notify.command", command, _COMMAND)
    if webhook is not None and not _is_address(webhook):
        complaints.say("notify.webhook", "an address that cannot be used, not shown", _WEBHOOK)
    return {**({"command": list(command)} if command else {}), **({"webhook": webhook} if webhook else {})}


def _is_command(words: list[Any]) -> bool:
    return all(isinstance(word, str) and "\0" not in word for word in words) and words[0].startswith("/")


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port_is_one = parts.port is None or parts.port > 0
    except ValueError:
        return False
    has_login = parts.username is not None or parts.password is not None
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and port_is_one and not has_login
