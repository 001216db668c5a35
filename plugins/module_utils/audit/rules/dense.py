# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Models that are known to be dense by their published name. What is not known is left to vLLM.

Private to the collection.
"""

from __future__ import annotations

import re

_DENSE = (
    r"(Meta-)?Llama-3(\.[123])?-\d+B",
    r"Llama-2-\d+b",
    r"Qwen2(\.5)?(-Coder|-Math)?-[\d.]+B",
    r"Qwen3-(0\.6|1\.7|4|8|14|32)B",
    r"QwQ-32B",
    r"Mistral-(7B|Nemo|Small|Large)",
    r"gemma-[23]-\d+b",
    r"phi-4\b",
    r"DeepSeek-R1-Distill-(Llama|Qwen)",
)
_ACTIVE_PART = r"-A[\d.]+B"


def is_dense(model: str) -> bool:
    """Whether the name is one of a family whose models are all dense; a name with active parameters is not."""
    name = model.rstrip("/").rsplit("/", 1)[-1]
    if re.search(_ACTIVE_PART, name, re.IGNORECASE):
        return False
    return any(re.match(pattern, name, re.IGNORECASE) for pattern in _DENSE)
