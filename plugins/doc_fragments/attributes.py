# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0

from __future__ import annotations


class ModuleDocFragment:
    # What every module and action says of itself. The plugin adds `support` (and `details`) to each.
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and say what would change, without changing it.
  diff_mode:
    description: Shows what changed, or what would change in C(check_mode), when in diff mode.
  idempotent:
    description:
      - The second of two runs with the same arguments, outside check mode, reports no change.
      - This assumes that nothing else changed the host in between.
  platform:
    description: The systems on which the managed part runs.
    support: full
    platforms: posix
"""

    # For what only looks; goes beside the fragment above.
    INFO = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This reads only, so check mode makes no difference.
  diff_mode:
    support: N/A
    details:
      - This reads only, so there is never a difference to show.
  idempotent:
    support: full
    details:
      - This reads only.
"""

    ACTIONGROUP_VLLM = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/gpuhosts.vllm.vllm) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - gpuhosts.vllm.vllm
"""
