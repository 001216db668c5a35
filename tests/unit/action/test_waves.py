# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The actions of an upgrade read what the plays left for every host, and decide from it alone."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader

from ansible_collections.gpuhosts.vllm.plugins.action import vllm_canary, vllm_changes, vllm_report, vllm_wave

OLD, NEW = "rel-aaaaaaaaaaaa", "rel-bbbbbbbbbbbb"
HOSTS = ["a", "b", "c", "d"]


def host(action="differs", **more):
    """What the plays registered for a host with the service chat."""
    plan = {"name": "chat", "action": action, "reason": "because", "current": OLD, "last_good": OLD, "wanted": NEW}
    plan = {**plan, "next": "do this", "running": {"version": "0.32.0", "args": ["--x"]}, **more}
    content = {"args": ["--x"], "version": "0.32.0"}
    service = {"name": "chat", "image": "i:1", "gate": {"url": "u"}, "secret_names": []}
    return {
        "vllm_judged": {"services": [{**service, "release": {"id": NEW, "content": content}}]},
        "vllm_plan": {"plan": [plan], "left_inventory": []},
        "vllm_confirmed": {"names": ["chat"]},
    }


def act(module, args, me="a", hosts=None, **variables):
    """Run an action on one host of a play."""
    task = MagicMock(args=args, async_val=0, check_mode=False, environment=[])
    action = module.ActionModule(task, MagicMock(), MagicMock(), DataLoader(), MagicMock(), MagicMock())
    fleet = hosts or {name: host() for name in HOSTS}
    known = {"ansible_play_hosts": list(fleet), "ansible_play_hosts_all": list(fleet), "ansible_play_batch": [me]}
    groups = {"all": list(fleet)}
    mine = {**fleet[me], "inventory_hostname": me, "hostvars": fleet, "groups": groups}
    return action.run(task_vars={**mine, **known, **variables})


def ended(result):
    """A host whose run ended so."""
    return {**host(), "vllm_upgraded": {"runs": {"chat": {"result": result, "release": NEW}}}}


def test_what_changes_is_chosen_with_its_plan_and_in_short():
    result = act(vllm_changes, {"names": "chat"})
    assert [entry["plan"]["action"] for entry in result["services"]] == ["differs"]
    assert result["runs"] == [{"name": "chat", "release": {"id": NEW}}]
    assert act(vllm_changes, {"names": ["chat"]}, hosts={"a": host("unchanged", wanted=OLD)})["runs"] == []


def test_all_that_cannot_change_is_said_at_once_and_a_host_that_was_not_reached_is_one_of_it():
    fleet = {"a": host(), "b": host("frozen"), "c": {**host(), "vllm_plan": {}}, "d": {"vllm_judged": {"services": []}}}
    with pytest.raises(AnsibleActionFail) as failure:
        act(vllm_changes, {"names": "chat"}, hosts=fleet, ansible_play_hosts=["a", "b"])
    assert str(failure.value).splitlines() == [
        "no host was changed. b: chat: frozen: because. Next: do this",
        "c: it could not be looked at, and has chat. Next: bring it back, or use --limit '!c'",
    ]


@pytest.mark.parametrize(
    ("earlier", "batch", "halted"),
    [
        ({}, ["a"], []),
        ({"a": ended("committed")}, ["b", "c"], []),
        ({"a": ended("rolled_back")}, ["b", "c"], ["a"]),
        ({"a": ended("committed")}, ["c", "d"], ["b"]),  # b has no result at all
        ({"a": ended("committed"), "b": host("unchanged", wanted=OLD)}, ["c", "d"], []),
        ({"a": {}, "b": ended("committed")}, ["c", "d"], []),  # a host without the service
    ],
)
def test_a_wave_goes_when_all_hosts_before_it_committed(earlier, batch, halted):
    fleet = {name: earlier.get(name, host()) for name in HOSTS}
    result = act(vllm_wave, {}, me=batch[0], hosts=fleet, ansible_play_batch=batch)
    assert (result["go_on"], result["halted_by"], result["canary"]) == (not halted, halted, batch[0] == "a")


def test_a_run_that_waits_is_found_and_later_notes_win():
    changing = {"services": act(vllm_changes, {"names": "chat"})["services"]}
    waits = {"item": {"name": "chat"}, "finished": False, "awaits_confirm": True, "changed": True}
    noted = act(vllm_wave, {"runs": [waits]}, vllm_changing=changing)
    assert noted["waiting"] == [{"name": "chat"}]
    done = {"item": {"name": "chat"}, "finished": True, "result": "committed"}
    noted = act(vllm_wave, {"runs": [done]}, vllm_changing=changing, vllm_upgraded=noted)
    assert (noted["waiting"], noted["runs"]["chat"]["result"]) == ([], "committed")
    noted = act(vllm_wave, {"runs": []}, vllm_changing=changing, vllm_upgraded=noted)
    assert noted["runs"]["chat"]["result"] == "committed"


def measured(seconds, tokens=1000, claims=()):
    findings = [{"id": each, "severity": "error", "subject": "chat", "message": "no"} for each in claims]
    facts = {"kv_cache_tokens": tokens, "request_seconds": [9.0, *[seconds] * 5]}
    return {"item": {"name": "chat"}, "findings": findings, "facts": facts}


@pytest.mark.parametrize(
    ("now", "problem"),
    [
        (measured(0.1), None),
        (measured(0.1, claims=["claim_fits"]), "claims: claim_fits"),
        (measured(0.1, tokens=900), "KV tokens, as itself before: 900"),
        (measured(0.5), "latency, median of 5: 0.500 s"),
        ({"item": {"name": "chat"}, "unreachable": True}, "claims: not verified"),
    ],
)
def test_the_canary_is_compared_with_what_was_measured_before(now, problem):
    before = {"vllm_measured": {"results": [measured(0.1)]}}
    fleet = {name: {**host(), **before} for name in HOSTS}
    result = act(vllm_canary, {"services": [{"name": "chat"}], "now": [now]}, hosts=fleet)
    assert result["holds"] is (problem is None)
    if problem:
        assert result["problems"][0].startswith(f"chat: {problem}")


def test_the_report_fails_for_what_did_not_commit_and_names_the_way_back(capsys, tmp_path):
    fleet = {"a": ended("committed"), "b": ended("rolled_back"), "c": host(), "d": {**host(), "vllm_confirmed": {}}}
    args = {"title": "Upgrade", "show": ["change"], "only": ["chat"], "write_to": str(tmp_path / "report")}
    result = act(vllm_report, args, hosts=fleet)
    assert (result["failed"], result["msg"]) == (True, "Upgrade failed; the report above says what to do first")
    assert '"result": "untouched"' in (tmp_path / "report").read_text(encoding="utf-8")
    said = capsys.readouterr().out
    assert "Upgrade: 3 services on 3 hosts, 1 error." in said
    assert "ERROR not_committed [b chat] did not commit: rolled back" in said
    assert "    ansible-playbook gpuhosts.vllm.rollback --limit a -e vllm_confirm=chat" in said.splitlines()
