# SPDX-License-Identifier: Apache-2.0
"""What differs between two looks at a host."""

from __future__ import annotations

from tests.lab.snapshots import Snapshot, differences

FILE = {"mode": "0o644", "owner": "root:root", "sha256": "aa"}


def look(**more: object) -> Snapshot:
    return Snapshot("gpu1", **more)  # type: ignore[arg-type]


def test_two_equal_looks_differ_in_nothing() -> None:
    one = look(files={"/etc/a": FILE}, docker={"reachable": True, "images": ["x"]})
    assert differences(one, look(files={"/etc/a": dict(FILE)}, docker={"reachable": True, "images": ["x"]})) == []


def test_files_that_came_went_and_changed_are_named() -> None:
    before = look(files={"/etc/a": FILE, "/etc/b": FILE})
    after = look(files={"/etc/a": {**FILE, "mode": "0o600"}, "/etc/c": FILE})
    assert differences(before, after) == [
        "appeared: file /etc/c (mode=0o644 owner=root:root sha256=aa)",
        "changed: file /etc/a: mode=0o644 owner=root:root sha256=aa -> mode=0o600 owner=root:root sha256=aa",
        "went: file /etc/b (mode=0o644 owner=root:root sha256=aa)",
    ]


def test_a_restart_shows_as_another_invocation() -> None:
    before = look(units={"vllm-chat.service": {"InvocationID": "1"}})
    after = look(units={"vllm-chat.service": {"InvocationID": "2"}})
    assert differences(before, after) == ["changed: unit vllm-chat.service InvocationID: 1 -> 2"]


def test_images_packages_and_holds_count() -> None:
    after = look(docker={"images": ["vllm:1"]}, packages=("docker.io=26 ii",), held=("docker.io",))
    assert differences(look(docker={"images": []}), after) == [
        "appeared: docker images vllm:1 (present)",
        "appeared: hold docker.io (present)",
        "appeared: package docker.io=26 ii (present)",
    ]
