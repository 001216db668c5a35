# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The action that judges a host's inventory: its result, its failure, and what never leaves it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from ansible.parsing.dataloader import DataLoader

from ansible_collections.gpuhosts.vllm.plugins.action.vllm_services import ActionModule
from ansible_collections.gpuhosts.vllm.plugins.module_utils.lock import (
    Lock,
    LockedImage,
    LockedPlatform,
    render_lock,
)

TREE = Path(sys.modules[ActionModule.__module__].__file__ or "").parents[5]
SECRET = "planted-secret-0123456789"
IMAGE = "vllm/vllm-openai:v0.32.0"
INDEX = "sha256:" + "a" * 64
LOCK = Lock({IMAGE: LockedImage(INDEX, (("linux/amd64", LockedPlatform("sha256:" + "b" * 64)),))})


def chat(**changes):
    return {"chat": {"image": IMAGE, "model": "/srv/m", "port": 8000, **changes}}


@pytest.fixture
def act(tmp_path):
    """Run the action on a host whose inventory lies in a folder of its own."""

    def run(**args):
        task = MagicMock(args=args, async_val=0, check_mode=False, environment=[])
        action = ActionModule(task, MagicMock(), MagicMock(), DataLoader(), MagicMock(), MagicMock())
        return action.run(task_vars={"inventory_hostname": "gpu1", "inventory_dir": str(tmp_path)})

    (tmp_path / "vllm.lock.yml").write_text(render_lock(LOCK), encoding="utf-8")
    return run


def test_a_right_inventory_gives_its_services(act):
    result = act(services=chat(), secrets={"chat": {"VLLM_API_KEY": SECRET}})
    assert result["changed"] is False
    (entry,) = result["services"]
    assert (entry["index_digest"], entry["secret_names"]) == (INDEX, ["VLLM_API_KEY"])
    assert result["warnings"] == []
    assert [note["severity"] for note in result["notes"]] == ["info"]
    assert SECRET not in str(result)


@pytest.mark.parametrize("services", [{}, None])
def test_no_services_are_no_failure(act, services):
    assert act(services=services) == {"changed": False, "services": [], "notes": [], "warnings": []}


def test_a_wrong_inventory_fails_once_with_everything(act):
    result = act(services=chat(port="8000", zz=1), defaults={"prot": 1})
    assert (result["failed"], result["changed"]) == (True, False)
    assert result["msg"].startswith("The inventory of gpu1 has 3 problems; nothing was changed on any host.\n")
    assert "host gpu1, service chat, port: '8000'" in result["msg"]
    assert [problem["key"] for problem in result["problems"]] == ["prot", "zz", "port"]
    assert all(problem["host"] == "gpu1" and problem["next"] for problem in result["problems"])


@pytest.mark.parametrize("require", [False, "false", "no"])
def test_an_image_without_a_lock_is_a_failure_unless_told(act, require):
    result = act(services=chat(), lock_file="other.yml")
    assert "ansible-playbook gpuhosts.vllm.lock" in result["msg"]
    (entry,) = act(services=chat(), lock_file="other.yml", require_lock=require)["services"]
    assert entry["release"] is None


def test_a_lock_file_that_is_no_yaml_is_said(act, tmp_path):
    (tmp_path / "broken.yml").write_text("a: [", encoding="utf-8")
    result = act(services=chat(), lock_file="broken.yml")
    assert [problem["service"] for problem in result["problems"]] == ["vllm.lock.yml"]


def test_what_deserves_a_warning_is_one(act):
    wrong = chat(config={"max-modle-len": 1})
    failed = act(services=wrong)
    assert "host gpu1, service chat, config.max-modle-len: " in failed["msg"]
    assert "FLAG_UNKNOWN" in failed["msg"]
    (warning,) = act(services=wrong, audit_stops=False)["warnings"]
    assert "max-model-len" in warning
    entry = {"id": "FLAG_UNKNOWN", "service": "chat", "reason": "our build", "owner": "ada", "until": "2999-12-31"}
    passed = act(services=wrong, waivers=[entry])
    assert (passed["warnings"], passed["notes"][0]["waived_until"]) == ([], "2999-12-31")


PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Judge
      gpuhosts.vllm.vllm_services:
        services: "{{ vllm_services }}"
        secrets: "{{ vllm_secrets }}"
        require_lock: false
      loop: [1]
    - name: Control
      ansible.builtin.debug:
        msg: "{{ vllm_secrets }}"
      when: control | bool
"""
HOSTS = f"""
all:
  vars:
    ansible_connection: local
    vllm_secrets: {{chat: {{VLLM_API_KEY: {SECRET}}}}}
  hosts:
    right:
      vllm_services:
        chat: {{image: "{IMAGE}", model: /srv/m, port: 8000}}
    wrong:
      vllm_services:
        chat:
          image: "{IMAGE}"
          model: /srv/m
          port: 8000
          env: {{A: "{{{{ vllm_secrets.chat.VLLM_API_KEY }}}}"}}
"""


@pytest.mark.parametrize("control", [False, True])
def test_no_secret_is_in_ansibles_output_and_the_search_finds_one_that_is(tmp_path, control):
    (tmp_path / "play.yml").write_text(PLAY, encoding="utf-8")
    (tmp_path / "hosts.yml").write_text(HOSTS, encoding="utf-8")
    command = ["ansible-playbook", "-vvvvv", "-i", "hosts.yml", "play.yml", "-e", f"control={control}"]
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(TREE),
        "ANSIBLE_DISPLAY_ARGS_TO_STDOUT": "1",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    output = done.stdout + done.stderr
    assert '"secret_names": ["VLLM_API_KEY"]' in " ".join(output.split()).replace("[ ", "[").replace(" ]", "]")
    assert "the value of vllm_secrets.chat.VLLM_API_KEY" in output
    assert (SECRET in output) is control
