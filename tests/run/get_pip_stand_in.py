# SPDX-License-Identifier: Apache-2.0
"""The stand_in for get-pip: ansible-test runs it where a package index can be reached, but not ansible-test's own host.

Python carries a pip; it is unpacked and then asked for the version that ansible-test wants. Unpacking clears pip's
settings (index, certificates) from the process, so the second step runs with the ones from before.
"""

from __future__ import annotations

import ensurepip
import os
import subprocess
import sys

UNKNOWN_TO_PIP = {"--no-setuptools", "--no-wheel"}


def main() -> int:
    """Unpack the carried pip, then let it install what was asked for."""
    environment = os.environ.copy()
    ensurepip.bootstrap()
    wanted = [word for word in sys.argv[1:] if word not in UNKNOWN_TO_PIP]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", *wanted]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
