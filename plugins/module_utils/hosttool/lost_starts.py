# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Give an ending to the starts that have none because their host went down before anybody could write one.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..io import boots, starts
from ..io.clock import Clock
from ..release.ending import lost_with_its_host
from ..release.paths import Paths


def note_lost(paths: Paths, clock: Clock) -> list[int]:
    """Note the ending of every start of an earlier boot that has none; their numbers."""
    boot = boots.marker(paths)
    lost = [seq for seq in starts.numbers(paths) if _is_lost(starts.read(paths, seq), boot)]
    for seq in lost:
        ending = lost_with_its_host()
        known = starts.read(paths, seq)
        ended = {"ended_at": known.get("ended_at") or clock.now()}
        starts.update(paths, seq, {**ended, **ending.to_dict(), **ending.missing_verdict(known)})
    return lost


def is_of_an_earlier_boot(paths: Paths, seq: object) -> bool:
    """Whether a start was begun before the host restarted; False where nothing is known of it."""
    known = starts.read(paths, seq) if isinstance(seq, int) else {}
    return _made_before(known, boots.marker(paths))


def _is_lost(known: Mapping[str, Any], boot: str) -> bool:
    """One that nothing is known of is no start of an earlier boot: it may be on its way right now."""
    ended = "ending" in known or ("ended_at" in known and "gpus" not in known)  # older tools named no endings
    return _made_before(known, boot) and not ended


def _made_before(known: Mapping[str, Any], boot: str) -> bool:
    made_in = known.get("boot")
    return isinstance(made_in, Mapping) and made_in.get("marker") != boot
