# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The secrets of a rotation: brought in, proven, put back. Their values are in files of root and the container alone.

Private to the collection.
"""

from __future__ import annotations

from http import HTTPStatus

from ..io.files import read_if_there, remove, rename
from ..io.http import request
from ..io.releases import read_gate
from ..io.serving import authorization
from ..release.paths import Paths
from ..secrets_file import parse_secrets
from .steps import Context, StepFailed

API_KEY = "VLLM_API_KEY"
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_ASK = 10.0


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


def prove_rotation(context: Context) -> None:
    """The key of before is refused; the new one was used by every other proof. StepFailed when it still opens."""
    paths = context.paths
    before = parse_secrets(read_if_there(paths.back_secrets) or "").get(API_KEY)
    now = parse_secrets(read_if_there(paths.secrets) or "").get(API_KEY)
    if before is None or before == now:
        return
    url = read_gate(paths, context.release).url + "/v1/models"
    answer = request(url, headers=authorization(before), timeout=_ASK, max_bytes=1 << 20)
    if answer.status not in _REFUSED:
        said = f"HTTP {answer.status}" if answer.status else "no answer"
        raise StepFailed(f"the earlier {API_KEY} is not refused: /v1/models gave {said}, expected HTTP 401")
