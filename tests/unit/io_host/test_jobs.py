# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Long work that goes on by itself: real scripts, without systemd."""

from __future__ import annotations

import subprocess
import time

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.jobs import Job, start, wait


def detached(argv, **options):
    """Do what setsid or systemd-run would do."""
    detached.argv = argv
    subprocess.Popen(argv[-2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    return Result(tuple(argv), 0, "", "")


@pytest.fixture
def job(tmp_path):
    return Job("pull-1", str(tmp_path))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_job_ends_with_its_status_and_its_log(job):
    start(job, "echo hello; cat in/what; exit 3", {"in/what": ("there", 0o644)}, runner=detached)
    assert wait(job, 10)
    assert (job.status(), job.log()) == (3, "hello\nthere")
    job.forget()
    assert not job.folder.exists()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_secrets_are_for_the_job_only_and_end_with_it(job):
    start(job, "cat secret/token; sleep 1", {"secret/token": ("hf_x", 0o600)}, runner=detached)
    assert (job.secret.stat().st_mode & 0o777, (job.secret / "token").stat().st_mode & 0o777) == (0o700, 0o600)
    assert job.folder.stat().st_mode & 0o777 == 0o700
    assert "hf_x" not in (job.folder / "script").read_text() + " ".join(detached.argv)
    assert wait(job, 10)
    assert not job.secret.exists()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_wait_ends_before_the_job_does(job):
    began = time.monotonic()
    start(job, "sleep 2", {}, runner=detached)
    assert job.running()
    assert not wait(job, 0.2)
    assert time.monotonic() - began < 1.9
    assert wait(job, 10)


def test_a_job_that_was_ended_from_outside_has_no_status(job):
    job.folder.mkdir(parents=True)
    (job.folder / "pid").write_text("1\n")
    assert not job.running(), "pid 1 is another process"
    assert job.status() is None


def test_a_job_that_could_not_begin_says_so(job):
    refused = start(job, "true", {}, runner=lambda argv, **options: Result(tuple(argv), 1, "", "no bus"))
    assert (refused.ok, refused.err) == (False, "no bus")


def test_the_work_is_removed_from_reach_of_its_caller(job):
    asked = []

    def runner(argv, **options):
        asked.append(list(argv))
        (job.folder / "pid").write_text("1\n")
        return Result(tuple(argv), 0, "", "")

    start(job, "true", {}, runner=runner)
    assert asked[0][0] in ("systemd-run", "setsid")
    assert asked[0][-1] == str(job.folder / "script")
