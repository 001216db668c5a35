# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Before anything stops, the arguments are held against what the image itself lists."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.config import history
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import image_options
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.image_options import check_options
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.steps import Context, StepFailed
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.clock import Clock
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.image_options import NoHelp
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, Entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version


class Fixed(Clock):
    """A day that stays."""

    def now(self):
        return "2031-05-31T10:00:00.000Z"


@pytest.fixture
def context(paths, record):
    opened = Entry("t", "r1", "first_start", "staged", DONE, record.id, by="ada")
    return Context(paths, opened, (opened,), clock=Fixed())


@pytest.fixture
def image(monkeypatch):
    """Let the image list what the table has, but for some options."""

    def lists(*without):
        names = [name for name in history.flags(parse_version("0.32.0")) if name not in without]
        text = "options:\n" + "".join(f"  {name} X\n" for name in [*names, "--help"])
        monkeypatch.setattr(image_options, "image_help", lambda *_args, **_more: text)

    return lists


def waive(paths, record, **changes):
    path = paths.release(record.id) / "gate.json"
    waiver = {"id": "FLAG_NOT_IN_IMAGE", "subject": "", "until": "2031-05-31", **changes}
    path.write_text(json.dumps({**json.loads(path.read_text()), "waivers": [waiver]}))


def test_what_the_image_lists_is_fine(context, record, image):
    image()
    assert check_options(context, record) == []
    assert not context.paths.progress.exists()


def test_what_it_does_not_list_stops_the_run_with_the_next_step(context, record, image):
    image("--port")
    with pytest.raises(StepFailed, match=r"does not list --port: .*; what it has: vllm serve --help=all") as caught:
        check_options(context, record)
    assert [each["id"] for each in caught.value.data["findings"]] == ["FLAG_NOT_IN_IMAGE", "TABLE_DIFFERS"]


def test_a_waiver_of_the_inventory_lets_it_pass_until_its_day(context, paths, record, image):
    image("--port")
    waive(paths, record)
    (waived, differs) = check_options(context, record)
    assert (waived["id"], waived["waived_until"], differs["id"]) == ("FLAG_NOT_IN_IMAGE", "2031-05-31", "TABLE_DIFFERS")
    for changes in ({"until": "2031-05-30"}, {"subject": "--other"}, {"id": "VALUE_NOT_IN_IMAGE"}):
        waive(paths, record, **changes)
        with pytest.raises(StepFailed):
            check_options(context, record)


def test_an_image_that_does_not_say_its_options_is_a_warning_that_people_see(context, record, monkeypatch):
    def none(*_args, **_more):
        raise NoHelp("Failed to infer device type")

    monkeypatch.setattr(image_options, "image_help", none)
    (warning,) = check_options(context, record)
    assert (warning["id"], warning["severity"]) == ("image_options_unread", "warning")
    assert "Failed to infer device type" in context.paths.progress.read_text()
