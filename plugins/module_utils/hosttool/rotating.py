# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The secrets of a rotation: brought in, kept, put back. Their values are in files of root and the container alone.

Private to the collection.
"""

from __future__ import annotations

from ..io.files import remove, rename
from ..release.paths import Paths
from .steps import StepFailed


def check_staged(paths: Paths) -> None:
    """StepFailed when there is nothing to rotate to; a restart for nothing is downtime for nothing."""
    if not paths.next_secrets.exists() and not paths.back_secrets.exists():
        raise StepFailed(f"{paths.next_secrets} is not there: no new secrets were staged; use the rotate playbook")


def let_go(paths: Paths) -> None:
    """Forget values that were staged for a rotation that did not come to it."""
    if not paths.back_secrets.exists():
        remove(paths.next_secrets)


def bring_in(paths: Paths) -> None:
    """Let the service have its next secrets, the present ones beside them; can be done again after a crash."""
    if not paths.next_secrets.exists():
        return
    if not paths.back_secrets.exists():
        rename(paths.secrets, paths.back_secrets)
    rename(paths.next_secrets, paths.secrets)


def put_back(paths: Paths) -> None:
    """Let the service have the secrets again that it had before."""
    if paths.back_secrets.exists():
        rename(paths.back_secrets, paths.secrets)
    remove(paths.next_secrets)


def keep(paths: Paths) -> None:
    """From here on there is no way back to the earlier values."""
    remove(paths.back_secrets)
    remove(paths.next_secrets)
