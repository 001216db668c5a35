# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host``: one program on the host, one file a verb; as ``vllm-health`` it is its first verb.

Private to the collection.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Callable

from ..io.rights import other_than_root
from .errors import ToolError
from .say import complain, say
from .service_args import host_root

FAILED = 1
USAGE = 2

# Verb -> (file, what it does). The units call the last ones; people need the others.
VERBS = {
    "health": ("health", "check a server with GET requests only (also as vllm-health)"),
    "status": ("status", "say what runs, since when, and how the last run ended"),
    "show": ("show", "show the release, a start or the journal of a service"),
    "startup-log": ("startup_log", "show what a start said: figures, or the kept log"),
    "audit": ("audit", "say what of a service or of a file does not hold for a vLLM release"),
    "diagnose": ("diagnose", "say what is wrong, in the order in which one debugs; writes the evidence"),
    "history": ("history", "say who changed what when and why, and where a rollback would lead"),
    "rollback": ("rollback", "go back to the last good release, or to one that is named"),
    "confirm": ("confirm", "give the word for a change that waits for it"),
    "freeze": ("freeze", "forbid changes of a service until unfreeze"),
    "unfreeze": ("unfreeze", "allow changes of a service again"),
    "run": ("run", "drive the open run of a service to its end"),
    "resume": ("resume", "end or go on with what a restart of the host left open (all services)"),
    "before-start": ("before_start", "unit: make room for a new start"),
    "wait-ready": ("wait_ready", "unit: wait until the engine serves, or say why it never will"),
    "stop-engine": ("stop_engine", "unit: stop the engine with its grace"),
    "after-stop": ("after_stop", "unit: keep the evidence of a start and leave no container"),
}
# Verbs that only look: a user who is not root may try them. The others are refused before they are half done.
LOOKS = ("health", "status", "history", "show", "startup-log", "audit", "diagnose")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; the exit status is the verb's own, 1 for what it could not do, 2 for a wrong command line."""
    _say_everything()
    program, words = Path(sys.argv[0]).name, list(sys.argv[1:] if argv is None else argv)
    if program == "vllm-health":
        words = ["health", *words]
    if words[:1] == ["--self-check"]:
        return self_check()
    if words[:1] == ["--compile"]:
        return compile_for_this_python()
    if words[:1] == ["--version"]:
        say(version())
        return 0
    if not words or words[0] not in VERBS:
        asked = words[:1] in (["--help"], ["-h"], ["help"])
        (say if asked else complain)(usage())
        return 0 if asked else USAGE
    return _call(_load(words[0]), words[0], words[1:])


def usage() -> str:
    """The help text."""
    lines = [f"  {verb:<13} {about}" for verb, (_module, about) in VERBS.items()]
    return "\n".join(["usage: vllm-host VERB [SERVICE] ...   (vllm-host VERB --help for one verb)", "", *lines])


def version() -> str:
    """The version that was built into this program; ``dev`` when it runs from the sources."""
    try:
        return str(importlib.import_module("gpuhosts_vllm_build").VERSION)
    except ImportError:
        return "dev"


def self_check() -> int:
    """Import every verb, so that a broken or wrong build is known before it is used."""
    for verb in VERBS:
        _load(verb)
    say(f"vllm-host {version()} with Python {sys.version.split()[0]}: all {len(VERBS)} verbs can be used")
    return 0


def compile_for_this_python() -> int:
    """Let every later call begin quicker; the program is as good without it."""
    compiling = importlib.import_module(".compiling", __package__)
    try:
        say(f"compiled: {compiling.compile_program(Path(sys.argv[0]).resolve())}")
    except Exception as error:  # no fault of a disk or of a file is worth more than a line
        return _say("--compile", f"{error}; the program works without it, only slower")
    return 0


def _say_everything() -> None:
    """Where the locale knows ASCII only, a letter that it does not know is written as its number, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _load(verb: str) -> Callable[[Sequence[str]], int]:
    main_of_verb: Callable[[Sequence[str]], int] = importlib.import_module(f".{VERBS[verb][0]}", __package__).main
    return main_of_verb


def _call(function: Callable[[Sequence[str]], int], verb: str, words: Sequence[str]) -> int:
    user = None if verb in LOOKS or host_root() != "/" or {"-h", "--help"} & {*words} else other_than_root()
    try:
        if user:
            raise ToolError(f"this ran as {user}, expected root. Next: sudo vllm-host {' '.join([verb, *words])}")
        return function(words)
    except ToolError as error:
        return _say(verb, str(error))
    except PermissionError as error:
        return _say(verb, f"{error.filename}: not allowed; run it as root: sudo vllm-host {' '.join([verb, *words])}")
    except BrokenPipeError:
        return FAILED
    except KeyboardInterrupt:
        return _say(verb, "interrupted")
    except Exception as error:  # no traceback ever reaches a user
        return _say(verb, f"unexpected {type(error).__name__}: {error}")


def _say(verb: str, message: str) -> int:
    complain(f"vllm-host {verb}: {message}")
    return FAILED
