# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Say what to do where root's rights are missing: units, Docker and secrets are root's.

Private to the collection.
"""

from __future__ import annotations

import re

_ASKED = re.compile(r"(Missing|Incorrect) (\w+) password")
_NO_PROMPT = re.compile(r"waiting for privilege escalation prompt", re.IGNORECASE)
# What sudo, su and doas print instead of running a module.
_REFUSALS = re.compile(
    r"not in the sudoers file|not allowed to (?:execute|run)|may not run sudo|must have a tty|a terminal is required|"
    r"a password is required|(?:sudo|su|doas): (?:command )?not found|su: Authentication failure|"
    r"su: Permission denied|doas: Operation not permitted",
    re.IGNORECASE,
)
_WITH_PASSWORD = "run it again with --ask-become-pass, or let the inventory set ansible_become_password from a vault"


def ran_as_other(user: str) -> str:
    """The message of a module that needs root and runs as somebody else."""
    return (
        f"this ran as {user}, expected root: units, Docker and secrets are root's. Next: log in as root, or let a "
        "user with sudo become root (become: true, and no ansible_become: false in the inventory)"
    )


def not_let(user: str, said: str) -> str | None:
    """The message for what Ansible or sudo said when ``user`` did not become root; None when it says nothing of it."""
    asked = _ASKED.search(said)
    if asked:
        word, method = asked.groups()
        how = "and none was given" if word == "Missing" else "and the one that was given is wrong"
        return f"{method} asks {user} for a password, {how}. Next: {_WITH_PASSWORD}"
    if _NO_PROMPT.search(said):
        return f"{user} never was asked for a password to become root: {_short(said)}. Next: try it by hand: sudo id"
    refused = _REFUSALS.search(said)
    if refused:
        line = next(line for line in said.splitlines() if refused.group(0) in line)
        return (
            f"{user} may not become root: {_short(line)}. Expected: root, or a user whom sudo lets run all commands. "
            "Next: allow it (usermod -aG sudo, or a file in /etc/sudoers.d), or set another ansible_user"
        )
    return None


def _short(text: str) -> str:
    return " ".join(text.split())[:200].rstrip(".")
