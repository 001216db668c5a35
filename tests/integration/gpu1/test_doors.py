"""Each door of the schema reaches the container, and GPUs reach Docker as the right device request."""

from __future__ import annotations

import json

import pytest

from tests.integration.harness import Inventory, service

HOST = "gpu1"

DOORS = service(
    shm_size="128m",
    user="1000:1000",
    env={"LAB_SAYS": "two words and a 'quote'"},
    mounts=[{"source": "/srv/extra", "target": "/extra", "read_only": True}],
    ulimits={"core": "0", "nofile": "2048:4096"},
    devices=["/dev/fuse"],
    network="lab-net",
    docker_args=["--label=lab.door=open", "--cap-drop=NET_RAW"],
    after=["lab-after.service"],
)


@pytest.fixture(scope="module")
def doors(tmp_path_factory, standin_lock, lab, empty_host):
    """Deploy one service that uses every door, and give what Docker says of its container."""
    empty_host(HOST)
    lab[HOST].run(
        "mkdir -p /srv/extra && echo here > /srv/extra/file; docker network create lab-net; "
        "[ -e /dev/fuse ] || mknod /dev/fuse c 10 229; "
        "printf '[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/true\\n' "
        "> /etc/systemd/system/lab-after.service; systemctl daemon-reload"
    )
    folder = tmp_path_factory.mktemp("doors")
    secrets = {"chat": {"LAB_TOKEN": "a 'quoted' secret"}}
    played = Inventory.make(folder, {"chat": DOORS}, lock=standin_lock, vllm_secrets=secrets).play("deploy")
    assert played.rc == 0, played.text
    yield json.loads(lab[HOST].run("docker inspect vllm-chat"))[0]
    lab[HOST].reset()
    lab[HOST].run("rm -f /etc/systemd/system/lab-after.service; docker network rm lab-net || true")


def inside(lab, command):
    """Run a command in the service's container."""
    return lab[HOST].run(f"docker exec vllm-chat {command}")


def test_shared_memory_is_what_was_asked(doors, lab):
    assert inside(lab, "df -k --output=size /dev/shm").split()[-1] == str(128 * 1024)


def test_the_user_runs_the_engine_and_alone_reads_the_secret(doors, lab):
    assert inside(lab, "id -u").strip() == "1000"
    assert lab[HOST].run("stat -c '%a %u' /etc/gpuhosts-vllm/chat/secrets") == "600 1000"
    assert "quoted" in inside(lab, "cat /run/gpuhosts/secrets")
    environment = inside(
        lab, 'sh -c \'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" | grep -a ^LAB_TOKEN | sort -u\''
    )
    assert environment.strip() == "LAB_TOKEN=a 'quoted' secret"


def test_environment_mounts_limits_devices_and_network_arrive(doors, lab):
    assert "LAB_SAYS=two words and a 'quote'" in doors["Config"]["Env"]
    assert inside(lab, "cat /extra/file").strip() == "here"
    assert {"Name": "nofile", "Soft": 2048, "Hard": 4096} in doors["HostConfig"]["Ulimits"]
    assert {"Name": "core", "Soft": 0, "Hard": 0} in doors["HostConfig"]["Ulimits"]
    assert doors["HostConfig"]["Devices"][0]["PathInContainer"] == "/dev/fuse"
    assert doors["HostConfig"]["NetworkMode"] == "lab-net"
    assert doors["HostConfig"]["Init"] is True


def test_free_docker_arguments_arrive(doors):
    assert doors["Config"]["Labels"]["lab.door"] == "open"
    assert doors["HostConfig"]["CapDrop"] == ["NET_RAW"]


def test_the_unit_waits_for_what_the_service_names(doors, lab):
    assert "lab-after.service" in lab[HOST].run("systemctl show -P After vllm-chat.service")


@pytest.mark.parametrize(
    ("asked", "devices"),
    [
        ("all", ["nvidia.com/gpu=all"]),
        (1, ["nvidia.com/gpu=0"]),
        ([1], ["nvidia.com/gpu=1"]),
    ],
)
def test_gpus_reach_docker_as_the_right_device_request(tmp_path, standin_lock, lab, asked, devices):
    lab[HOST].reset()
    played = Inventory.make(tmp_path, {"chat": service(gpus=asked)}, lock=standin_lock).play("deploy")
    assert played.rc == 0, played.text
    requests = json.loads(lab[HOST].run("docker inspect -f '{{json .HostConfig.DeviceRequests}}' vllm-chat"))
    assert [(request["Driver"], request["DeviceIDs"]) for request in requests] == [("cdi", devices)]
    assert inside(lab, "nvidia-smi -L").count("GPU ") >= 1


def test_a_gpu_that_docker_cannot_give_is_refused_in_dockers_own_words(tmp_path, standin_lock, lab):
    lab[HOST].reset()
    # What a driver update leaves behind: a CDI specification that names a library which is gone.
    spec, gone = "/etc/cdi/nvidia.json", "/usr/lib/libcuda.so.1.lab"
    mount = {"hostPath": gone, "containerPath": gone, "options": ["ro", "bind"]}
    stale = f"import json; d = json.load(open('{spec}')); d['containerEdits']['mounts'].append({mount})"
    lab[HOST].run(f"cp -a {spec} /root/nvidia.json && python3 -c \"{stale}; json.dump(d, open('{spec}', 'w'))\"")
    try:
        played = Inventory.make(tmp_path, {"chat": service(gpus=[1])}, lock=standin_lock).play("deploy")
    finally:
        lab[HOST].run(f"mv /root/nvidia.json {spec}")
    assert played.rc != 0
    assert gone in played.text and "no such file or directory" in played.text
    assert "nvidia-ctk cdi generate" in played.text
    assert lab[HOST].run("docker ps -aq") == ""
