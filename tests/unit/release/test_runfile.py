# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The run file: what Docker is asked for, read back by a real shell."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.runfile import (
    argument_groups,
    device_options,
    probe_command,
    render_args,
    render_entry,
    render_run,
)

DOCKER = """#!/bin/sh
for word in "$@"; do printf '%s\\0' "$word" >&2; done
echo what the engine prints
"""


def sh(words, script, folder):
    """Run a script with the programs of a folder first."""
    path = {"PATH": f"{folder}:/usr/bin:/bin"}
    done = subprocess.run(["sh", *words], input=script, env=path, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def words_of(script, tmp_path):
    """Let a shell run the file with a docker that prints its words."""
    docker = tmp_path / "docker"
    docker.write_text(DOCKER)
    docker.chmod(0o755)
    printed, said = sh([], script, tmp_path)
    assert printed == ""  # the engine's lines go nowhere from here, Docker's own words do
    return said.split("\0")[:-1]


def after(words, option):
    """The words that follow an option, each time it is there."""
    return [words[index + 1] for index, word in enumerate(words) if word == option]


def test_the_file_asks_docker_for_what_the_release_says(make_release, tmp_path):
    record = make_release()
    words = words_of(render_run(record), tmp_path)
    assert words[0] == "run"
    assert after(words, "--name") == ["vllm-chat"]
    assert after(words, "--cidfile") == ["/run/gpuhosts-vllm/chat/cid"]
    assert after(words, "--label") == ["io.gpuhosts.vllm.service=chat", f"io.gpuhosts.vllm.release={record.id}"]
    assert after(words, "--publish") == ["127.0.0.1:8000:8000"]
    assert after(words, "--attach") == ["stdout"]
    assert after(words, "--log-driver") == ["json-file"]
    assert after(words, "--log-opt") == ["max-size=50m", "max-file=3"]
    assert "--init" in words and "--rm" not in words and "--restart" not in words
    image = words.index(record.host.image_id)
    assert words[image - 2 : image] == ["--entrypoint", "/bin/sh"]
    assert words[image + 1 :] == ["/gpuhosts/entry", *record.content["args"]]


def test_one_option_a_line(make_release):
    lines = render_run(make_release()).splitlines()
    assert "  --shm-size 16g \\" in lines
    assert lines[-2:] == ["  --served-model-name chat talk \\", "  >/dev/null"]
    assert lines[0] == "#!/bin/sh" and "set -eu" in lines


@pytest.mark.parametrize("value", ["a b", "it's", '$(id) `id` "x"', "line\nline", "\\", "", "ü", "*", "-1", "{}"])
def test_every_text_arrives_as_it_was(make_release, tmp_path, value):
    record = make_release(args=["m", "--chat-template", value], env={"A": value}, docker_args=["--hostname", value])
    words = words_of(render_run(record), tmp_path)
    assert words[-1] == value
    assert f"A={value}" in after(words, "--env")
    assert after(words, "--hostname") == [value]


@pytest.mark.parametrize(
    ("gpus", "way", "expected"),
    [
        ("none", "cdi", []),
        ("all", "none", []),
        ("all", "cdi", [("--device", "nvidia.com/gpu=all")]),
        (2, "cdi", [("--device", "nvidia.com/gpu=0"), ("--device", "nvidia.com/gpu=1")]),
        (["1", "GPU-a"], "cdi", [("--device", "nvidia.com/gpu=1"), ("--device", "nvidia.com/gpu=GPU-a")]),
        ("all", "gpus", [("--gpus", "all")]),
        (2, "gpus", [("--gpus", "2")]),
        (["1", "GPU-a"], "gpus", [("--gpus", '"device=1,GPU-a"')]),
    ],
)
def test_gpus_are_asked_for_in_the_host_s_way(gpus, way, expected):
    assert device_options(gpus, way) == expected


def test_every_door_reaches_docker(make_release, tmp_path):
    record = make_release(
        {"uid": 1000},
        user="1000:1000",
        ulimits={"memlock": "-1:-1"},
        devices=["/dev/fuse"],
        docker_args=["--ipc", "host"],
        mounts=[{"source": "/srv/a,b", "target": "/a", "read_only": False}],
    )
    words = words_of(render_run(record), tmp_path)
    assert after(words, "--user") == ["1000:1000"]
    assert after(words, "--ulimit") == ["memlock=-1:-1"]
    assert after(words, "--device") == ["/dev/fuse"]
    assert after(words, "--ipc") == ["host"]
    assert 'type=bind,"source=/srv/a,b",target=/a' in after(words, "--mount")
    assert any(mount.endswith("-u1000,target=/gpuhosts/compile") for mount in after(words, "--mount"))


def test_a_model_on_the_host_is_mounted_where_it_is_read_only(make_release, tmp_path):
    model = {"kind": "path", "name": "/srv/models/m", "revision": None}
    mounts = after(words_of(render_run(make_release(model=model)), tmp_path), "--mount")
    assert "type=bind,source=/srv/models/m,target=/srv/models/m,readonly" in mounts
    own = {"source": "/data/m", "target": "/srv/models/m", "read_only": True}
    mounts = after(words_of(render_run(make_release(model=model, mounts=[own])), tmp_path), "--mount")
    assert [mount for mount in mounts if "/srv/models/m" in mount] == [
        "type=bind,source=/data/m,target=/srv/models/m,readonly"
    ]


def test_the_secrets_are_a_file_and_never_a_word(make_release, tmp_path):
    words = words_of(render_run(make_release({"secret_names": ("HF_TOKEN",)})), tmp_path)
    assert "type=bind,source=/etc/gpuhosts-vllm/chat/secrets,target=/run/gpuhosts/secrets,readonly" in words
    assert not [word for word in words if "HF_TOKEN" in word or word == "--env-file"]


@pytest.mark.parametrize(
    ("change", "publish"),
    [
        ({"network": "host", "bind": "10.0.0.1"}, []),
        ({"network": "lan"}, ["127.0.0.1:8000:8000"]),
        ({"bind": "::1"}, ["[::1]:8000:8000"]),
    ],
)
def test_networks(make_release, tmp_path, change, publish):
    words = words_of(render_run(make_release(**change)), tmp_path)
    assert after(words, "--publish") == publish
    assert after(words, "--network") == [change.get("network", "bridge")]


def test_the_entry_script_hands_secrets_and_words_to_the_engine(tmp_path):
    secrets = tmp_path / "secrets"
    secrets.write_text("KEY='a b'\"'\"'c'\n")
    engine = tmp_path / "vllm"
    engine.write_text('#!/bin/sh\nprintf "%s|" "$KEY" "$@"\n')
    engine.chmod(0o755)
    entry = render_entry().replace("/run/gpuhosts/secrets", str(secrets))
    printed, _said = sh(["-s", "m", "--x", "1 2"], entry, tmp_path)
    assert printed == "a b'c|serve|m|--x|1 2|"


def test_the_probe_has_the_devices_and_mounts_but_neither_name_nor_port_of_the_service(make_release):
    record = make_release({"device_request": "cdi"}, gpus=1, docker_args=["--ipc", "host"])
    words = probe_command(record, "vllm-chat-probe")
    assert words[:4] == ["docker", "run", "--rm", "--name"]
    assert "nvidia.com/gpu=0" in words and "--ipc" in words and "--mount" in words
    assert "--publish" not in words and "--cidfile" not in words
    assert "io.gpuhosts.vllm.probe=chat" in words and "io.gpuhosts.vllm.service=chat" not in words


def test_arguments_for_people(make_release):
    text = render_args(make_release(args=["m", "--a", "--b", "x y", "z", "--c", "-1"]))
    assert text == "m\n--a\n--b 'x y' z\n--c -1\n"
    assert argument_groups([]) == []
