# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Make plain lines of what a log holds: no colours, no carriage returns, no endless lines, no secrets in what is kept.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MAX_LINE = 1 << 16
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.")
_VALUE = r"""(?:\[[^\]]*\]|'[^']*'|"[^"]*"|[^\s,'"})\]]+)"""
_NAMES = r"(?:api_key|hf_token|password|\w*(?:TOKEN|SECRET|API_KEY|PASSWORD))"
_REDACTED = re.compile(
    r"\b(hf_|sk-)[A-Za-z0-9_-]{6,}"
    r"|\b([Bb]earer\s+)[^\s'\",;]+"
    r"|(--(?:api[-_]key|hf[-_]token)[=\s]+)\S+"
    rf"|\b({_NAMES}['\"]?\s*[:=]\s*)(?!None\b){_VALUE}"
    r"|(://)[^/\s:@]+:[^/\s@]+(?=@)"
)

# Every one of the patterns above holds one of these words: a line with none is left alone, at a tenth of the price.
_HINTS = (
    *("hf_", "sk-", "earer", "api-key", "api_key", "hf-token", "password", "://"),
    *("TOKEN", "SECRET", "API_KEY", "PASSWORD"),
)


def plain_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the log's lines as a person sees them; a line that was rewritten by ``\\r`` is as many lines as states."""
    for line in lines:
        for part in line[:MAX_LINE].replace("\0", "").splitlines():
            text = _ANSI.sub("", part) if "\x1b" in part else part
            if text:
                yield text


def redact(text: str) -> str:
    """Take out what looks like a key, a token or a password."""
    if not any(hint in text for hint in _HINTS):
        return text
    return _REDACTED.sub(lambda match: next((kept for kept in match.groups() if kept), "") + "***", text)
