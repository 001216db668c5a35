# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The lock file's text, and what an update may and may not touch."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.gpuhosts.vllm.plugins.module_utils.lock import (
    Lock,
    LockedImage,
    LockedPlatform,
    LockError,
    parse_lock,
    render_lock,
    unlocked,
    update_lock,
)

A, B, C, D = ("sha256:" + letter * 64 for letter in "abcd")
V31, V32 = "vllm/vllm-openai:v0.31.0", "registry.example:5443/vllm/vllm-openai:v0.32.0"


def image(index=A, **platforms):
    found = platforms or {"amd64": B, "arm64": C}
    return LockedImage(index, tuple((f"linux/{name}", LockedPlatform(digest, 5)) for name, digest in found.items()))


def test_what_is_written_is_read_back():
    lock = Lock({V32: image(), V31: LockedImage(D, (("linux/amd64", LockedPlatform(D)),))})
    assert parse_lock(yaml.safe_load(render_lock(lock))) == lock


def test_the_text_does_not_depend_on_the_order():
    one, two = image(), image(D)
    assert render_lock(Lock({V31: one, V32: two})) == render_lock(Lock({V32: two, V31: one}))


def test_a_changed_tag_is_a_change_of_its_own_lines():
    before = render_lock(Lock({V31: image(), V32: image()})).splitlines()
    after = render_lock(Lock({V31: image(), V32: image(D)})).splitlines()
    assert len(before) == len(after)
    assert sum(one != other for one, other in zip(before, after)) == 1


@pytest.mark.parametrize("data", [None, {"schema": 1, "images": {}}])
def test_an_empty_file_is_an_empty_lock(data):
    assert parse_lock(data) == Lock()
    assert parse_lock(yaml.safe_load(render_lock(Lock()))) == Lock()


def test_only_what_is_missing_or_named_is_asked_for():
    lock = Lock({V31: image()})
    assert unlocked(lock, [V31, V32]) == [V32]
    assert unlocked(lock, [V31, V32], [V31]) == sorted([V31, V32])
    with pytest.raises(LockError, match=r"names v:1, which no service uses.*v0\.31\.0"):
        unlocked(lock, [V31], ["v:1"])


def test_an_entry_that_is_there_stays_unless_it_is_named():
    lock = Lock({V31: image()})
    resolved = {V31: image(D), V32: image(D)}
    assert update_lock(lock, resolved).images == {V31: image(), V32: image(D)}
    assert update_lock(lock, resolved, [V31]).images == resolved
    assert lock.images == {V31: image()}


def test_the_digest_of_one_platform_is_not_taken_for_the_index():
    with pytest.raises(LockError, match="hosts of another architecture"):
        update_lock(Lock(), {V31: image(B)})
    with pytest.raises(LockError, match="hosts of another architecture"):
        parse_lock(entry(index=B, platforms={"linux/amd64": {"digest": B}, "linux/arm64": {"digest": C}}))


def test_a_tag_that_is_one_image_is_locked_as_itself():
    assert update_lock(Lock(), {V31: image(B, amd64=B)}).images[V31].index == B


def entry(**parts):
    """A lock file with one entry, right but for ``parts``."""
    whole = {"index": A, "platforms": {"linux/amd64": {"digest": B}}, **parts}
    return {"schema": 1, "images": {V31: whole}}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "not a lock file"),
        ({"schema": 2, "images": {}}, "not a lock file"),
        ({"schema": 1, "images": []}, "not a lock file"),
        ({"schema": 1, "images": {V31: None}}, "expected index and platforms"),
        ({"schema": 1, "images": {"no-tag": entry()["images"][V31]}}, "with its tag"),
        ({"schema": 1, "images": {1: {}}}, "with its tag"),
        (entry(index="sha256:abc"), "not a digest"),
        (entry(index=A[:-1] + "G"), "not a digest"),
        (entry(index=7), "not a digest"),
        (entry(platforms=None), "expected a digest for each platform"),
        (entry(platforms={"amd64": {"digest": B}}), "such as linux/amd64"),
        (entry(platforms={"linux/amd64": B}), "expected digest"),
        (entry(pull=1), "no such key"),
        (entry(platforms={"linux/amd64": {"digest": B, "compressed_bytes": -1}}), "not a number of bytes"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_words(data, said):
    with pytest.raises(LockError) as caught:
        parse_lock(data)
    assert any(said in problem for problem in caught.value.problems), caught.value.problems
