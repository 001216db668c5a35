# SPDX-License-Identifier: Apache-2.0
"""The list of system packages, and what is said when they cannot be installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.lab import prerequisites

OS_RELEASE = 'PRETTY_NAME="Ubuntu 24.04 LTS"\nID=ubuntu\nID_LIKE="debian"\n'


def test_it_runs_without_the_projects_environment():
    command = [sys.executable, "-I", "-S", prerequisites.__file__, "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert listed == sorted(listed)
    assert {"docker.io", "debootstrap", "openssh-client", "iptables"} <= set(listed)


def test_ubuntu_counts_as_debian():
    assert prerequisites.distribution(OS_RELEASE) == {"ubuntu", "debian"}


def test_what_is_there_is_not_missing(monkeypatch):
    monkeypatch.setattr(prerequisites, "is_there", lambda need, _path: need.package != "debootstrap")
    assert [need.package for need in prerequisites.missing()] == ["debootstrap"]


def test_without_consent_nothing_is_installed(monkeypatch, capsys):
    monkeypatch.setattr(prerequisites, "is_there", lambda need, _path: need.package != "debootstrap")
    monkeypatch.setattr(prerequisites, "why_not_here", lambda: None)
    monkeypatch.setattr(prerequisites, "agreed", lambda _yes: False)
    monkeypatch.setattr(prerequisites, "apt", lambda _words: pytest.fail("apt was called"))
    assert prerequisites.main(["--install"]) == 1
    said = capsys.readouterr().out
    assert "debootstrap" in said
    assert "nothing was installed" in said


def test_on_a_machine_without_apt_it_says_what_and_stops(monkeypatch, capsys):
    monkeypatch.setattr(prerequisites, "is_there", lambda *_args: False)
    monkeypatch.setattr(prerequisites.shutil, "which", lambda *_args, **_more: None)
    assert prerequisites.main(["--install", "--yes"]) == 1
    assert "neither Debian nor Ubuntu" in capsys.readouterr().out


def test_missing_says_so_by_its_exit_status(monkeypatch, capsys):
    monkeypatch.setattr(prerequisites, "is_there", lambda *_args: True)
    assert prerequisites.main(["--missing"]) == 0
    assert capsys.readouterr().out == ""
