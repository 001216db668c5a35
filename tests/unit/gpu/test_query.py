# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi prints for --query-gpu, and why it printed nothing."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.gpu.query import Gpu, parse_gpus, remedy_for


def test_rows():
    text = (
        "0, GPU-5f1d, NVIDIA H100 80GB HBM3, 81559, 570.86.15\n1, GPU-77aa, NVIDIA H100 80GB HBM3, 81559, 570.86.15\n"
    )
    assert parse_gpus(text) == (
        Gpu(0, "GPU-5f1d", "NVIDIA H100 80GB HBM3", 81559, "570.86.15"),
        Gpu(1, "GPU-77aa", "NVIDIA H100 80GB HBM3", 81559, "570.86.15"),
    )


def test_what_the_tool_does_not_know_is_none():
    assert parse_gpus("0, GPU-1, Orin (nvgpu), [N/A], [N/A]\n") == (Gpu(0, "GPU-1", "Orin (nvgpu)", None, None),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No devices were found\n",
        "Failed to initialize NVML: Driver/library version mismatch\n",
        "index, uuid, name, x, y\n",
    ],
)
def test_other_texts_are_no_gpus(text):
    assert parse_gpus(text) == ()


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch NVML library version: 570.1", "reboot"),
        ("Unable to determine the device handle for GPU0: GPU is lost.  Reboot", "Xid"),
        ("No devices were found", "lspci"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "modprobe"),
        ("what is this", "nvidia-smi"),
    ],
)
def test_remedies(said, word):
    assert word in remedy_for(said)
