"""Which unit starts a container, and which server a service takes over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.adopt.propose import propose
from ansible_collections.gpuhosts.vllm.plugins.module_utils.adopt.takeover import match
from ansible_collections.gpuhosts.vllm.plugins.module_utils.adopt.units import parse_units, unit_of_cgroup, with_unit
from tests.unit.adopt.inspected import seen

SHOWN = """Id=chat.service
LoadState=loaded
ActiveState=active
UnitFileState=enabled
WorkingDirectory=
ExecStart={ path=/usr/bin/docker ; argv[]=/usr/bin/docker run --rm --name chat vllm/vllm-openai:v0.32.0 ; pid=1 }

Id=llm.service
LoadState=loaded
ActiveState=active
UnitFileState=disabled
WorkingDirectory=/srv/llm
ExecStart={ path=/usr/bin/docker ; argv[]=/usr/bin/docker compose up -d ; ignore_errors=no ; pid=0 }

Id=gone.service
LoadState=not-found
ActiveState=inactive

Id=vllm-ours.service
LoadState=loaded
ActiveState=active
ExecStart={ path=/var/lib/x ; argv[]=/var/lib/gpuhosts-vllm/ours/current/run ; pid=1 }
"""
UNITS = parse_units(SHOWN)
COMPOSE = {
    "com.docker.compose.project": "llm",
    "com.docker.compose.service": "vllm",
    "com.docker.compose.project.working_dir": "/srv/llm",
    "com.docker.compose.project.config_files": "/srv/llm/compose.yml",
}


def test_units_are_read_with_what_they_start() -> None:
    assert [(unit.name, unit.enabled, unit.is_ours) for unit in UNITS] == [
        ("chat.service", True, False),
        ("llm.service", False, False),
        ("vllm-ours.service", False, True),
    ]


def test_a_unit_is_found_by_its_words_its_project_and_its_client() -> None:
    chat, other = seen(), seen(name="other")
    project, beside = (
        seen(name="llm-vllm-1", config={"Labels": COMPOSE}),
        seen(name="llm-web-1", config={"Labels": COMPOSE}),
    )
    found = with_unit([chat, project, beside, other], UNITS, [("script.service", ("docker", "run", "--name", "other"))])
    assert (found[chat.id].name, found[chat.id].enabled, found[chat.id].others) == ("chat.service", True, ())
    assert (found[project.id].name, found[project.id].others) == ("llm.service", ("llm-web-1",))
    assert found[other.id].name == "script.service"
    assert with_unit([seen(name="nobody")], UNITS, []) == {}


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("0::/system.slice/chat.service\n", "chat.service"),
        ("0::/system.slice/docker.service\n", None),
        ("12:cpu:/system.slice/llm.service\n1:name=systemd:/system.slice/llm.service\n", "llm.service"),
        ("0::/user.slice/user-0.slice/session-1.scope\n", None),
    ],
)
def test_the_unit_of_a_process_is_in_its_cgroup(text: str, unit: str | None) -> None:
    assert unit_of_cgroup(text) == unit


def service(**changes: object) -> dict[str, object]:
    return {"name": "talk", "port": 8000, "bind": "127.0.0.1", **changes}


def test_a_service_takes_over_what_listens_where_it_will() -> None:
    proposals = [propose(seen(told={"start_seconds": 84.0}), "chat"), propose(seen(name="b", NetworkMode="host"), "b")]
    found = match(service(), proposals[:1], ("chat",), ("chat.service",))
    assert (found.refused, found.running["container"]) == (None, "chat")
    assert found.says[0] == "talk takes over chat with a restart: one supervisor only can own a container"
    assert "the stop (10 s at most) and one start (its last start took 84 s)" in found.says[2]
    nobody = match(service(port=9000), proposals, (), ())
    assert "no server that is not ours listens on 127.0.0.1:9000. Servers here: chat on port 8000" in str(
        nobody.refused
    )


@pytest.mark.parametrize(
    ("containers", "units", "accepted", "parts", "refused"),
    [
        (("chat", "vllm-talk"), (), (), {}, "a container has the name vllm-talk already"),
        (("chat",), ("vllm-talk.service",), (), {}, "vllm-talk.service is a unit that is not ours"),
        (("chat-before-adoption",), (), (), {}, "docker rm chat-before-adoption"),
        (("chat",), (), (), {"AutoRemove": True}, "go on with -e vllm_accept_no_rollback=talk"),
        (("chat",), (), ("talk",), {"AutoRemove": True}, None),
    ],
)
def test_what_forbids_a_take_over_is_said(containers, units, accepted, parts, refused) -> None:
    found = match(service(), [propose(seen(**parts), "chat")], containers, units, accepted)
    assert (found.refused is None) if refused is None else (refused in str(found.refused))


def test_a_unit_that_starts_more_is_not_taken_over() -> None:
    shared = propose(seen(), "chat")
    running = {**shared.running, "unit": "llm.service", "shared_with": ["web"]}
    found = match(service(), [replace(shared, running=running)], ("chat",), ())
    assert found.refused == "the unit llm.service starts web as well; give chat a unit of its own first"
