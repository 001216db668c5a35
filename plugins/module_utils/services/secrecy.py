# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What must not be in a service definition, because a definition ends in argv, in a unit and in a record.

Private to the collection.
"""

from __future__ import annotations

import re

_SECRET_WORDS = {"key", "apikey", "token", "secret", "password", "passwd", "passphrase", "credential", "credentials"}
# In the options of an engine a token is a word of a model, and a key is how something is found.
_SECRET_OPTION = re.compile(
    r"(?:^|_)(?:api_?key|access_key|secret(?:_key)?|password|passwd|passphrase|credentials?|hf_token|auth_token)$"
)
_NO_SECRET_END = ("file", "path", "dir", "id")
_TOKEN = re.compile(r"(?<![A-Za-z0-9])(?:hf_|sk-|ghp_|github_pat_|glpat-|nvapi-|AKIA|xox[bp]-)[A-Za-z0-9_-]{12,}")
_LOGIN_IN_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")


def secret_name(name: str) -> bool:
    """Whether a variable or a key of this name holds a secret: HF_TOKEN, VLLM_API_KEY, db-password."""
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    return bool(words) and words[-1] not in _NO_SECRET_END and bool(_SECRET_WORDS.intersection(words))


def secret_option(name: str) -> bool:
    """Whether a key inside ``config`` holds a secret; narrower, so that ``pad_token`` is an ordinary option."""
    return bool(_SECRET_OPTION.search(re.sub(r"[^a-z0-9]+", "_", name.lower())))


def looks_secret(text: str) -> bool:
    """Whether a value is a token of a well-known shape, or an address with a password in it."""
    return bool(_TOKEN.search(text) or _LOGIN_IN_URL.search(text))
