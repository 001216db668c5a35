# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What is left after a stop is waited for, killed only when it is of the old container, and named."""

from __future__ import annotations

from ansible_collections.gpuhosts.vllm.plugins.module_utils.gpu.holders import Holder, parse_holders
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.freed import (
    Held,
    Look,
    Seen,
    freed,
    judge_release,
    strangers,
    why_not_free,
)

HELD = Held(
    port=8000, needs_port=True, uses_gpus=True, gpus=frozenset({"GPU-a"}), processes={41: 7}, others=frozenset({50})
)
WORKER = Seen(41, "VLLM::Worker", "S", "root")


def test_the_driver_s_rows_are_read_and_others_are_none():
    text = "41, 20480, GPU-a\n42, [N/A], GPU-b\n[N/A], 5, GPU-a\nNo running processes found\n\n43, 1\n"
    assert parse_holders(text) == (Holder(41, 20480, "GPU-a"), Holder(42, None, "GPU-b"))


def test_where_nothing_is_left_all_is_done_at_once():
    verdict = judge_release(HELD, Look(memory=()), 0.0)
    assert verdict.settled and not verdict.kill
    assert freed(HELD, Look(memory=()), []) == "port 8000 is free; no process of it holds GPU memory"
    assert freed(Held(port=8000), Look(), []) == "port 8000 is free"
    assert freed(Held(), Look(), []) == ""


def test_a_process_of_the_old_container_is_waited_for_then_killed_then_named():
    look = Look((WORKER,))
    early, late, end = (judge_release(HELD, look, seconds) for seconds in (4.9, 5.0, 60.0))
    assert (early.settled, early.kill, early.over) == (False, (), False)
    assert (late.kill, late.over) == ((WORKER,), False)
    assert end.over
    look = Look((WORKER,), (Holder(41, 20480, "GPU-a"), Holder(41, 10, "GPU-b")))
    assert why_not_free(HELD, look, end) == (
        "of the old container is left after 60 s and SIGKILL: VLLM::Worker (pid 41, 20490 MiB, user root, state S); "
        "look at it with: ps -o pid,stat,wchan:30,args -p 41"
    )


def test_what_sleeps_in_the_driver_needs_a_reboot():
    stuck = Seen(41, "VLLM::Worker", "D", "root")
    verdict = judge_release(HELD, Look((stuck,)), 60.0)
    assert why_not_free(HELD, Look((stuck,)), verdict).endswith(
        "hangs in the driver and cannot be killed: reboot required"
    )


def test_a_dead_process_counts_only_while_it_holds_memory():
    dead = Seen(41, "VLLM::Worker", "Z", "root")
    assert judge_release(HELD, Look((dead,), ()), 0.0).settled
    holds = judge_release(HELD, Look((dead,), (Holder(41, 5, "GPU-a"),)), 60.0)
    assert not holds.settled and holds.kill == ()
    assert "reboot required" in why_not_free(HELD, Look((dead,), ()), holds)


def test_a_port_that_somebody_else_took_is_not_waited_for_as_long():
    taken = Look(memory=(), port_taken=True)
    assert not judge_release(HELD, taken, 4.9).over
    over = judge_release(HELD, taken, 5.0)
    assert over.over and over.port and why_not_free(HELD, taken, over) == ""
    stops = Held(port=8000)
    assert judge_release(stops, taken, 0.0).settled
    assert freed(stops, taken, []) == "port 8000 is taken by somebody else"


def test_strangers_are_named_and_change_nothing():
    memory = (Holder(50, 100, "GPU-a"), Holder(51, 200, "GPU-a"), Holder(52, 300, "GPU-other"))
    seen = {50: Seen(50, "python", "S", "ada"), 51: Seen(51, "train", "R", "bob", "f" * 64)}
    look = Look(memory=memory, seen=seen)
    assert judge_release(HELD, look, 0.0).settled
    assert strangers(HELD, look) == (
        "python (pid 50, 100 MiB, user ada, state S) holds memory of its GPUs as before",
        "train (pid 51, 200 MiB, user bob, container ffffffffffff, state R) holds memory of its GPUs since the stop",
    )


def test_who_was_killed_and_why_nothing_is_known_is_said():
    look = Look(memory=(), unknown="its GPU memory cannot be looked at: the host has no nvidia-smi")
    assert freed(HELD, look, [WORKER]) == (
        "port 8000 is free; its GPU memory cannot be looked at: the host has no nvidia-smi; "
        "killed what had outlived its container: VLLM::Worker (pid 41)"
    )
