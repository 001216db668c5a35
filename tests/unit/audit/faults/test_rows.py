# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Each fault of published units, compose files and run lines: one subject that shows it, one that nearly does."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.case import Case
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.faults.all import RULES
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.subject import (
    Container,
    HostFacts,
    Publish,
    Subject,
    UnitFile,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.command_line import CommandLine, Given
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

GIB = 1024**3


def line(*words: str) -> CommandLine:
    """A command line of a model and options that each take at most one word."""
    given: list[Given] = []
    for word in words[1:]:
        if word.startswith("--"):
            given.append(Given(word, word))
        else:
            given[-1] = Given(given[-1].name, given[-1].written, (word,))
    return CommandLine(model=words[0], model_is_positional=True, given=tuple(given))


def found(words: str | None = None, version: str = "0.26.0", kind: str = "docker run", **parts: Any) -> set[str]:
    """The ids that all rules find; a unit is written as its text."""
    if isinstance(parts.get("unit"), str):
        parts.update(raw_text=parts["unit"], unit=read_unit(parts["unit"]), kind="unit")
    split = tuple(words.split()) if words else None
    subject = Subject(**{"kind": kind, "name": "chat", "words": split, **parts})
    case = Case(subject, parse_version(version), line(*split) if split else None)
    return {finding.id for rule in RULES for finding in rule.check(case)}


def read_unit(text: str) -> UnitFile:
    """Sections and keys, one a line."""
    section, entries = "", []
    for each in text.splitlines():
        if each.startswith("["):
            section = each.strip("[]")
        elif "=" in each:
            key, value = each.split("=", 1)
            entries.append((section, key, value))
    return UnitFile(tuple(entries))


def run(**parts: Any) -> Container:
    """A container that ``docker run`` starts, on loopback."""
    base = {"image": "vllm/vllm-openai:v0.26.0", "publishes": (Publish("127.0.0.1", "8000", "8000"),)}
    return Container("docker run", **{**base, **parts})


ROWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "api_key_on_command_line": ({"words": "m --api-key k1"}, {"words": "m --port 80"}),
    "attention_backend_env_removed_in_new_vllm": (
        {"env": {"VLLM_ATTENTION_BACKEND": "FLASHINFER"}},
        {"env": {"VLLM_ATTENTION_BACKEND": "FLASHINFER"}, "version": "0.14.1"},
    ),
    "compose_version_key_obsolete": ({"compose_version_key": "3.8"}, {"kind": "compose"}),
    "default_api_key": ({"env": {"VLLM_API_KEY": "token-abc123"}}, {"env": {"VLLM_API_KEY": "q8Zr2mTt0e"}}),
    "disable_log_requests_removed_in_new_vllm": (
        {"words": "m --disable-log-requests"},
        {"words": "m --disable-log-requests", "version": "0.16.0"},
    ),
    "dollar_not_escaped_in_compose": (
        {"kind": "compose", "raw_text": "command: bash -c 'echo $(nproc)'"},
        {"kind": "compose", "raw_text": "command: bash -c 'echo $$(nproc) ${MODEL:-x}'"},
    ),
    "entrypoint_repeated_in_command": (
        {"container": run(), "command": ("vllm", "serve", "m")},
        {"container": run(entrypoint=("",)), "command": ("vllm", "serve", "m")},
    ),
    "execstop_negative_mainpid": (
        {"unit": "[Service]\nExecStop=/bin/kill -TERM -- -$MAINPID"},
        {"unit": "[Service]\nExecStop=/bin/kill -TERM $MAINPID"},
    ),
    "gfx_version_override": ({"env": {"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}}, {"env": {"HIP_VISIBLE_DEVICES": "0"}}),
    "kills_foreign_gpu_processes": (
        {"shell_text": ("nvidia-smi --query-compute-apps=pid --format=csv,noheader | xargs kill -9",)},
        {"shell_text": ("nvidia-smi --query-compute-apps=pid --format=csv,noheader",)},
    ),
    "latest_tag": (
        {"container": run(image="vllm/vllm-openai")},
        {"container": run(image="registry:5000/vllm@sha256:" + "a" * 64)},
    ),
    "listens_on_all_without_api_key": (
        {"words": "m", "container": run(publishes=(Publish("", "8000", "8000"),))},
        {"words": "m", "container": run()},
    ),
    "log_append_without_rotation": (
        {"unit": "[Service]\nStandardOutput=append:/var/log/vllm.log"},
        {"unit": "[Service]\nStandardOutput=journal"},
    ),
    "memory_limit_may_kill_load": (
        {"words": "org/Model-70B", "container": run(memory_bytes=64 * GIB)},
        {"words": "org/Model-8B", "container": run(memory_bytes=64 * GIB)},
    ),
    "misspelt_flag_disable_log_request": (
        {"words": "m --disable-log-request"},
        {"words": "m --disable-log-requests"},
    ),
    "model_does_not_fit_memory": (
        {"words": "org/Model-70B", "host": HostFacts(gpu_memory_bytes=80 * GIB)},
        {"words": "org/Model-70B-AWQ", "host": HostFacts(gpu_memory_bytes=80 * GIB)},
    ),
    "no_gpu_ordering": (
        {"unit": "[Service]\nExecStart=/opt/venv/bin/vllm serve m"},
        {"unit": "[Unit]\nAfter=nvidia-persistenced.service\n[Service]\nExecStart=/opt/venv/bin/vllm serve m"},
    ),
    "no_healthcheck": (
        {"kind": "compose", "container": run()},
        {"kind": "compose", "container": run(has_healthcheck=True, start_period_seconds=900)},
    ),
    "no_ipc_host_or_shm_size": (
        {"words": "m --tensor-parallel-size 2", "container": run()},
        {"words": "m --tensor-parallel-size 2", "container": run(ipc="host")},
    ),
    "no_restart_policy": (
        {"container": run(), "raw_text": "docker run -d --gpus all vllm/vllm-openai:v0.26.0"},
        {"container": run(), "raw_text": "docker run -it --gpus all vllm/vllm-openai:v0.26.0"},
    ),
    "no_served_model_name": ({"words": "/models/a"}, {"words": "/models/a --served-model-name a"}),
    "no_start_limit_restart_loop": (
        {"unit": "[Service]\nRestart=always\nRestartSec=5"},
        {"unit": "[Unit]\nStartLimitIntervalSec=30min\n[Service]\nRestart=always\nRestartSec=10"},
    ),
    "nohup_without_supervisor": (
        {"shell_text": ("nohup vllm serve m > log 2>&1 &",)},
        {"shell_text": ("exec vllm serve m",)},
    ),
    "patches_entrypoint_with_sed": (
        {"shell_text": ("sed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/envs.py",)},
        {"shell_text": ("sed -i s/a/b/ /etc/motd",)},
    ),
    "path_entry_without_slash": (
        {"unit": "[Service]\nEnvironment=PATH=/usr/bin:usr/local/bin"},
        {"unit": "[Service]\nEnvironment=PATH=/usr/bin:/usr/local/bin"},
    ),
    "protecthome_hides_cache": (
        {"unit": "[Service]\nProtectHome=yes\nExecStart=/opt/vllm serve m"},
        {"unit": "[Service]\nProtectHome=yes\nEnvironment=HF_HOME=/var/cache/hf\nExecStart=/opt/vllm serve m"},
    ),
    "proxy_may_break_localhost_health": (
        {"env": {"HTTP_PROXY": "http://p:3128"}},
        {"env": {"HTTP_PROXY": "http://p:3128", "NO_PROXY": "localhost,127.0.0.1"}},
    ),
    "seccomp_unconfined": (
        {"container": run(security_opts=("seccomp=unconfined",))},
        {"container": run(security_opts=("no-new-privileges",))},
    ),
    "sendsigkill_no_can_hang_stop": (
        {"unit": "[Service]\nSendSIGKILL=no"},
        {"unit": "[Service]\nSendSIGKILL=yes"},
    ),
    "shm_size_ignored_with_ipc_host": (
        {"container": run(ipc="host", shm_bytes=GIB)},
        {"container": run(ipc="private", shm_bytes=GIB)},
    ),
    "short_start_period": (
        {"kind": "compose", "container": run(has_healthcheck=True, start_period_seconds=30)},
        {"kind": "compose", "container": run(has_healthcheck=True, start_period_seconds=300)},
    ),
    "short_start_period_for_70b": (
        {"words": "a/M-70B", "kind": "compose", "container": run(has_healthcheck=True, start_period_seconds=300)},
        {"words": "a/M-8B", "kind": "compose", "container": run(has_healthcheck=True, start_period_seconds=300)},
    ),
    "start_limit_keys_in_service_section": (
        {"unit": "[Service]\nStartLimitIntervalSec=600"},
        {"unit": "[Unit]\nStartLimitIntervalSec=600"},
    ),
    "system_unit_wanted_by_default_target": (
        {"unit": "[Service]\nUser=vllm\n[Install]\nWantedBy=default.target"},
        {"unit": "[Service]\nExecStart=%h/bin/vllm\n[Install]\nWantedBy=default.target"},
    ),
    "timeoutstartsec_without_notify": (
        {"unit": "[Service]\nTimeoutStartSec=600\nExecStart=/opt/vllm serve m"},
        {"unit": "[Service]\nType=notify\nTimeoutStartSec=600\nExecStart=/opt/vllm serve m"},
    ),
    "trust_remote_code": ({"words": "m --trust-remote-code"}, {"words": "m --no-trust-remote-code"}),
    "unpinned_pip_install_at_start": (
        {"shell_text": ("pip install -U flashinfer-python && exec vllm serve m",)},
        {"shell_text": ("pip install flashinfer-python==0.2.5 && exec vllm serve m",)},
    ),
    "unquoted_image_and_pwd": (
        {"raw_text": "docker run -v $(pwd)/models:/models vllm/vllm-openai:v0.26.0"},
        {"raw_text": 'docker run -v "$(pwd)/models:/models" vllm/vllm-openai:v0.26.0'},
    ),
    "v0_engine_flag_removed_in_new_vllm": ({"env": {"VLLM_USE_V1": "0"}}, {"env": {"VLLM_USE_V1": "1"}}),
    "restart_on_failure_misses_exit_zero": (
        {"unit": "[Service]\nRestart=on-failure"},
        {"unit": "[Service]\nRestart=always"},
    ),
    "exec_stop_only_cleanup": (
        {"unit": "[Service]\nExecStop=/usr/bin/docker rm -f chat"},
        {"unit": "[Service]\nExecStop=/usr/bin/docker stop chat\nExecStopPost=-/usr/bin/docker rm -f chat"},
    ),
    "docker_run_rm_loses_evidence": ({"container": run(remove=True)}, {"container": run()}),
    "wanted_by_multi_user_with_gate": (
        {"unit": "[Service]\nExecStartPost=/usr/bin/wait-ready chat\n[Install]\nWantedBy=multi-user.target"},
        {"unit": "[Service]\nExecStartPost=/usr/bin/wait-ready chat\n[Install]\nWantedBy=docker.service"},
    ),
    "unit_linked_into_release": (
        {"shell_text": ("ln -sfn /opt/rel/chat.service /etc/systemd/system/chat.service",)},
        {"shell_text": ("install -m 644 chat.service /etc/systemd/system/chat.service",)},
    ),
    "env_file_visible_in_inspect": (
        {"container": run(env_files=("/etc/vllm.env",))},
        {"raw_text": "docker run -e VLLM_LOGGING_LEVEL=INFO vllm/vllm-openai:v0.26.0"},
    ),
}


@pytest.mark.parametrize("row", sorted(ROWS))
def test_fires(row: str) -> None:
    assert row in found(**ROWS[row][0])


@pytest.mark.parametrize("row", sorted(ROWS))
def test_near_miss(row: str) -> None:
    assert row not in found(**ROWS[row][1])


def test_every_row_is_a_rule() -> None:
    assert sorted(ROWS) == sorted(rule.id for rule in RULES)
    assert len(ROWS) == 45


OWN_UNIT = """[Unit]
Requires=docker.service
After=docker.service gpuhosts-vllm-resume.service network-online.target
StartLimitIntervalSec=1800
StartLimitBurst=5
[Service]
Type=exec
NotifyAccess=all
ExecStartPre=/usr/local/bin/vllm-host before-start chat
ExecStart=/var/lib/gpuhosts-vllm/chat/current/run
ExecStartPost=/usr/local/bin/vllm-host wait-ready chat
ExecStop=/usr/local/bin/vllm-host stop-engine chat
ExecStopPost=/usr/local/bin/vllm-host after-stop chat
Restart=always
RestartSec=10
SuccessExitStatus=143
TimeoutStartSec=180
TimeoutStopSec=900
KillMode=mixed
KillSignal=SIGKILL
UMask=0077
[Install]
WantedBy=docker.service
"""


def test_the_unit_of_the_collection_is_silent() -> None:
    assert found(unit=OWN_UNIT) == set()


def test_a_careful_compose_service_is_silent() -> None:
    careful = run(restart="unless-stopped", shm_bytes=16 * GIB, has_healthcheck=True, start_period_seconds=1800.0)
    text = "command: [Qwen/Qwen3-8B, --port, '8000']\nimage: ${REGISTRY:-docker.io}/vllm/vllm-openai:v0.26.0\n"
    assert found("Qwen/Qwen3-8B --port 8000", kind="compose", container=careful, raw_text=text) == set()


def test_nothing_is_said_of_an_empty_subject() -> None:
    assert found() == set()
