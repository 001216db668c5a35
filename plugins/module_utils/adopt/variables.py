# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The variables of a container: what is carried over, what is a secret, what the collection sets itself.

Private to the collection.
"""

from __future__ import annotations

import re

from ..findings import WARNING
from ..services.owned import OWNED_ENV, REFUSED_ENV
from .notes import Notes, is_secret, owned
from .seen import Seen

# Older and other names of the same secret.
_SAME = {"HUGGING_FACE_HUB_TOKEN": "HF_TOKEN", "HUGGINGFACE_TOKEN": "HF_TOKEN", "HF_API_TOKEN": "HF_TOKEN"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_GPUS = "NVIDIA_VISIBLE_DEVICES"
# What the image or the hand-made start sets for itself, and no server reads.
_OF_THE_START = ("HOME", "HOSTNAME", "PWD", "TERM", "OLDPWD", "SHLVL")


def read_variables(seen: Seen, more: dict[str, str], notes: Notes) -> dict[str, str]:
    """The variables of the definition; ``more`` are those that a shell in the container sets."""
    found: dict[str, str] = {}
    for name, value in sorted({**seen.own_env, **more}.items()):
        if is_secret(name, value):
            _secret(name, value, notes)
        elif name in REFUSED_ENV:
            _refused(name, notes)
        elif not _NAME.fullmatch(name) or not value.isprintable() or "$" in more.get(name, ""):
            notes.say(
                "variable_unreadable",
                WARNING,
                "is not carried over: its name or value cannot be written in one line",
                about=name[:60],
            )
        elif name not in _OF_THE_START:
            found[name] = value
    return found


def _secret(name: str, value: str, notes: Notes) -> None:
    if not value:
        return
    if name in REFUSED_ENV:
        notes.hide(name, value)
        _refused(name, notes)
        return
    notes.secret(_SAME.get(name, name), value, f"the variable {name}")


def _refused(name: str, notes: Notes) -> None:
    if name in OWNED_ENV:
        owned(notes, name, "is set by the collection, whose caches it names")
    elif name != _GPUS:
        notes.say("variable_refused", WARNING, f"is not carried over; instead: {REFUSED_ENV[name]}", about=name)
