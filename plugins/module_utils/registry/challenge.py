# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a registry wants to be shown before it answers (the header WWW-Authenticate).

Private to the collection.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from urllib.parse import urlencode

_PARAMETER = re.compile(r'(\w+)="([^"]*)"|(\w+)=([^",\s]+)')


@dataclass(frozen=True)
class Challenge:
    """``scheme`` is basic or bearer, in lower case; a bearer token is fetched from ``realm``."""

    scheme: str
    realm: str
    service: str
    scope: str

    def token_url(self, path: str) -> str:
        """Where a token that may pull ``path`` is to be had."""
        query = {"service": self.service, "scope": self.scope or f"repository:{path}:pull"}
        return f"{self.realm}?{urlencode({key: value for key, value in query.items() if value})}"


def parse_challenge(header: str) -> Challenge:
    """Read the header; parts that it does not name are empty."""
    scheme, _space, rest = header.strip().partition(" ")
    values = {a or c: b or d for a, b, c, d in _PARAMETER.findall(rest)}
    return Challenge(scheme.lower(), values.get("realm", ""), values.get("service", ""), values.get("scope", ""))


def basic_header(username: str, password: str) -> str:
    """The header of HTTP basic authentication."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()
