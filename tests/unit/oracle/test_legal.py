# SPDX-License-Identifier: Apache-2.0
"""The oracle on states made by hand: a legal host, and one violation at a time."""

from __future__ import annotations

import copy
import json
from typing import Any, Callable

import pytest

from tests.oracle.legal import assert_legal, violations

HERE, INVOCATION = "a" * 64, "1" * 32
ENDED = {
    "ended_at": "2026-11-30T10:00:00.000Z",
    "ending": "stopped",
    "ending_reason": "somebody stopped or restarted vllm-chat.service",
    "fault": False,
    "container_id": "b" * 64,
    "exit_code": 0,
    "oom_killed": False,
    "ready": True,
}
FILES = {
    "release.json": [1, 0o644],
    "run": [1, 0o755],
    "entry": [1, 0o755],
    "args": [1, 0o644],
    "gate.json": [1, 0o644],
}


def record(state: str, phase: str, run: str = "first_start-1", kind: str = "first_start") -> dict[str, Any]:
    return {"at": "2026-11-30T10:00:00.000Z", "run": run, "kind": kind, "state": state, "phase": phase}


def journal(*steps: str, **fields: str) -> str:
    return "".join(json.dumps(record(*step.split(), **fields)) + "\n" for step in steps)


COMMITTED = (
    "staged done", "preflighted intent", "preflighted done", "switched intent", "switched done", "starting intent",
    "starting done", "verifying intent", "verifying done", "soaking intent", "soaking done", "committed intent",
    "committed done",
)  # fmt: skip


def unit(name: str, active: str = "active") -> dict[str, str]:
    return {"Id": name, "LoadState": "loaded", "ActiveState": active, "SubState": "x", "InvocationID": INVOCATION}


def process(*words: str, parent: int = 1, group: str | None = None) -> dict[str, Any]:
    return {"parent": parent, "words": list(words), "group": [group] if group else []}


def legal() -> dict[str, Any]:
    """What is seen on a host that serves chat with its second start."""
    starts = [
        {"seq": 1, "service": "chat", **ENDED},
        {"seq": 2, "service": "chat", "ready": True, "container_id": HERE, "invocation_id": INVOCATION},
    ]
    kept = {"log": 10, "startup.json": 10, "state.json": 10}
    release = {"files": FILES, "uid": 0, "port": 8000, "bind": "127.0.0.1", "network": "bridge"}
    chat = {
        "journal": journal(*COMMITTED),
        "starts": {str(each["seq"]): {"state": json.dumps(each), "files": kept} for each in starts},
        "releases": {"rel-1": release},
        "current": "releases/rel-1",
        "last_good": "releases/rel-1",
        "stopped": False,
        "run": None,
        "cid": HERE,
        "secrets": {"mode": 0o600, "uid": 0},
    }
    container = {
        "id": HERE,
        "name": "vllm-chat",
        "status": "running",
        "pid": 100,
        "labels": {"io.gpuhosts.vllm.service": "chat"},
        "network": "bridge",
        "addresses": ["172.17.0.2"],
    }
    proxy = ("/usr/bin/docker-proxy", "-proto", "tcp", "-host-ip", "127.0.0.1", "-host-port", "8000",
             "-container-ip", "172.17.0.2", "-container-port", "8000")  # fmt: skip
    seen = {
        "name": "gpu9",
        "units": {name: unit(name) for name in ("docker.service", "vllm-chat.service")},
        "containers": [container],
        "services": {"chat": chat},
        "processes": {
            "1": process("/sbin/init", parent=0),
            "90": process(*proxy),
            "100": process("/sbin/docker-init", group=HERE),
            "101": process("vllm", "serve", parent=100, group=HERE),
            "102": process("VLLM::EngineCore", parent=101, group=HERE),
        },
        "listeners": [
            {"address": "127.0.0.1", "port": 8000, "pids": [90]},
            {"address": "0.0.0.0", "port": 22, "pids": [5]},
        ],
        "gpu": [{"pid": "102", "name": "VLLM::EngineCore"}],
        "left_over": [],
        "for_everybody": [],
        "locked": [],
    }
    return copy.deepcopy(seen)


def with_start(number: int, **changes: Any) -> dict[str, Any]:
    """Change what is recorded of a start; None takes a field out."""
    seen = legal()
    kept = seen["services"]["chat"]["starts"][str(number)]
    state = {**json.loads(kept["state"]), **changes}
    kept["state"] = json.dumps({key: value for key, value in state.items() if value is not None})
    return seen


def with_journal(text: str | None) -> dict[str, Any]:
    seen = legal()
    seen["services"]["chat"]["journal"] = text
    return seen


def down(active: str = "inactive") -> dict[str, Any]:
    """The same host with its service down, in a legal way."""
    seen = with_start(2, **ENDED, invocation_id=INVOCATION)
    seen["units"]["vllm-chat.service"]["ActiveState"] = active
    seen.update(containers=[], gpu=[], listeners=[], processes={"1": process("/sbin/init", parent=0)})
    return seen


def changed(change: Callable[[dict[str, Any]], Any], base: Callable[[], dict[str, Any]] = legal) -> dict[str, Any]:
    seen = base()
    change(seen)
    return seen


def test_a_host_that_serves_and_one_whose_service_is_down_are_legal() -> None:
    assert violations(legal()) == []
    assert violations(down()) == []
    assert violations(down("failed")) == []
    empty = {**legal(), "services": {}, "containers": None, "processes": {}, "gpu": None, "listeners": []}
    assert (
        violations({**empty, "units": {"docker.service": {"LoadState": "not-found", "ActiveState": "inactive"}}}) == []
    )


def test_an_engine_in_the_hosts_network_is_told_by_its_control_group_or_its_ancestors() -> None:
    for group in (HERE, None):
        seen = legal()
        seen["containers"][0].update(network="host", addresses=[])
        seen["listeners"][0]["pids"] = [101]
        for pid in ("100", "101", "102"):
            seen["processes"][pid]["group"] = [group] if group else []
        assert violations(seen) == []


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (changed(lambda s: s["containers"][0].update(status="exited")), "container vllm-chat (aaaaaaaaaaaa) is exited"),
        (changed(lambda s: s["containers"].clear()), "chat: its unit is active with 0 running containers"),
        (changed(lambda s: s.update(containers=None)), "host: docker.service is active and Docker does not answer"),
        (changed(lambda s: s["units"]["vllm-chat.service"].update(ActiveState="activating", SubState="auto-restart")),
         "chat: its unit does not settle: activating (auto-restart)"),
        (changed(lambda s: s["listeners"].pop(0)), "chat: nothing listens on its port 8000"),
        (changed(lambda s: s["listeners"][0].update(pids=[])), "chat: port 8000 is listened on by nobody known"),
        (changed(lambda s: s["containers"][0].update(addresses=["172.17.0.3"])), "not by its container"),
        (changed(lambda s: s["listeners"][0].update(address="0.0.0.0")), "chat: port 8000 is open at 0.0.0.0"),
        (changed(lambda s: s["processes"].update({"7": process("VLLM::Worker", parent=1)}), down),
         "host: process 7 (VLLM::Worker) belongs to no running container of a service"),
        (changed(lambda s: s.update(gpu=[{"pid": "7", "name": "python"}]), down), "GPU memory is held by process 7"),
        (changed(lambda s: s["listeners"].append({"address": "0.0.0.0", "port": 8000, "pids": [1]}), down),
         "chat: its unit is inactive, and its port 8000 is listened on by process 1"),
        (changed(lambda s: s["services"]["chat"].update(stopped=True), lambda: down("failed")),
         "chat: is marked as stopped, and its unit is failed"),
        (changed(lambda s: s["services"]["chat"]["secrets"].update(uid=7)), "chat: its secrets file belongs to uid 7"),
        (changed(lambda s: s["services"]["chat"].update(secrets=None)), "chat: has a current release and no secrets"),
        (changed(lambda s: s["services"]["chat"]["releases"].clear()), "chat: current points to releases/rel-1, which"),
        (changed(lambda s: s["services"]["chat"]["releases"]["rel-1"]["files"].update(run=[1, 0o644])),
         "chat: release rel-1: run has the mode 644"),
        (changed(lambda s: s["services"]["chat"]["releases"]["rel-1"]["files"].update(args=[1, 0o664])),
         "chat: release rel-1: args has the mode 664"),
        (changed(lambda s: s["services"]["chat"].update(current="/rel-1")), "chat: current points out of the folder"),
        (changed(lambda s: s["services"]["chat"]["starts"].update({"4": {"state": "{}", "files": {}}})), "[1, 2, 4]"),
        (changed(lambda s: s["services"]["chat"]["starts"].update(x={"state": "", "files": {}})), "starts/x is not"),
    ],
)  # fmt: skip
def test_what_runs(seen: dict[str, Any], expected: str) -> None:
    found = violations(seen)
    assert any(expected in line for line in found), found


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"ending": "crashed"}, "chat: start 1: its ending is 'crashed', none of the endings that there are"),
        ({"ending": None}, "chat: start 1: its ending is None"),
        ({"ended_at": None}, "chat: start 1: is over and has no ended_at"),
        ({"ending_reason": " "}, "chat: start 1: has no ending_reason"),
        ({"fault": "no"}, "chat: start 1: its fault is 'no'"),
        ({"exit_code": None}, "chat: start 1: had a container and has no exit_code"),
        ({"oom_killed": None}, "chat: start 1: had a container and has no oom_killed"),
        ({"fault": True, "ending_reason": "RuntimeError: See root cause above."}, "its reason sends people elsewhere"),
        ({"seq": 9}, "chat: start 1: its state.json is of chat 9"),
    ],
)
def test_evidence_of_a_start_that_is_over(changes: dict[str, Any], expected: str) -> None:
    found = violations(with_start(1, **changes))
    assert any(expected in line for line in found), found


def test_evidence_that_may_be_missing() -> None:
    assert violations(with_start(1, exit_code=None, oom_killed=None, evidence_error="Docker did not answer")) == []
    assert violations(with_start(1, exit_code=None, oom_killed=None, container_id=None)) == []
    seen = with_start(1, ending="never_ran", fault=True)
    del seen["services"]["chat"]["starts"]["1"]["files"]["log"]
    assert violations(seen) == []


def test_the_start_that_runs_has_no_ending_yet() -> None:
    assert violations(with_start(2, ending="killed")) == [
        "chat: start 2: is the one that runs, and has an ending: killed"
    ]


@pytest.mark.parametrize(
    "steps",
    [
        (*COMMITTED[:6], "starting failed", "rolling_back intent", "rolling_back done", "rolled_back done"),
        (*COMMITTED[:6], "starting intent", *COMMITTED[6:]),  # a driver was killed, the next one did the step again
        (*COMMITTED[:6], "rolling_back intent", "rolling_back done", "rolled_back done"),  # a reboot
        (
            *COMMITTED[:6],
            "rolling_back intent",
            "rolling_back failed",
            "rollback_failed intent",
            "rollback_failed done",
        ),
        ("staged done", "preflighted intent", "preflighted failed", "aborted done"),
        ("staged done", "aborted done"),
        (*COMMITTED[:6], "committed intent", "committed done"),  # a reboot started what was committed before
    ],
)
def test_runs_that_can_have_happened(steps: tuple[str, ...]) -> None:
    assert violations(with_journal(journal(*steps))) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (journal(*COMMITTED[:-1]), "has no end, its last record is committed intent"),
        (journal(*COMMITTED, "committed done"), "committed done cannot follow committed done"),
        (journal(*COMMITTED[:3], *COMMITTED[5:]), "starting intent cannot follow preflighted done"),
        (journal(*COMMITTED[:6], "starting failed", *COMMITTED[7:]), "verifying intent cannot follow starting failed"),
        (journal(*COMMITTED[:3], "rolling_back intent", "rolling_back done", "rolled_back done"), "rolling_back"),
        (journal(*COMMITTED[:8], "aborted done"), "aborted done cannot follow"),
        (journal(*COMMITTED[1:]), "begins with preflighted intent"),
        (journal(*COMMITTED[:3]) + journal(*COMMITTED, run="r2") + journal(*COMMITTED[3:]), "goes on after another"),
        (journal("staged done", "draining intent"), "line 2 is not a record"),
        (journal(*COMMITTED)[:-9], "its last line has no end"),
        (journal(*COMMITTED).replace('"phase": "intent"', '"phase": "inte', 1), "line 2 is not a record"),
        (None, "was started, and has no journal.jsonl"),
    ],
)  # fmt: skip
def test_journals_that_cannot_be(text: str | None, expected: str) -> None:
    found = violations(with_journal(text))
    assert any(expected in line for line in found), found


def test_a_stop_has_other_states() -> None:
    steps = ("staged done", "preflighted intent", "preflighted done", "draining intent", "draining done",
             "stopped intent", "stopped done", "committed intent", "committed done")  # fmt: skip
    assert violations(with_journal(journal(*COMMITTED) + journal(*steps, run="stop-1", kind="stop"))) == []


def test_an_open_run_is_legal_when_somebody_drives_it() -> None:
    seen = with_journal(journal(*COMMITTED[:6]))
    chat = seen["services"]["chat"]
    chat.update(run="first_start-1", last_good=None)
    seen["units"]["vllm-chat.service"]["ActiveState"] = "activating"
    lease = "/run/gpuhosts-vllm/chat/lease"
    assert violations({**seen, "locked": [lease]}, open_run=True) == []
    assert violations(seen, open_run=True) == [f"chat: first_start-1 is open, and nobody holds {lease}"]
    found = violations({**seen, "locked": [lease]})
    assert f"host: {lease} is locked by a process, and nothing is under way" in found
    assert "chat: /run/gpuhosts-vllm/chat/run says that first_start-1 is open" in found


def test_everything_is_said_at_once_with_the_host() -> None:
    class Host:
        """Answers as a host on which two things are wrong."""

        @staticmethod
        def check_output(*_command: str) -> str:
            seen = with_start(1, fault=None)
            seen["left_over"] = ["/etc/.x.1.new"]
            return json.dumps(seen)

    with pytest.raises(AssertionError) as raised:
        assert_legal(Host())  # type: ignore[arg-type]
    assert str(raised.value).splitlines()[:3] == [
        "gpu9 is not in a legal state (2 violations):",
        "  gpu9 host: left-over file /etc/.x.1.new",
        "  gpu9 chat: start 1: its fault is None, neither true nor false",
    ]


REPLACED = (*COMMITTED[:3], "draining intent", "draining done", "stopped intent", "stopped done", *COMMITTED[3:])
GAVE_UP = ("rollback_failed intent", "rollback_failed done")
WENT_BACK = ("rolling_back intent", "rolling_back done", "rolled_back done")


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        *((kind, REPLACED) for kind in ("change", "rollback", "rotate")),
        ("change", (*REPLACED[:10], "starting failed", *WENT_BACK)),
        ("change", (*REPLACED[:4], "draining failed", "aborted done")),
        ("rotate", (*REPLACED[:10], "starting failed", WENT_BACK[0], "rolling_back failed", *GAVE_UP)),
        ("rollback", (*REPLACED[:10], "starting failed", *GAVE_UP)),
        ("rollback", (*REPLACED[:10], "starting failed", GAVE_UP[0], *GAVE_UP)),
    ],
)
def test_what_replaces_a_running_engine_ends_like_this(kind: str, steps: tuple[str, ...]) -> None:
    assert violations(with_journal(journal(*COMMITTED) + journal(*steps, run=f"{kind}-1", kind=kind))) == []


@pytest.mark.parametrize(
    ("kind", "steps", "expected"),
    [
        ("change", COMMITTED, "switched intent cannot follow preflighted done"),
        ("rollback", (*REPLACED[:10], "starting failed", *WENT_BACK), "rolling_back intent cannot follow"),
        ("rollback", (*REPLACED[:4], "draining failed", *GAVE_UP), "rollback_failed intent cannot follow draining"),
        ("rollback", (*REPLACED[:10], "starting failed", GAVE_UP[1]), "rollback_failed done cannot follow starting"),
        ("change", (*REPLACED[:10], "starting failed", *GAVE_UP), "rollback_failed intent cannot follow starting"),
    ],
)
def test_what_replaces_a_running_engine_cannot_end_like_this(kind: str, steps: tuple[str, ...], expected: str) -> None:
    found = violations(with_journal(journal(*COMMITTED) + journal(*steps, run=f"{kind}-1", kind=kind)))
    assert any(expected in line for line in found), found


def test_a_start_that_was_stopped_before_its_first_word_has_no_log():
    cut = {"ending": "stopped", "ready": False, "log_lines": 0}
    kept = with_start(1, **cut)
    for start in kept["services"]["chat"]["starts"].values():
        start["files"].pop("log", None)
    assert not [line for line in violations(kept) if "kept no log" in line]
    for other in ({"log_lines": 3}, {"ready": True}, {"ending": "engine_ended"}):
        kept = with_start(1, **{**cut, **other})
        kept["services"]["chat"]["starts"]["1"]["files"].pop("log", None)
        assert [line for line in violations(kept) if "kept no log" in line], other
