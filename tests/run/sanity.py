# SPDX-License-Identifier: Apache-2.0
"""Run ansible-test on a copy of the files that git knows, since it insists on the path of an installed collection.

`sanity.py [--bin FOLDER] ARGUMENT...` hands the arguments on: `sanity.py sanity --venv`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from bootstrap import BUILD, HOME_CACHE, REPO, VENV

STAND_IN = Path(__file__).with_name("get_pip_stand_in.py")


def copy_tree(target: Path) -> None:
    """Copy what git tracks or would track, so that build folders and caches stay out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPO, capture_output=True, text=True, check=True,
    )  # fmt: skip
    shutil.rmtree(target, ignore_errors=True)
    for name in filter(None, listed.stdout.split("\0")):
        source = REPO / name
        if source.is_file() or source.is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name, follow_symlinks=False)


def place_stand_in(folder: Path) -> None:
    """Put the stand-in where this ansible-test looks before it downloads; never over a real one."""
    code = "import ansible_test._internal.python_requirements as found; print(found.__file__)"
    asked = subprocess.run([str(folder / "python"), "-c", code], capture_output=True, text=True, check=True)
    versions = re.findall(r"\bpip='([0-9.]+)'", Path(asked.stdout.strip()).read_text(encoding="utf-8"))
    HOME_CACHE.mkdir(parents=True, exist_ok=True)
    for version in versions:
        place = HOME_CACHE / "get_pip_{}.py".format(version.replace(".", "_"))
        if not place.exists() or "stand_in" in place.read_text(encoding="utf-8", errors="replace"):
            shutil.copyfile(STAND_IN, place)


def main() -> int:
    """Copy, place the stand-in, run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=VENV / "bin")
    options, arguments = parser.parse_known_args()
    # One copy a core: the two lanes keep their results apart.
    target = BUILD / f"tree-{options.bin.parent.name}" / "ansible_collections" / "gpuhosts" / "vllm"
    copy_tree(target)
    place_stand_in(options.bin)
    command = [str(options.bin / "ansible-test"), *arguments]
    return subprocess.run(command, cwd=target, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
