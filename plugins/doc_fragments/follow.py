# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0

from __future__ import annotations


class ModuleDocFragment:
    # Work that goes on on the host, and is followed by asking again.
    DOCUMENTATION = r"""
options:
  follow:
    description:
      - The value RV(ignore:follow) of an earlier call, to go on following its work.
      - The action of the same name does this by itself, until the work has ended.
    type: str
  wait:
    description: Seconds that one call waits for the work before it says how far it is.
    type: float
    default: 15
"""
