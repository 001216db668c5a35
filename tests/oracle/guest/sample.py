# SPDX-License-Identifier: Apache-2.0
"""Writes every command line that any process has while this runs into a file. Arguments: FILE SECONDS.

A process that lives shorter than a hundredth of a second can be missed.
"""

import sys
import time
from pathlib import Path


def main():
    """Look at all processes about a hundred times a second."""
    target, end = Path(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    seen = set()
    with target.open("ab", buffering=0) as file:
        while time.monotonic() < end:
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    words = path.read_bytes()
                except OSError:
                    continue
                if words and words not in seen:
                    seen.add(words)
                    file.write(words + b"\n")
            time.sleep(0.008)


main()
