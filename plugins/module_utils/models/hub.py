# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Ask a Hugging Face hub what a revision holds; asking itself is the caller's.

Private to the collection.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from ..host.refusal import refusal
from ..registry.resolve import Answer, Get
from .answers import Asked, hub_refusal
from .snapshot import Listing, parse_listing, safe_path

DEFAULT_ENDPOINT = "https://huggingface.co"


def list_files(asked: Asked, token: str | None, get: Get) -> Listing:
    """The files of the revision with their sizes and hashes; a Refusal says why it cannot be had."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    route = f"{asked.endpoint}/api/models/{asked.repository}/revision/{quote(asked.revision, safe='')}?blobs=true"
    data = _object(asked, _ask(asked, get, route, headers))
    try:
        listing = parse_listing(data)
    except (ValueError, KeyError, TypeError) as error:
        raise hub_refusal(asked, HTTPStatus.OK, f"not the answer of a hub: {error}") from error
    bad = [each.path for each in listing.files if not safe_path(each.path)]
    if bad:
        raise refusal("hub_answer", asked.subject, f"{asked.endpoint} names a file {bad[0]!r}", "do not use this hub")
    if data.get("gated") and listing.files:
        # The list of a gated repository is public: only a file shows if the token may have it.
        names = [each.path for each in listing.files]
        name = "config.json" if "config.json" in names else names[0]
        _ask(asked, get, f"{asked.endpoint}/{asked.repository}/resolve/{listing.commit}/{quote(name)}", headers)
    return listing


def _ask(asked: Asked, get: Get, url: str, headers: dict[str, str]) -> Answer:
    answer = get(url, headers)
    if answer.status != HTTPStatus.OK:
        said = answer.error or answer.headers.get("x-error-message") or f"HTTP {answer.status}"
        raise hub_refusal(asked, answer.status, said)
    return answer


def _object(asked: Asked, answer: Answer) -> dict[str, Any]:
    try:
        data = json.loads(answer.body)
    except ValueError as error:
        raise hub_refusal(asked, HTTPStatus.OK, "the answer is not JSON") from error
    return data if isinstance(data, dict) else {}
