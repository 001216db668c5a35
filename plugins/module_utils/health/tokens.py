# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Compare answers token by token, and see a token that does not end.

Two answers are compared by the ids that the server gives where both have them: that is exact, and costs nothing. A
text that a person wrote has no ids, so then words count: a run of letters and digits, and each other character that is
no space alone; of scripts that write no spaces each character is one.
Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from itertools import groupby

# Thai to Khmer, kana, and the ideographs with their extensions: there a run of letters is a whole sentence.
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_ALONE}]|(?:(?![{_ALONE}])\w)+|\S")
MOST_TOKENS = 4096


def words(text: str) -> tuple[str, ...]:
    """The tokens of a text that has no ids."""
    return tuple(match.group() for match, _number in zip(_WORD.finditer(text), range(MOST_TOKENS)))


def share_of_equal(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """How many tokens are in both in the same order, as a share of the longer one; of two empty ones all are.

    A token that is missing in the middle costs that token, and not everything behind it.
    """
    one, other = one[:MOST_TOKENS], other[:MOST_TOKENS]
    longer = max(len(one), len(other))
    return _in_both(one, other) / longer if longer else 1.0


def _in_both(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """The length of the longest common subsequence, a row of the usual table at once as the bits of one number."""
    places: dict[Hashable, int] = {}
    for place, token in enumerate(one):
        places[token] = places.get(token, 0) | 1 << place
    whole = (1 << len(one)) - 1
    row = whole
    for token in other:
        same = row & places.get(token, 0)
        row = ((row + same) | (row - same)) & whole
    return len(one) - bin(row).count("1")


def longest_run(tokens: Sequence[Hashable]) -> int:
    """How often the same token comes in a row, at most."""
    return max((sum(1 for _same in group) for _token, group in groupby(tokens)), default=0)
