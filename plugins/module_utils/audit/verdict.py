# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What of an audit fails, and how that is said in one message.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..findings import ERROR, SEVERITIES, WARNING, Finding, one_line, worst_first

NEVER = "never"
FAIL_ON = (ERROR, WARNING, NEVER)
_SHOWN = 5


def failing_at(findings: Sequence[Finding], level: str) -> list[Finding]:
    """The findings of that severity and worse, unless they are waived; none for ``never``."""
    severities = () if level == NEVER else SEVERITIES[: SEVERITIES.index(level) + 1]
    return worst_first(each for each in findings if each.severity in severities and not each.waived_until)


def summary(name: str, version: str, failing: Sequence[Finding]) -> str:
    """The worst findings, one a line, under a line that counts them."""
    count = f"{len(failing)} finding{'' if len(failing) == 1 else 's'}"
    lines = [f"  - {one_line(finding)}" for finding in failing[:_SHOWN]]
    more = [f"  - and {len(failing) - _SHOWN} more, in `findings`"] if len(failing) > _SHOWN else []
    return "\n".join([f"{name} is not right for vLLM {version}: {count}", *lines, *more])
