# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The processes of a container and its packages, from folders that stand for /proc and for layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import engine_processes

ID = "c0" * 32
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max locked memory         65536                unlimited            bytes
"""


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A /proc with one process of the container and one of the host."""
    for pid, cgroup in ((11, f"0::/system.slice/docker-{ID}.scope\n"), (12, "0::/user.slice\n")):
        folder = tmp_path / str(pid)
        (folder / "net").mkdir(parents=True)
        (folder / "cgroup").write_text(cgroup)
        (folder / "stat").write_text(f"{pid} (vllm (x) y) S 1 2 3")
        (folder / "comm").write_text("vllm\n")
        (folder / "cmdline").write_bytes(b"/usr/bin/python3\0/usr/local/bin/vllm\0serve\0/m\0")
        (folder / "limits").write_text(LIMITS)
        (folder / "status").write_text("Name:\tvllm\nVmRSS:\t  123456 kB\n")
        (folder / "environ").write_bytes(b"A=1\0B=two=2\0=odd\0NOVALUE\0C=\xff\0")
        (folder / "net" / "dev").write_text("Inter-|\n face |bytes\n    lo: 1 2\n  eth0: 3 4\n")
        (folder / "net" / "tcp").write_text(
            "  sl  local_address rem_address st tx rx tr tm retr uid timeout inode\n"
            "   0: 00000000:1F40 00000000:0000 0A 0:0 0:0 0 0 0 4242 1\n"
        )
    return tmp_path


def test_a_process_is_told_with_its_limits(proc: Path) -> None:
    (found,) = engine_processes.look(ID, str(proc))
    assert (found.pid, found.parent, found.name, found.role) == (11, 1, "vllm", "server")
    assert found.words == ("/usr/bin/python3", "/usr/local/bin/vllm", "serve", "/m")
    assert (found.memlock, found.resident_kib) == ("65536", 123456)


def test_what_is_seen_through_a_process(proc: Path) -> None:
    assert engine_processes.environment(11, str(proc))["B"] == "two=2"
    assert engine_processes.interfaces(11, str(proc)) == ["lo", "eth0"]
    assert [each.port for each in engine_processes.listeners(11, str(proc))] == [8000]
    with pytest.raises(OSError):
        engine_processes.shared_memory(11, str(proc))


def test_packages_are_found_by_their_folders_and_by_what_is_loaded(proc: Path) -> None:
    root = proc / "11" / "root"
    for name in ("torch-2.9.1+cpu.dist-info", "nvidia_nccl_cu12-2.27.5.dist-info", "vllm", "broken.dist-info"):
        (root / "usr/local/lib/python3.12/dist-packages" / name).mkdir(parents=True)
    (root / "srv/own/site-packages/vllm-0.32.0.dist-info").mkdir(parents=True)
    (proc / "11" / "maps").write_text("7f 00 r-xp 0 08:01 99   /srv/own/site-packages/vllm/_C.abi3.so\n")
    assert engine_processes.packages_of(11, str(proc)) == {
        "torch": ["2.9.1+cpu"],
        "nvidia-nccl-cu12": ["2.27.5"],
        "vllm": ["0.32.0"],
    }


def test_a_container_cannot_lead_the_search_out_of_itself(proc: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside" / "dist-packages" / "secret-1.0.dist-info"
    outside.mkdir(parents=True)
    library = proc / "11" / "root" / "usr/local/lib/python3.12"
    library.mkdir(parents=True)
    (library / "dist-packages").symlink_to(outside.parent)
    assert engine_processes.packages_below(str(proc / "11" / "root")) == {}


def test_the_layers_of_an_image_are_told_by_overlay_only() -> None:
    data = {"UpperDir": "/x/up/diff", "LowerDir": "/x/a/diff:/x/b/diff", "MergedDir": "/x/m"}
    assert engine_processes.layers_of({"GraphDriver": {"Name": "overlay2", "Data": data}}) == [
        "/x/up/diff",
        "/x/a/diff",
        "/x/b/diff",
    ]
    for image in ({}, {"GraphDriver": None}, {"GraphDriver": {"Data": None}}, {"GraphDriver": {"Data": {}}}):
        assert engine_processes.layers_of(image) == []
