# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Take away what makes a service: unit, secrets, releases, pointers. The evidence of its starts and its journal stay.

No daemon-reload: it takes the GPUs away from running containers on some hosts, and without the pointers the unit that
systemd still remembers cannot start.
Private to the collection.
"""

from __future__ import annotations

import shutil

from ..io.files import remove
from ..release.paths import Paths


def remove_service(paths: Paths) -> str:
    """Remove it, what could start it first; can be done again after a crash."""
    for name in (paths.current, paths.last_good, paths.boot_link, paths.unit_file, paths.secrets):
        remove(name)
    for folder in (paths.secrets.parent, paths.releases):
        if folder.is_dir():
            shutil.rmtree(folder)
    remove(paths.stopped)
    return f"unit, secrets and releases are gone; the evidence of past starts stays in {paths.starts}"
