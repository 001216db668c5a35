# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The small texts in which Linux describes itself."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.facts import Listener, Package
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.parse import (
    container_of,
    parse_cdi,
    parse_listening,
    parse_meminfo,
    parse_os_release,
    parse_packages,
    parse_systemd_version,
    platform_of,
)

OS_RELEASE = """PRETTY_NAME="Debian GNU/Linux 13 (trixie)"
NAME="Debian GNU/Linux"
VERSION_ID="13"
VERSION_CODENAME=trixie
# a comment with an apostrophe isn't read
ID=debian
"""
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def tcp(address, state="0A", inode="4711"):
    return (
        f"   0: {address} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 100\n"
    )


def test_os_release():
    system = parse_os_release(OS_RELEASE)
    assert (system.id, system.version, system.codename) == ("debian", "13", "trixie")
    assert system.pretty == "Debian GNU/Linux 13 (trixie)"
    assert parse_os_release("").pretty == "unknown unknown"


def test_memory():
    assert parse_meminfo("MemTotal:  2048 kB\nMemAvailable: 1024 kB\nHugePages_Total: 0\n") == (2 << 20, 1 << 20)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("systemd 257 (257.9-1~deb13u1)\n+PAM", "257"),
        ("systemd 249 (249.11-0ubuntu3)", "249"),
        ("", None),
        ("System has not", None),
    ],
)
def test_systemd(text, version):
    assert parse_systemd_version(text) == version


def test_platforms():
    assert platform_of("Linux", "x86_64") == "linux/amd64"
    assert platform_of("Linux", "aarch64") == "linux/arm64"
    assert platform_of("Linux", "ppc64le") == "linux/ppc64le"


def test_listening_sockets():
    four = HEAD + tcp("0100007F:1F40") + tcp("00000000:0016", inode="12") + tcp("0100007F:1F41", state="01")
    assert list(parse_listening(four)) == [("4711", Listener("127.0.0.1", 8000)), ("12", Listener("0.0.0.0", 22))]
    six = HEAD + tcp("00000000000000000000000001000000:1F40") + tcp("0" * 32 + ":0050")
    assert [listener for _inode, listener in parse_listening(six)] == [Listener("::1", 8000), Listener("::", 80)]


@pytest.mark.parametrize(
    ("text", "container"),
    [
        (f"0::/system.slice/docker-{'a' * 64}.scope\n", "a" * 64),
        (f"12:pids:/docker/{'b' * 64}\n0::/\n", "b" * 64),
        ("0::/system.slice/ssh.service\n", None),
        ("", None),
    ],
)
def test_the_container_of_a_process(text, container):
    assert container_of(text) == container


YAML = """---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    hooks:
    - hookName: createContainer
      path: /usr/bin/nvidia-cdi-hook
- containerEdits: {}
  name: all
"""
JSON = """{
  "cdiVersion": "0.6.0", "kind": "nvidia.com/gpu",
  "devices": [
    {"name": "0", "containerEdits": {}}, {"name": "GPU-1ab", "containerEdits": {"env": ["A=b"]}}
  ]
}"""


def test_cdi_in_both_forms():
    assert parse_cdi(YAML) == ("0", "all")
    assert parse_cdi(JSON) == ("0", "GPU-1ab")


def test_cdi_of_another_kind():
    assert parse_cdi(YAML.replace("nvidia.com/gpu", "vendor.com/nic")) == ()
    assert parse_cdi("") == ()
    assert parse_cdi("{ not json") == ()


def test_packages():
    text = "docker.io 26.1.5 hold installed\ncontainerd 1.7.24 install installed\nrunc  unknown not-installed\n"
    assert parse_packages(text) == (Package("containerd", "1.7.24", False), Package("docker.io", "26.1.5", True))
