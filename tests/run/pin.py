# SPDX-License-Identifier: Apache-2.0
"""Write the pinned requirement files from the direct ones, by asking pip what it would install.

For whoever raises a version: `.build/venv/bin/python tests/run/pin.py [3.11 3.12 3.13]`, with those Pythons present.
Nothing is installed; a file holds every package with its version, so that two machines get the same tools.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bootstrap import REPO, find_python

FOLDER = REPO / "requirements"
PINNED = {"py3.11": "direct", "py3.12": "direct", "py3.13": "direct", "older-core": "older-core"}
HEAD = "# Pinned by tests/run/pin.py from {source}.in for Python {python}; do not edit.\n"


def resolve(python: Path, source: Path) -> list[str]:
    """Ask that Python's pip for the complete set of packages."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [python, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--report", report, "-r", source]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        packages = json.loads(report.read_text(encoding="utf-8"))["install"]
    found = {entry["metadata"]["name"].lower(): entry["metadata"]["version"] for entry in packages}
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def main() -> int:
    """Write each file whose Python is here; say which ones were left as they are."""
    wanted = sys.argv[1:] or ["3.11", "3.12", "3.13"]
    for target, source in PINNED.items():
        version = target[2:] if target.startswith("py") else "3.11"
        python = find_python(version) if version in wanted else None
        if python is None:
            print(f"{target}.txt left as it is: no Python {version} asked for or found")
            continue
        lines = resolve(python, FOLDER / f"{source}.in")
        text = HEAD.format(source=source, python=version) + "\n".join(lines) + "\n"
        (FOLDER / f"{target}.txt").write_text(text, encoding="utf-8")
        print(f"{target}.txt: {len(lines)} packages")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
