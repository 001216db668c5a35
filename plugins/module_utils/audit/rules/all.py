# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Every rule across fields, in the order in which they are asked.

Private to the collection.
"""

from __future__ import annotations

from ..case import Rule
from . import (
    data_parallel,
    frontend,
    hardware,
    lora,
    parallel,
    paths,
    reach,
    request_logs,
    scheduling,
    speculation,
    transfer,
)

RULES: tuple[Rule, ...] = (
    *speculation.RULES,
    *parallel.RULES,
    *data_parallel.RULES,
    *lora.RULES,
    *hardware.RULES,
    *scheduling.RULES,
    *transfer.RULES,
    *frontend.RULES,
    *request_logs.RULES,
    *reach.RULES,
    *paths.RULES,
)
