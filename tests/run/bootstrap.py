# SPDX-License-Identifier: Apache-2.0
"""Set up what the make targets need: system packages, the virtual environment and the collection tree.

Runs on the standard library of any Python >= 3.9, since it is what finds a Python >= 3.11. A second call changes
nothing: a stamp holds the hash of the pinned requirements and the Python that the environment was made with.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
BUILD = REPO / ".build"
VENV = BUILD / "venv"
OLDER_VENV = BUILD / "venv-older-core"
TREE = BUILD / "tree"
PREREQUISITES = REPO / "tests" / "lab" / "prerequisites.py"
HOME_CACHE = Path.home() / ".ansible" / "test" / "cache"  # where ansible-test keeps what it downloads
PREFERRED = ("3.13", "3.12", "3.14", "3.11")
OLDEST = (3, 11)
STARTED = time.monotonic()


class CannotSetUp(Exception):
    """Something is missing that these scripts cannot install; the text says what and how to get it."""


def say(text: str) -> None:
    """Print one step with the seconds since the start."""
    print(f"[{time.monotonic() - STARTED:6.1f} s] {text}", flush=True)


def pyenv_folders() -> list[Path]:
    """Name the real bin folders of pyenv's versions; its shims exist for Pythons that are not selected, and fail."""
    try:
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return []
    return sorted(Path(root).glob("versions/*/bin"), reverse=True)


def version_of(python: Path | str, needs: str = "sys") -> tuple[int, int] | None:
    """Ask a Python for its version; nothing when it does not start or lacks a module that is needed."""
    code = f"import {needs}, sys; print(*sys.version_info[:2])"
    try:
        asked = subprocess.run([str(python), "-c", code], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if asked.returncode:
        return None
    major, minor = asked.stdout.split()
    return int(major), int(minor)


def path_without_environments() -> str:
    """Give PATH without this project's environments and without an active one: a new one must not hang on them."""
    active = os.environ.get("VIRTUAL_ENV")
    ours = [str(BUILD), *([active] if active else [])]
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if not entry.startswith(tuple(ours)))


def find_python(version: str, needs: str = "venv, ensurepip") -> Path | None:
    """Find a Python of this version (`3.12`) that works, on PATH or below pyenv."""
    wanted = tuple(int(part) for part in version.split("."))
    names = [f"python{version}", "python3", f"/usr/bin/python{version}", "/usr/bin/python3"]
    places = [shutil.which(name, path=path_without_environments()) for name in names]
    places += [str(folder / f"python{version}") for folder in pyenv_folders()]
    for place in places:
        if place and version_of(place, needs) == wanted:
            return Path(place)
    return None


def choose_python() -> Path | None:
    """Pick the Python that the project is developed on, or the nearest one that is here."""
    return next((found for found in map(find_python, PREFERRED) if found), None)


def search_path() -> str:
    """Give a PATH with the environment first, real Pythons next and no pyenv shims."""
    rest = [entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if "pyenv/shims" not in entry]
    return os.pathsep.join([str(VENV / "bin"), *map(str, pyenv_folders()), *rest])


def install_packages(yes: bool) -> None:
    """Let the lab's own list of system packages install what is missing; it names them and asks on a terminal."""
    agreed = yes or not sys.stdin.isatty()
    command = [sys.executable, str(PREREQUISITES), "--install", *(["--yes"] if agreed else [])]
    if subprocess.run(command, cwd=REPO, check=False).returncode:
        raise CannotSetUp("the system packages above are missing; install them and start again")


def python_for_venv(yes: bool) -> Path:
    """Find a Python with venv; on Debian that is a package of its own, so ask for the packages once."""
    python = choose_python()
    if python is None and any(find_python(version, "sys") for version in PREFERRED):
        install_packages(yes)
        python = choose_python()
    if python is None:
        raise CannotSetUp(
            "no Python >= 3.11 with the modules venv and ensurepip was found. "
            "Debian 12/13: apt-get install python3-venv. Ubuntu 22.04: apt-get install python3.11-venv."
        )
    return python


def requirements_for(version: tuple[int, int]) -> Path:
    """Choose the pinned set of this Python; a newer Python than we know takes the newest set."""
    exact = REPO / "requirements" / "py{}.{}.txt".format(*version)
    return exact if exact.exists() else REPO / "requirements" / "py3.13.txt"


def make_venv(folder: Path, python: Path, requirements: Path) -> None:
    """Make the environment, or keep it when its stamp says that it is this one."""
    version = version_of(python)
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    wanted = f"{version} {requirements.name} {digest}\n"
    stamp = folder / ".stamp"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted and version_of(folder / "bin" / "python"):
        say(f"environment {folder.relative_to(REPO)}: reused")
        return
    say(f"environment {folder.relative_to(REPO)}: making it with {python}")
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([str(python), "-m", "venv", str(folder)], check=True)
    pip_install(folder, requirements)
    stamp.write_text(wanted, encoding="utf-8")
    say(f"environment {folder.relative_to(REPO)}: ready")


def pip_install(folder: Path, requirements: Path) -> None:
    """Install the pinned packages and count them aloud, since it takes a minute or two."""
    total = sum(1 for line in requirements.read_text(encoding="utf-8").splitlines() if "==" in line)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--no-deps", "-r", str(requirements)]
    done = 0
    tail: list[str] = []
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as pip:
        for line in pip.stdout or ():
            tail = [*tail[-19:], line.rstrip()]
            done += line.startswith("Collecting ")
            if line.startswith("Collecting ") and done % 20 == 0:
                say(f"  fetched {done} of {total} packages")
            if line.startswith("Installing "):
                say(f"  installing {total} packages")
    if pip.returncode:
        raise CannotSetUp("pip could not install {}:\n  {}".format(requirements.name, "\n  ".join(tail)))


def make_tree() -> None:
    """Give Ansible the path `ansible_collections/gpuhosts/vllm`, as a link to this clone."""
    link = TREE / "ansible_collections" / "gpuhosts" / "vllm"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(Path("../../../.."))


def older_core_venv() -> str | None:
    """Make the environment of the oldest supported ansible-core; say why when it cannot be."""
    main = version_of(VENV / "bin" / "python")
    if main == OLDEST:
        return "the main environment is on Python 3.11, so all lanes run on this core; a newer one needs Python 3.12"
    python = find_python("3.11")
    if python is None:
        return "no Python 3.11 with venv was found, and this ansible-core is for it"
    make_venv(OLDER_VENV, python, REPO / "requirements" / "older-core.txt")
    return None


def main() -> int:
    """Set up and say what was done; one sentence and exit code 1 when it cannot be done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", action="store_true", help="also install the system packages of the lab")
    parser.add_argument("--yes", action="store_true", help="do not ask before packages are installed")
    options = parser.parse_args()
    try:
        if options.packages:
            install_packages(options.yes)
        python = python_for_venv(options.yes)
        make_venv(VENV, python, requirements_for(version_of(python) or OLDEST))
        make_tree()
    except CannotSetUp as problem:
        print(f"cannot set up: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
