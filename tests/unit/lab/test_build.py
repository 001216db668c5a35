# SPDX-License-Identifier: Apache-2.0
"""Recipes of images: equal ingredients have equal tags, and a mirror is no ingredient."""

from __future__ import annotations

import io
import tarfile

import pytest

from tests.lab import build
from tests.lab.debian import Source
from tests.lab.rootfs import Base

RECIPES = [
    build.Recipe("debian13", "base:1", "trixie", common=True),
    build.Recipe("debian13-docker", "base:1", "trixie"),
    build.Recipe("debian12-docker", "base:1", "bookworm", common=True),
    build.Recipe("registry", "base:1", "trixie"),
    build.Recipe("hub", "base:1", "bookworm"),
    build.Recipe("engine-base", "base:1", "bookworm"),
]


def packed(recipe, mirror="http://mirror.example/debian"):
    with tarfile.open(fileobj=io.BytesIO(build.context(recipe, Source(mirror)))) as archive:
        return {member.name: member.mode for member in archive.getmembers()}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_everything_that_a_dockerfile_copies_is_in_its_context(recipe):
    present = packed(recipe)
    copied = [
        word
        for line in recipe.files()["Dockerfile"].decode().splitlines()
        if line.startswith("COPY ")
        for word in line.split()[1:-1]
    ]
    assert all(any(name == word or name.startswith(word) for name in present) for word in copied), copied


def test_the_tag_follows_base_and_files_and_not_the_mirror():
    one, other = RECIPES[0], build.Recipe("debian13", "base:2", "trixie", common=True)
    assert one.tag != other.tag
    assert one.tag == build.Recipe("debian13", "base:1", "trixie", common=True).tag
    assert build.context(one, Source("http://a.example/debian")) != build.context(
        one, Source("http://b.example/debian")
    )


def test_a_base_image_is_named_by_its_suite_and_packages_in_any_order():
    assert Base("trixie", ("a", "b")).tag == Base("trixie", ("b", "a")).tag
    assert Base("trixie", ("a",)).tag != Base("bookworm", ("a",)).tag


def test_programs_of_a_context_may_run():
    assert packed(RECIPES[5])["bin/vllm"] == 0o755
