# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of a container, and the secrets that are kept out of it.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .owned import OWNED_ENV, REFUSED_ENV
from .problems import EXPOSURE, Complaints, kind_of
from .secrecy import looks_secret, secret_name

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Set for the entry script or read by the loader before vLLM starts: a secrets file has no business there.
_NO_SECRET = {*OWNED_ENV, "PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "HOME", "IFS", "PYTHONPATH"}

# Secrets that travel in an HTTP header, where nothing else arrives as it was written.
_IN_HEADERS = {"VLLM_API_KEY", "HF_TOKEN"}


def read_env(env: Mapping[str, Any], complaints: Complaints) -> dict[str, str]:
    """Judge the environment: names, texts, nothing that the collection owns, no secrets."""
    good = {name: value for name, value in sorted(env.items()) if _judge(name, value, complaints)}
    return {name: str(value) for name, value in good.items()}


def _judge(name: str, value: object, complaints: Complaints) -> bool:
    key = f"env.{name}"
    if not _NAME.fullmatch(name):
        complaints.at(key, value, "names of letters, digits and _, not beginning with a digit")
    elif name in REFUSED_ENV:
        complaints.at(key, value, REFUSED_ENV[name])
    elif secret_name(name) or (isinstance(value, str) and looks_secret(value)):
        allowed = (
            f"no secrets: move it to vllm_secrets.{complaints.service}.{name}; the environment shows in docker inspect"
        )
        complaints.say(key, f"{kind_of(value)}, not shown", allowed, rank=EXPOSURE)
    elif not isinstance(value, str):
        complaints.at(key, value, quoting(name, value))
    else:
        return True
    return False


def quoting(name: str, value: object) -> str:
    """How to write what YAML turned into something else."""
    if value is None:
        return f"""texts only; YAML made null of it: write {name}: "" for an empty text, or take the line out"""
    if isinstance(value, bool):
        return (
            f"texts only; YAML made {str(value).lower()} of it (on, off, yes, no, true, false): put quotes round what "
            f'you wrote, {name}: "{"1" if value else "0"}" say'
        )
    if isinstance(value, (int, float)):
        return (
            "texts only; YAML made a number of it (of 1e3, 010, 1_000 and 12:30 too): put quotes round what you "
            f'wrote, {name}: "{value}" say'
        )
    return f"texts only; YAML made a {kind_of(value)} of it: put quotes round what you wrote"


def read_secrets(secrets: object, complaints: Complaints) -> tuple[str, ...]:
    """The names of a service's secrets; no value leaves this function, not even in a complaint."""
    if secrets is None:
        return ()
    if not isinstance(secrets, Mapping):
        complaints.say("vllm_secrets", f"a {kind_of(secrets)}, not shown", "a map of variable names and texts")
        return ()
    return tuple(sorted(str(name) for name, value in secrets.items() if _secret_is_good(name, value, complaints)))


def _secret_is_good(name: object, value: object, complaints: Complaints) -> bool:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = name if isinstance(name, str) else f"a key that is a {kind_of(name)}"
        complaints.say("vllm_secrets", shown, "names of letters, digits and _, not beginning with a digit")
        return False
    allowed = None
    if name in _NO_SECRET:
        allowed = "names of secrets; the collection or the image sets this one"
    elif not isinstance(value, str):
        allowed = "a text: put quotes round it (YAML reads a key of digits as a number, and loses its leading zeros)"
    elif not value or not value.isprintable():
        allowed = "a text of one line that is not empty"
    elif name in _IN_HEADERS and not (value.isascii() and value == value.strip()):
        allowed = "a text without umlauts and the like, and without spaces around it: it travels in an HTTP header"
    if allowed:
        complaints.say(f"vllm_secrets.{name}", f"{kind_of(value)}, not shown", allowed)
    return allowed is None
