# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""How large the weights of a model are, read from its name; None where the name does not say it.

Private to the collection.
"""

from __future__ import annotations

import re

_SIZE = re.compile(r"(?i)(?:^|[-_/])(?:(\d{1,2})x)?(\d{1,4}(?:\.\d{1,2})?)b(?=$|[-_.:/])")
_BITS4 = re.compile(r"(?i)awq|gptq|int4|w4a16|4bit|nvfp4|mxfp4|fp4|bnb|gguf")
_BITS8 = re.compile(r"(?i)fp8|int8|w8a8|w8a16|8bit")
_SHARED = 0.83  # experts share attention and embeddings: 8x7B has 46.7 billion parameters, not 56


def billions(model: str) -> float | None:
    """Parameters in billions, of the first size in the name that is not the active part (``-A3B``)."""
    found = _SIZE.search(model.rstrip("/"))
    if not found:
        return None
    experts, each = found.groups()
    return float(each) * int(experts) * _SHARED if experts else float(each)


def weight_bytes(model: str, quantization: str | None) -> int | None:
    """A low estimate of the weights' bytes; None also where a family is known to come quantised under a plain name."""
    count = billions(model)
    if count is None or re.search(r"(?i)gpt-oss|deepseek-(v3|r1)$|kimi-k2", model):
        return None
    said = f"{model} {quantization or ''}"
    bits = 4 if _BITS4.search(said) else 8 if _BITS8.search(said) else 16
    return int(count * 1_000_000_000 * bits / 8)
