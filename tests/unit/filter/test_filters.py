"""The filters that join a plan with the services, and the human's word."""

from __future__ import annotations

from ansible_collections.gpuhosts.vllm.plugins.action.vllm_confirm import services_on, unheard
from ansible_collections.gpuhosts.vllm.plugins.filter.named import named
from ansible_collections.gpuhosts.vllm.plugins.filter.planned import planned
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.names import names_of

SERVICES = [{"name": "chat", "port": 8000}, {"name": "embed", "port": 8001}]
PLAN = {"plan": [{"name": "chat", "action": "first_start"}, {"name": "embed", "action": "unchanged"}]}


def test_planned_gives_the_services_of_an_action_with_their_plan():
    assert planned(PLAN, SERVICES, ["first_start"]) == [{**SERVICES[0], "plan": PLAN["plan"][0]}]


def test_planned_is_narrowed_by_names_as_a_human_gives_them():
    both = ["first_start", "unchanged"]
    assert [entry["name"] for entry in planned(PLAN, SERVICES, both)] == ["chat", "embed"]
    assert [entry["name"] for entry in planned(PLAN, SERVICES, both, " embed, ")] == ["embed"]
    assert planned(PLAN, SERVICES, both, ["none"]) == []


def test_named_gives_the_entry_or_an_empty_map():
    assert named(SERVICES, "embed") == SERVICES[1]
    assert named(SERVICES, "nobody") == {}


def test_names_are_read_from_a_text_or_a_list_without_repeats():
    assert names_of("chat, embed,chat,") == ["chat", "embed"]
    assert names_of(["chat", " chat "]) == ["chat"]
    assert names_of("") == names_of(None) == []
    assert names_of(3) == ["3"] and names_of(True) == ["True"] and names_of({"a": 1}) == ["{'a': 1}"]


def test_a_missing_word_lists_the_services_there_are():
    assert "Services of these hosts: chat, embed" in unheard("stop", [], {"embed", "chat"})


def test_a_name_that_no_host_has_is_named_beside_those_there_are():
    message = unheard("stop", ["chat", "chst"], {"chat"})
    assert "names chst, which no host" in message
    assert "Services of these hosts: chat." in message


def test_a_good_word_is_heard():
    assert unheard("stop", ["chat"], {"chat", "embed"}) is None


def test_services_that_left_the_inventory_can_be_named_too():
    host = {"vllm_judged": {"services": SERVICES}, "vllm_plan": {"left_inventory": ["old"]}}
    assert services_on(host)["old"] == {"name": "old"}
    assert services_on(host)["chat"] == SERVICES[0]


def test_a_word_that_may_be_missing_may_still_name_only_what_there_is():
    assert unheard("narrow", [], {"chat"}, "vllm_only") is None
    assert unheard("narrow", ["chat"], {"chat"}, "vllm_only") is None
    assert "vllm_only names chst" in str(unheard("narrow", ["chst"], {"chat"}, "vllm_only"))
