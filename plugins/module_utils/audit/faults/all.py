# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""All rules about how published units, compose files and run lines go wrong.

Private to the collection.
"""

from __future__ import annotations

from . import boot, engine, exposure, health, images, keys, limits, restart, texts

RULES = (
    *exposure.RULES,
    *images.RULES,
    *limits.RULES,
    *restart.RULES,
    *keys.RULES,
    *boot.RULES,
    *texts.RULES,
    *health.RULES,
    *engine.RULES,
)
