"""The lock action's parts: which images a fleet uses, and what a registry's answer becomes."""

from __future__ import annotations

from ansible_collections.gpuhosts.vllm.plugins.action.vllm_lock import difference, images_of, read_lock, resolved_images
from ansible_collections.gpuhosts.vllm.plugins.module_utils.lock import render_lock, update_lock

INDEX, CHILD = "sha256:" + "a" * 64, "sha256:" + "b" * 64
AMD = {"linux/amd64": {"digest": CHILD, "compressed_bytes": 7}}


def service(image, state="started"):
    return {"image": image, "state": state}


def test_the_images_are_those_of_all_hosts_without_the_absent_ones():
    variables = {
        "ansible_play_hosts_all": ["a", "b"],
        "hostvars": {
            "a": {"vllm_judged": {"services": [service("x:1"), service("gone:1", "absent")]}},
            "b": {"vllm_judged": {"services": [service("y:1"), service("x:1", "stopped")]}},
        },
    }
    assert images_of(variables) == ["x:1", "y:1"]


def test_an_index_is_locked_with_its_platforms():
    found = resolved_images([{"image": "x:1", "index_digest": INDEX, "manifest_digest": INDEX, "platforms": AMD}])
    assert found["x:1"].index == INDEX
    assert dict(found["x:1"].platforms)["linux/amd64"].digest == CHILD


def test_a_single_image_without_an_index_is_locked_as_itself():
    found = resolved_images([{"image": "x:1", "index_digest": None, "manifest_digest": CHILD, "platforms": AMD}])
    assert found["x:1"].index == CHILD


def test_what_was_written_is_read_back_and_the_change_is_shown(tmp_path):
    path = tmp_path / "vllm.lock.yml"
    empty, before = read_lock(path)
    results = [{"image": "x:1", "index_digest": INDEX, "manifest_digest": INDEX, "platforms": AMD}]
    lock = update_lock(empty, resolved_images(results))
    path.write_text(render_lock(lock))
    again, after = read_lock(path)
    assert again == lock
    assert f"+    index: {INDEX}" in difference(path, before, after)
