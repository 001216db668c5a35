# SPDX-License-Identifier: Apache-2.0
"""Fetch pinned Python packages into a folder of an image, with this machine's own pip and its settings."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

from . import state
from .steps import LabError, say

HERE = Path(__file__).parent
PYTHON = "3.11"  # of Debian 12, which the engine images are made from
SITE = f"usr/local/lib/python{PYTHON}/dist-packages"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
INTEL_ONLY = ("intel-openmp", "intel-cmplr-lib-ur")
_OLDEST_GLIBC, _GLIBC = 5, 36  # Debian 12 has glibc 2.36


def pins(text: str, machine: str) -> tuple[str, ...]:
    """The `name==version` lines of a requirements file that are for this machine."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    wanted = (line for line in lines if line)
    return tuple(line for line in wanted if machine == "x86_64" or line.partition("==")[0] not in INTEL_ONLY)


def platform_words(machine: str) -> tuple[str, ...]:
    """pip's words for "the image's Python and Debian, whatever runs pip": only wheels, for all of its ABIs."""
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(_GLIBC, _OLDEST_GLIBC - 1, -1)]
    tags += [f"manylinux{old}_{machine}" for old in ("2014", "2010", "1")] + [f"linux_{machine}", "any"]
    words = [f"--python-version={PYTHON}", "--implementation=cp", "--only-binary=:all:"]
    words += [f"--abi={abi}" for abi in ("cp311", "abi3", "none")]
    return (*words, *(f"--platform={tag}" for tag in tags))


def fetch(requirements: Path, root: Path) -> None:
    """Install a requirements file below root, without its dependencies: the file names them all."""
    machine = platform.machine()
    wanted = pins(requirements.read_text(encoding="utf-8"), machine)
    if not _pip(wanted, root, (), machine):
        # The `+cpu` build of torch is not on PyPI. A mirror may have it; else PyTorch's own index does.
        say(f"not everything of {requirements.name} was found; trying again with {TORCH_INDEX}")
        if not _pip(wanted, root, (f"--extra-index-url={TORCH_INDEX}",), machine):
            message = f"pip could not install {requirements.name}; see {_log()} and pip's settings: pip config list"
            raise LabError(message)


def _log() -> Path:
    return state.folder() / "pip.log"


def _pip(wanted: tuple[str, ...], root: Path, more: tuple[str, ...], machine: str) -> bool:
    target = root / SITE
    words = ["install", "--no-deps", "--no-compile", "--no-cache-dir", "--upgrade", "--progress-bar=off"]
    command = [sys.executable, "-m", "pip", *words, *platform_words(machine), "--target", str(target), *more, *wanted]
    with _log().open("a", encoding="utf-8") as log:
        log.write(f"\n--- {' '.join(wanted)[:80]} ...\n")
        log.flush()
        return subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode == 0
