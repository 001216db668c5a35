# SPDX-License-Identifier: Apache-2.0
"""The stand-in nvidia-smi and the CDI specification that hands it out."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.lab import build

FOLDER = build.FOLDER / "debian13-docker"


@pytest.fixture
def program(tmp_path):
    for source in (FOLDER / "bin" / "nvidia-smi", FOLDER / "gpus.json"):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    return tmp_path / "nvidia-smi"


def call(program, *words, **env):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LAB_GPU_")}
    command = [sys.executable, str(program), *words]
    return subprocess.run(command, env={**clean, **env}, capture_output=True, text=True, check=False)


def test_the_query_that_the_collection_asks_is_answered(program):
    done = call(program, "--query-gpu=index,uuid,name,memory.total,driver_version", "--format=csv,noheader,nounits")
    rows = [line.split(", ") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["0", "1"]
    assert rows[0][2:] == ["NVIDIA L40S", "46068", "580.95.05"]


def test_units_and_header_are_there_unless_told(program):
    done = call(program, "--query-gpu=memory.total", "--format=csv")
    assert done.stdout.splitlines() == ["memory.total", "46068 MiB", "46068 MiB"]


def test_a_container_sees_what_was_handed_out(program):
    assert len(call(program, "-L").stdout.splitlines()) == 2
    assert call(program, "-L", LAB_GPU_1="1").stdout.startswith("GPU 1: NVIDIA L40S (UUID: GPU-")
    assert len(call(program, "-L", LAB_GPU_ALL="1").stdout.splitlines()) == 2


def test_a_lost_driver_is_imitated(program):
    gpus = json.loads((program.parent / "gpus.json").read_text(encoding="utf-8"))
    (program.parent / "gpus.json").write_text(json.dumps({**gpus, "says": "No devices were found", "exit": 6}))
    done = call(program, "-L")
    assert (done.returncode, done.stdout) == (6, "No devices were found\n")


def test_unknown_fields_and_words_fail(program):
    assert call(program, "--query-gpu=nothing", "--format=csv").returncode == 2
    assert call(program, "--reset").returncode == 1


def test_the_cdi_specification_names_each_gpu_by_index_and_uuid():
    spec = json.loads((FOLDER / "nvidia.json").read_text(encoding="utf-8"))
    gpus = json.loads((FOLDER / "gpus.json").read_text(encoding="utf-8"))["gpus"]
    devices = {device["name"] for device in spec["devices"]}
    assert devices == {"all", *(gpu["index"] for gpu in gpus), *(gpu["uuid"] for gpu in gpus)}
    assert spec["kind"] == "nvidia.com/gpu"
