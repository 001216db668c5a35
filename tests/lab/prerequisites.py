# SPDX-License-Identifier: Apache-2.0
"""The system packages that the lab needs on this machine: list them, or install those that are missing.

Needs nothing but the system's Python 3 (standard library), because it runs before any environment exists.
Exit status: 0 nothing is missing (any more), 1 something is missing or could not be installed, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Need:
    """One apt package, why it is needed, and a program or file that shows that it is there already."""

    package: str
    why: str
    proof: str


NEEDS = (
    Need("ca-certificates", "package mirrors over https", "/etc/ssl/certs/ca-certificates.crt"),
    Need(
        "debian-archive-keyring",
        "debootstrap checks the signatures of Debian with it",
        "/usr/share/keyrings/debian-archive-keyring.gpg",
    ),
    Need("debootstrap", "makes the root file systems of the lab's hosts", "debootstrap"),
    Need("docker.io", "the Docker engine that the lab's hosts are containers of", "dockerd"),
    Need("git", "make and the tests look at the working tree", "git"),
    Need("iptables", "Docker's networks need it", "iptables"),
    Need("openssh-client", "Ansible reaches the lab's hosts over ssh", "ssh"),
    Need("openssl", "certificates of the lab's private registry", "openssl"),
    Need("python3-venv", "virtual environments", "python3-venv"),
    Need("sudo", "privilege escalation where you are not root", "sudo"),
)
SUPPORTED = ("debian", "ubuntu")
SBIN = "/usr/sbin:/sbin:/usr/local/sbin"  # not on every user's PATH, and dockerd and debootstrap live there


def is_there(need: Need, path: str) -> bool:
    """Whether the proof of a need is found: a file, an importable module for python3-venv, or a program on PATH."""
    if need.proof.startswith("/"):
        return Path(need.proof).exists()
    if need.package == "python3-venv":
        return (
            subprocess.run(
                [sys.executable, "-c", "import ensurepip, venv"], capture_output=True, check=False
            ).returncode
            == 0
        )
    if need.package == "sudo" and os.geteuid() == 0:
        return True
    return shutil.which(need.proof, path=path) is not None


def missing() -> list[Need]:
    """What this machine lacks."""
    path = os.environ.get("PATH", os.defpath) + ":" + SBIN
    return [need for need in NEEDS if not is_there(need, path)]


def distribution(text: str) -> set[str]:
    """The names in ID and ID_LIKE of an os-release text."""
    found: set[str] = set()
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key in ("ID", "ID_LIKE"):
            found.update(value.strip().strip("\"'").split())
    return found


def why_not_here() -> str | None:
    """Why packages cannot be installed on this machine, or nothing."""
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        text = ""
    if not distribution(text) & set(SUPPORTED) or shutil.which("apt-get") is None:
        return (
            "this machine is neither Debian nor Ubuntu; install the packages above in its own way, then run this again."
        )
    if os.geteuid() != 0 and shutil.which("sudo") is None:
        return "you are not root and there is no sudo; run as root: apt-get install " + " ".join(
            n.package for n in missing()
        )
    return None


def agreed(yes: bool) -> bool:
    """Ask once on a terminal; without one there is nobody to ask, and calling the command was the answer."""
    if yes or not sys.stdin.isatty():
        return True
    return input("Install them now with apt-get? [y/N] ").strip().lower() in ("y", "yes")


def apt(arguments: list[str]) -> int:
    """Run apt-get as root. Services must not start by themselves in the middle of an installation without systemd."""
    command = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *arguments]
    if os.geteuid() != 0:
        command = ["sudo", *command]
    return subprocess.run(command, check=False).returncode


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def install(wanted: list[Need]) -> int:
    """Install packages; without fresh package lists once more after apt-get update."""
    began = time.monotonic()
    names = [need.package for need in wanted]
    arguments = ["install", "-y", "--no-install-recommends", *names]
    say(f"apt-get install {' '.join(names)} ...")
    if apt(["-qq", "update"]) != 0:
        say("apt-get update failed; trying with the package lists that are there")
    if apt(["-qq", *arguments]) != 0:
        say(f"apt-get could not install all of: {' '.join(names)}; mend apt (see above), then run this again.")
        return 1
    still = missing()
    if still:
        say(f"still missing after the installation: {' '.join(need.package for need in still)}; install them by hand.")
        return 1
    say(f"installed in {time.monotonic() - began:.1f} s")
    return 0


def run_install(yes: bool) -> int:
    wanted = missing()
    if not wanted:
        say("all system packages are there")
        return 0
    say("These system packages are missing:")
    for need in wanted:
        say(f"  {need.package:24} {need.why}")
    reason = why_not_here()
    if reason:
        say(reason)
        return 1
    if not agreed(yes):
        say("nothing was installed; the lab needs them. Run: python3 tests/lab/prerequisites.py --install")
        return 1
    return install(wanted)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="print all needed packages, one a line")
    action.add_argument("--missing", action="store_true", help="print the missing ones; exit 1 when there are any")
    action.add_argument("--install", action="store_true", help="install the missing ones; asks once on a terminal")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    given = parser.parse_args(argv)
    if given.install:
        return run_install(given.yes)
    shown = list(NEEDS) if given.list else missing()
    for need in shown:
        say(need.package)
    return 1 if given.missing and shown else 0


if __name__ == "__main__":
    sys.exit(main())
