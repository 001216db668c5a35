# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Docker's configuration: merged, and never restarted under a service."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.daemon import (
    Logs,
    Situation,
    certificate_server,
    daemon_keys,
    may_restart,
    merge,
    pending_text,
    plan_change,
    proxy_dropin,
    require_no_conflict,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.refusal import Refusal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.settings import registry_settings

PATH = "/etc/docker/daemon.json"
LOGS = Logs("50m", 3)


def test_foreign_keys_stay_and_lists_get_what_they_lack():
    present = {"bip": "10.0.0.1/24", "log-opts": {"tag": "x"}, "registry-mirrors": ["http://old"], "debug": True}
    wanted = {"log-opts": {"max-size": "50m"}, "registry-mirrors": ["http://new"], "debug": False}
    assert merge(present, wanted) == {
        "bip": "10.0.0.1/24",
        "log-opts": {"tag": "x", "max-size": "50m"},
        "registry-mirrors": ["http://new", "http://old"],
        "debug": False,
    }


def test_the_second_time_nothing_changes():
    wanted = daemon_keys(registry_settings({"mirror": "http://m", "insecure": ["r:5000"]}), LOGS, True, {"mtu": 1400})
    first = plan_change('{"bip": "10.0.0.1/24"}', PATH, wanted)
    assert json.loads(first.after)["features"] == {"cdi": True}
    second = plan_change(first.after, PATH, wanted)
    assert (second.before, second.reload, second.restart) == (second.after, (), ())


def test_another_layout_is_no_change():
    text = '{"debug":true}'
    assert plan_change(text, PATH, {"debug": True}).after == text


def test_what_is_reloaded_and_what_waits():
    wanted = daemon_keys(registry_settings({"mirror": "http://m"}), LOGS, False, {"debug": True})
    change = plan_change("", PATH, wanted)
    assert change.reload == ("debug", "registry-mirrors")
    assert change.restart == ("log-driver", "log-opts")


@pytest.mark.parametrize(
    ("features", "late"),
    [({"buildkit": True}, ()), ({"cdi": True}, ("features",)), ({"containerd-snapshotter": True}, ("features",))],
)
def test_some_features_wait_for_a_restart(features, late):
    assert plan_change("", PATH, {"features": features}).restart == late


def test_log_options_never_go_to_a_driver_that_does_not_know_them():
    keys = daemon_keys(registry_settings({}), LOGS, False, {"log-driver": "journald"})
    assert keys == {"log-driver": "journald"}


@pytest.mark.parametrize("text", ["{", "[]", '"x"', '{"a": 1,}'])
def test_a_broken_file_is_never_replaced(text):
    with pytest.raises(Refusal) as stop:
        plan_change(text, PATH, {"debug": True})
    assert stop.value.finding.id == "daemon_json"
    assert PATH in stop.value.finding.subject


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        ("/usr/sbin/dockerd -H fd:// --log-driver=journald", {"log-driver": "json-file"}),
        ("dockerd --registry-mirror http://x", {"registry-mirrors": []}),
        ("dockerd -H fd://", {"hosts": ["fd://"]}),
    ],
)
def test_an_option_in_both_places_is_refused(command, keys):
    with pytest.raises(Refusal, match="both places"):
        require_no_conflict(command.split(), keys, PATH)


def test_options_of_others_are_no_conflict():
    command = ["/usr/sbin/dockerd", "-H", "fd://", "--containerd=/run/c.sock"]
    assert require_no_conflict(command, {"log-driver": "x"}, PATH) is None


@pytest.mark.parametrize(
    ("situation", "allowed", "may"),
    [
        (Situation(True, 0, (), ()), False, True),
        (Situation(True, 2, (), ()), False, False),
        (Situation(True, 2, (), ()), True, True),
        (Situation(True, 0, (), ("chat",)), False, False),
        (Situation(True, 0, (), ("chat",)), True, True),
        (Situation(True, 1, ("chat",), ("chat",)), False, False),
        (Situation(True, 1, ("chat",), ("chat",)), True, False),
        (Situation(False, 0, (), ()), True, False),
    ],
)
def test_docker_is_never_restarted_under_a_service(situation, allowed, may):
    assert may_restart(situation, allowed) is may


def test_what_waits_is_said_with_the_next_command():
    running = pending_text(["log-opts"], Situation(True, 1, ("chat",), ("chat",)), "vllm_restart_docker")
    assert "log-opts" in running
    assert "gpuhosts.vllm.stop -e vllm_confirm=chat" in running
    assert "-e vllm_restart_docker=<this host>" in pending_text(
        ["x"], Situation(True, 3, (), ()), "vllm_restart_docker"
    )
    assert "does not answer" in pending_text(["x"], Situation(False, 0, (), ()), "vllm_restart_docker")


def test_the_proxy_goes_to_a_drop_in_and_away_again():
    text = proxy_dropin(registry_settings({"proxy": "http://p:3128/100%", "no_proxy": ["a", "b"]}), "")
    assert 'Environment="HTTPS_PROXY=http://p:3128/100%%"' in text
    assert 'Environment="NO_PROXY=a,b"' in text
    none = registry_settings({})
    assert proxy_dropin(none, "") == ""
    assert "Environment" not in proxy_dropin(none, text)


@pytest.mark.parametrize(
    ("given", "server"),
    [
        ({}, None),
        ({"ca_cert": "PEM", "server": "own.example:5443"}, "own.example:5443"),
        ({"ca_cert": "PEM", "mirror": "https://mirror.example:8443/x"}, "mirror.example:8443"),
        ({"ca_cert": "PEM"}, "docker.io"),
    ],
)
def test_whose_ca_it_is(given, server):
    assert certificate_server(registry_settings(given)) == server
