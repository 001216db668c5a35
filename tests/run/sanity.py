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

WORTH_SEEING = ("Running ", "ERROR", "FATAL", "See documentation", "Traceback", "WARNING: Skip", "WARNING: Unable")
# The lab is programs and root file systems of other machines, no part of the collection; the lint lane looks at it.
LEFT_OUT = ("tests/lab/", "molecule/")
STAND_IN = Path(__file__).with_name("get_pip_stand_in.py")


def clear(target: Path) -> None:
    """Empty an earlier copy, but keep `tests/output`: ansible-test has its environments there."""
    keep = target / "tests" / "output"
    for path in sorted(target.rglob("*"), reverse=True):
        if path == keep or keep in path.parents or path in keep.parents:
            continue
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


def copy_tree(target: Path) -> None:
    """Copy what git tracks or would track, so that build folders and caches stay out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPO, capture_output=True, text=True, check=True,
    )  # fmt: skip
    clear(target)
    for name in filter(None, listed.stdout.split("\0")):
        source = REPO / name
        if not name.startswith(LEFT_OUT) and (source.is_file() or source.is_symlink()):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name, follow_symlinks=False)
    # The copy lies in a folder that git ignores; only as a repository of its own are its files seen.
    subprocess.run(["git", "init", "--quiet"], cwd=target, check=True)


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


def run(target: Path, command: list[str]) -> int:
    """Run in the copy and pass on what is no talk of pip; a run that tested nothing is a failure."""
    tests = 0
    log = BUILD / "lanes" / f"{target.parents[2].name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with log.open("w") as copy, subprocess.Popen(command, cwd=target, text=True, **pipes) as process:
        for line in process.stdout or ():
            copy.write(line)
            tests += line.startswith("Running sanity test")
            if line.startswith(WORTH_SEEING):
                print(line, end="", flush=True)
    print(f"all of it is in {log.relative_to(REPO)}")
    if command[1] == "sanity" and not tests:
        print("ansible-test ran no test at all: it did not see the files of the copy")
        return 1
    return process.returncode


def main() -> int:
    """Copy, place the stand-in, run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=VENV / "bin")
    options, arguments = parser.parse_known_args()
    # One copy a core: the two lanes keep their results apart.
    target = BUILD / f"tree-{options.bin.parent.name}" / "ansible_collections" / "gpuhosts" / "vllm"
    copy_tree(target)
    place_stand_in(options.bin)
    return run(target, [str(options.bin / "ansible-test"), *arguments])


if __name__ == "__main__":
    sys.exit(main())
