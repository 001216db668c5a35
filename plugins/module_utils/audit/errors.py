# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What cannot be audited at all.

Private to the collection.
"""

from __future__ import annotations


class AuditError(ValueError):
    """The input is no subject, or the version no version; the message says what was given and what is expected."""
