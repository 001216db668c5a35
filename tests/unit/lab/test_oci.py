# SPDX-License-Identifier: Apache-2.0
"""Manifests and indexes that the lab puts into its registry."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests.lab import oci
from tests.lab.engine_images import distribution_record

LAYERS = (oci.Layer("sha256:" + "a" * 64, 10, "base"), oci.Layer("sha256:" + "b" * 64, 20, "engine"))


@pytest.mark.parametrize("family", [oci.OCI, oci.DOCKER])
def test_index_manifest_and_configuration_name_each_other_by_digest(family: int) -> None:
    config = oci.image_config(LAYERS, {"Entrypoint": ["vllm", "serve"]}, "amd64", family)
    child = oci.image_manifest(LAYERS, config, family)
    index = oci.image_index({"amd64": child, "arm64": child}, family)
    listed = json.loads(index.content)["manifests"]
    assert [entry["platform"]["architecture"] for entry in listed] == ["amd64", "arm64"]
    assert listed[0]["digest"] == "sha256:" + hashlib.sha256(child.content).hexdigest()
    described = json.loads(child.content)
    assert described["config"]["digest"] == config.digest
    assert described["config"]["size"] == len(config.content)
    assert [layer["size"] for layer in described["layers"]] == [10, 20]


def test_an_uncompressed_layer_is_its_own_diff_id() -> None:
    config = json.loads(oci.image_config(LAYERS, {}, "amd64", oci.OCI).content)
    manifest = json.loads(oci.image_manifest(LAYERS, oci.image_config(LAYERS, {}, "amd64", oci.OCI), oci.OCI).content)
    assert config["rootfs"]["diff_ids"] == [layer["digest"] for layer in manifest["layers"]]
    assert all(layer["mediaType"].endswith(".tar") for layer in manifest["layers"])


def test_equal_content_has_the_same_digest_everywhere() -> None:
    one, two = (oci.image_config(LAYERS, {"Env": ["A=1"], "Cmd": []}, "amd64", oci.OCI) for _turn in range(2))
    assert one.digest == two.digest


def test_the_engine_finds_itself_as_the_cpu_build_of_its_version() -> None:
    assert b"Name: vllm\nVersion: 0.32.0+cpu\n" in distribution_record("0.32.0")
