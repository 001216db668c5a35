# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Prove after a rotation that the key of before opens nothing any more.

Private to the collection.
"""

from __future__ import annotations

from http import HTTPStatus

from ..io.files import read_if_there
from ..io.http import request
from ..io.releases import read_gate
from ..io.serving import authorization
from ..secrets_file import parse_secrets
from .steps import Context, StepFailed

API_KEY = "VLLM_API_KEY"
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_ASK = 10.0


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
