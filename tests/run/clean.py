# SPDX-License-Identifier: Apache-2.0
"""Remove what `make` made: the lab with its Docker daemon, the environments and the build folder.

System packages stay, and are listed, because other things may use them by now.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import bootstrap
from bootstrap import BUILD, HOME_CACHE, PREREQUISITES, REPO, VENV, say


def clean_lab() -> bool:
    """Let the lab remove its own; its driver needs the environment, so that goes last."""
    python = VENV / "bin" / "python"
    lab_home = Path(os.environ.get("GPUHOSTS_LAB_HOME") or Path.home() / ".cache" / "gpuhosts-vllm" / "lab")
    if not lab_home.exists():
        say("there is no lab on this machine")
        return True
    if not bootstrap.version_of(python):
        sys.argv[1:] = []
        if bootstrap.main():
            return False
    return subprocess.run([str(python), "-m", "tests.lab", "clean"], cwd=REPO, check=False).returncode == 0


def remove_stand_ins() -> None:
    """Take our stand-ins for get-pip out of ansible-test's cache, and leave real ones."""
    for path in HOME_CACHE.glob("get_pip_*.py"):
        if "stand_in" in path.read_text(encoding="utf-8", errors="replace"):
            path.unlink()


def main() -> int:
    """Clean up; the environments stay when the lab could not be removed, since that needs them again."""
    if not clean_lab():
        print("the lab was not removed completely; see above, then run `make clean` again", file=sys.stderr)
        return 1
    remove_stand_ins()
    (REPO / "inventories" / "lab" / "vllm.lock.yml").unlink(missing_ok=True)
    shutil.rmtree(BUILD, ignore_errors=True)
    say("removed the environments and .build")
    listed = subprocess.run([sys.executable, str(PREREQUISITES), "--list"], capture_output=True, text=True, check=False)
    print("left: ansible-test's caches in ~/.ansible/test")
    print("left, the system packages: " + ", ".join(listed.stdout.split()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
