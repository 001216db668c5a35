# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Keys of a unit that do something else than one thinks.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import WARNING
from ..case import Case
from ..rules.saying import Said, case_rule
from .shown import unit, unit_env

_EXEC = "systemd.exec(5)"


@case_rule("log_append_without_rotation", WARNING, _EXEC)
def _append(case: Case) -> Iterator[Said]:
    for key in ("StandardOutput", "StandardError"):
        target = unit(case).last(key, "Service") or ""
        if target.startswith("append:"):
            yield Said(
                f"{key}={target}",
                f"{target[7:]} grows for ever: nothing rotates what systemd appends to",
                "leave it out (the journal bounds itself), or add a logrotate rule with copytruncate",
            )
            return


@case_rule("protecthome_hides_cache", WARNING, _EXEC)
def _home(case: Case) -> Iterator[Said]:
    protected = (unit(case).last("ProtectHome", "Service") or "no").lower()
    if protected not in {"yes", "true", "on", "1", "tmpfs"} or any(
        unit(case).all("BindPaths") + unit(case).all("BindReadOnlyPaths")
    ):
        return
    starts = " ".join(unit(case).all("ExecStart", "Service"))
    if "docker" in starts or "vllm" not in starts:
        return
    shown = unit_env(case)
    place = next((shown[name] for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME") if name in shown), "/home")
    if place.startswith(("/home", "/root", "~", "%h")):
        yield Said(
            f"ProtectHome={protected}",
            f"the server sees an empty home: the model cache ({place}) is hidden from it, and it downloads or fails",
            "keep the cache elsewhere: Environment=HF_HOME=/var/cache/huggingface",
        )


@case_rule("path_entry_without_slash", WARNING, _EXEC)
def _path(case: Case) -> Iterator[Said]:
    path = unit_env(case).get("PATH") or (case.subject.env or {}).get("PATH") or ""
    wrong = [part for part in path.split(":") if part and not part.startswith(("/", "$", "%", "~"))]
    if wrong:
        yield Said(
            "PATH",
            f"{wrong[0]} in PATH has no leading slash: it is looked up below the working directory",
            f"write /{wrong[0]}",
            observed=wrong[0],
        )


RULES = (_append, _home, _path)
