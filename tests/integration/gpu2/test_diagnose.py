"""Diagnose on a real host: what it says of every kind of service, that nothing changes, and that no secret gets out."""

from __future__ import annotations

import base64
import json
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.integration.harness import Inventory, service
from tests.lab import names
from tests.oracle.hunt import ODD, ODD_IN_HEADER, Hunt, forms, marked

HOST = "gpu2"
LIMIT = 20_000_000
# An engine that dies of a KV cache that is too small, in words that vLLM prints.
TOO_SMALL = (
    "ValueError: To serve at least one request with the models's max seq len (1024), (4.00 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (1.00 GiB). Based on the available memory, the estimated "
    "maximum model length is 256."
)
SERVICES = {
    "well": service(env={"NCCL_DEBUG": "INFO", "LAB_PLAIN": "seen-by-nobody"}),
    "ill": service(port=8001, env={"STANDIN_EXIT_AT": "kv_cache", "STANDIN_ERROR": TOO_SMALL}),
    "never": service(port=8003, state="stopped"),
}
# The engines print their secrets as well, in many spellings.
PRINTS = {"STANDIN_PRINTS": "VLLM_API_KEY,LAB_ODD"}
SECTIONS = ["start", "versions", "configuration", "options", "topology", "machine", "drift"]


def unpacked(path: Path, service_name: str) -> dict[str, bytes]:
    """Give the files of a bundle after a look at how safe it is to unpack."""
    with tarfile.open(path) as archive:
        entries = archive.getmembers()
        top = f"vllm-diagnose-{service_name}/"
        assert all(entry.isreg() and entry.mode == 0o600 and entry.name.startswith(top) for entry in entries)
        assert not [entry.name for entry in entries if ".." in entry.name.split("/") or entry.name.startswith("/")]
        assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)
        return {entry.name.removeprefix(top): archive.extractfile(entry).read() for entry in entries}


def bundles(folder: Path) -> dict[str, Path]:
    """Give the newest bundle of each service."""
    found = sorted(folder.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime_ns)
    return {path.name.split("-")[1]: path for path in found}


@pytest.fixture(scope="module")
def story(tmp_path_factory, lab, standin_lock):
    """Deploy one service of each kind with secrets in every place, and diagnose them."""
    lab[HOST].reset()
    host, folder = lab[HOST], tmp_path_factory.mktemp("diagnose")
    secrets = {name: {"VLLM_API_KEY": marked(ODD_IN_HEADER), "LAB_ODD": marked(ODD)} for name in ("well", "ill")}
    planted = {f"{name} {key}": value for name, each in secrets.items() for key, value in each.items()}
    by_hand = {name: marked() for name in ("drop-in", "run file", "argument", "address", "log token", "state")}
    services = {name: {**each, "env": {**each.get("env", {}), **PRINTS}} for name, each in SERVICES.items()}
    inventory = Inventory.make(folder / "inventory", services, hosts=(HOST,), lock=standin_lock, vllm_secrets=secrets)
    told = SimpleNamespace(host=host, inventory=inventory, folder=folder, planted={**planted, **by_hand}, seconds={})
    told.checked = inventory.play("diagnose", "--check", vllm_diagnose_folder=str(folder / "check"))
    told.deployed = inventory.play("deploy")
    plant(host, by_hand, planted["ill LAB_ODD"])
    told.before = look(host)
    began = time.monotonic()
    with Hunt(names.Place(host.real, "", "").container, told.planted, folder / "ansible") as hunt:
        told.played = inventory.play("diagnose", "-v", vllm_diagnose_folder=str(folder / "out"))
        hunt.hear("diagnose", told.played.text)
        told.on_host = host.run("vllm-host diagnose well; vllm-host diagnose ill --json; true")
        hunt.hear("vllm-host diagnose", told.on_host)
        told.heard = [str(trace) for trace in hunt._here()]
        told.files = {name: unpacked(path, name) for name, path in bundles(folder / "out").items()}
    told.seconds["diagnose"] = time.monotonic() - began
    told.after = look(host)
    told.kept = host.run("cat /var/lib/gpuhosts-vllm/ill/starts/1/log /var/lib/gpuhosts-vllm/ill/releases/*/run")
    unplant(host)
    yield told
    lab[HOST].reset()


def plant(host, planted, own):
    """Put secrets where a careless hand puts them."""
    state = "/var/lib/gpuhosts-vllm/ill"
    log_lines = (
        f"INFO 01-31 11:00:00 [x.py:1] hub token hf_{planted['log token']}",
        f"INFO 01-31 11:00:00 [x.py:1] from https://lab:{planted['address']}@hub.example/m",
        f"INFO 01-31 11:00:00 [x.py:1] args --api-key {planted['argument']} --port 1",
    )
    text = "\\n".join(log_lines)
    coded = base64.b64encode(f"INFO 01-31 11:00:00 [x.py:1] own {own} of it\n".encode()).decode()
    host.run(
        f"set -e; cp -a {state} /root/before; mkdir -p /etc/systemd/system/vllm-well.service.d; "
        f"printf '[Service]\\nEnvironment=LAB_HAND={planted['drop-in']}\\n' "
        ">/etc/systemd/system/vllm-well.service.d/lab.conf; "
        f"printf '{text}\\n' >>{state}/starts/1/log; echo {coded} | base64 -d >>{state}/starts/1/log; "
        f"""sed -i 's#^exec docker run#& --env LAB_HAND={planted["run file"]}#' {state}/releases/*/run; """
        f"""python3 -c "import json, pathlib; p = pathlib.Path('{state}/starts/1/state.json'); """
        f"""d = json.loads(p.read_text()); d['api_key'] = '{planted["state"]}'; p.write_text(json.dumps(d))"; """
    )


def unplant(host):
    """Take all of it away again."""
    host.run(
        "set -e; rm -rf /etc/systemd/system/vllm-well.service.d /var/lib/gpuhosts-vllm/ill; "
        "mv /root/before /var/lib/gpuhosts-vllm/ill"
    )


def look(host):
    """Give all that a diagnosis might change: files, units, Docker, containers, and the times of our own files."""
    times = host.run(
        "find /var/lib/gpuhosts-vllm /etc/gpuhosts-vllm /var/cache/gpuhosts-vllm /run/gpuhosts-vllm "
        "-printf '%p %T@ %m %s\\n' | sort"
    )
    containers = host.run("docker ps -a --no-trunc --format '{{.ID}} {{.Status}}' | sed 's/ Up .*/ Up/'")
    return SimpleNamespace(snapshot=host.snapshot(), times=times, containers=containers)


def report(story, name):
    """Give the report of a service as data."""
    return json.loads(story.files[name]["report.json"])


def ids(story, name, severity=("error", "warning")):
    """Give the findings of a service by id."""
    return [finding["id"] for finding in report(story, name)["findings"] if finding["severity"] in severity]


def test_in_check_mode_on_a_host_without_services_nothing_is_written(story):
    assert story.checked.rc == 0, story.checked.text
    assert "never_started" not in story.checked.text or "was never started on this host" in story.checked.text
    assert not (story.folder / "check").exists()


def test_nothing_on_the_host_changed(story):
    assert story.after.snapshot.difference(story.before.snapshot) == []
    assert story.after.times == story.before.times
    assert story.after.containers == story.before.containers


def test_the_play_fails_for_errors_and_changed_is_the_bundle_only(story):
    assert story.played.rc != 0 and "Diagnosis: 3 services on 1 host" in story.played.text
    tasks = {task for task, _host in story.played.changed}
    assert tasks == {"Diagnose each service and write the evidence on the controller"}
    for name in SERVICES:
        assert f"evidence: {story.folder}/out/{HOST}-{name}-" in story.played.text
    assert "Traceback" not in story.played.text


def test_a_service_that_is_well_has_nothing_to_say(story):
    assert ids(story, "well", ("error",)) == []
    said = {fact["name"]: fact["value"] for section in report(story, "well")["sections"] for fact in section["facts"]}
    assert said["vLLM that answers"] == said["vLLM of the release"] == "0.32.0"
    assert said["served models"] == ["chat"] and said["longest request"] == 1024
    assert said["unit"] == "active (running)"
    assert said["shared memory, MiB"][0] == 64
    assert said["processes"]["server"] == 1 and said["processes"]["engine core"] == 1
    assert said["locked memory"] and said["variables of vLLM and NCCL"]["NCCL_DEBUG"] == "INFO"
    assert "lo" in said["interfaces of the container"] and "0.0.0.0:8000" in said["listens inside"]


def test_a_start_that_failed_says_why_first_of_all(story):
    first = report(story, "ill")["findings"][0]
    assert first["id"] == "kv_cache_too_small" and first["severity"] == "error"
    assert first["source"] == "docs/runbooks/diagnoses/kv_cache_too_small.md"
    assert any("max seq len (1024)" in line for line in first["observed"])
    told = story.played.text.index("ERROR kv_cache_too_small [ill]")
    assert told < story.played.text.index("1. Build, frontend", told)


def test_what_never_ran_is_no_fault(story):
    assert ids(story, "never") == [] and ids(story, "never", ("info",)) == ["never_started"]


def test_every_report_has_all_sections_in_their_order(story):
    for name in SERVICES:
        assert [section["id"] for section in report(story, name)["sections"]] == SECTIONS


def test_no_secret_gets_out(story):
    assert story.heard == []
    for name, files in story.files.items():
        whole = b"\0".join(files.values())
        leaked = [
            secret for secret, value in story.planted.items() if any(form.encode() in whole for form in forms(value))
        ]
        assert leaked == [], f"{name}: {leaked}"
        assert b"seen-by-nobody" not in whole


def test_the_hunt_finds_a_secret_where_there_is_one(story):
    """The control: the files on the host that were read do hold them."""
    for secret in ("address", "argument", "log token", "run file"):
        assert story.planted[secret] in story.kept, secret
    assert "LAB_ODD" in json.loads(story.files["ill"]["manifest.json"])["secrets_taken_out"]
    assert b"[secret LAB_ODD]" in story.files["ill"]["starts/1/log"]


def test_the_evidence_is_complete(story):
    well, ill = story.files["well"], story.files["ill"]
    common = {"manifest.json", "report.json", "report.txt", "journal.jsonl", "release/run", "release/release.json"}
    common |= {"unit/show.txt", "unit/journal.txt", "starts/1/log", "starts/1/state.json", "docker/image.json"}
    common |= {"facts/variables.json", "gpu/nvidia-smi.txt", "host/addresses.txt"}
    assert common <= set(ill), sorted(common - set(ill))
    assert {*common, "docker/container.json", "facts/processes.json", "server/metrics.txt"} <= set(well)
    assert {"unit/vllm-well.service", "unit/lab.conf"} <= set(well)
    assert b"vllm:num_requests_running" in well["server/metrics.txt"]
    assert "LAB_HAND=[not-shown]" in well["unit/lab.conf"].decode()
    assert b"kv cache is needed" in ill["starts/1/log"].lower()


def test_bundles_are_small_and_for_their_user_alone(story):
    for path in bundles(story.folder / "out").values():
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.stat().st_size < 1_000_000
    assert (story.folder / "out").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (story.folder / "out").iterdir() if not path.name.endswith(".tar.gz")] == []


def test_the_tool_on_the_host_says_the_same(story):
    text, _brace, rest = story.on_host.partition('{\n  "service"')
    assert "vllm" in text and "4. One frontend and one topology" in text
    assert json.loads('{\n  "service"' + rest)["findings"][0]["id"] == "kv_cache_too_small"


def test_a_log_of_300_mb_of_noise_keeps_the_bundle_below_20_mb(story):
    """Noise that cannot be compressed, in three starts; and time does not grow with it."""
    state = "/var/lib/gpuhosts-vllm/ill/starts"
    story.host.run(
        f"set -e; cp -a {state} /root/starts; cd {state}; cp -a 1 2; cp -a 1 3; "
        "base64 -w 120 /dev/urandom | head -c 314572800 >1/log; rm -f 1/startup.json; "
        "head -c 8000000 1/log >2/log; head -c 8000000 1/log >3/log"
    )
    try:
        began = time.monotonic()
        played = story.inventory.play("diagnose", vllm_only="ill", vllm_diagnose_folder=str(story.folder / "big"))
        seconds = time.monotonic() - began
    finally:
        story.host.run(f"rm -rf {state} && mv /root/starts {state}")
    path = bundles(story.folder / "big")["ill"]
    assert "evidence: " in played.text
    assert path.stat().st_size < LIMIT, path.stat().st_size
    files = unpacked(path, "ill")
    assert {"starts/1/log", "starts/2/log", "starts/3/log", "report.json", "manifest.json"} <= set(files)
    assert b"bytes left out ...]" in files["starts/1/log"]
    listed = {part["name"]: part["left_out"] for part in json.loads(files["manifest.json"])["parts"]}
    assert listed["starts/1/log"] > 300_000_000
    assert seconds < 90


def on_host(story, name):
    """Let the tool on the host diagnose a service; its report."""
    return json.loads(story.host.run(f"vllm-host diagnose {name} --json", check=False))


def test_a_docker_that_is_down_is_a_line_and_is_not_woken(story):
    story.host.run("systemctl stop docker.service docker.socket; systemctl start docker.socket")
    try:
        data = on_host(story, "well")
        assert story.host.run("systemctl is-active docker.service || true") == "inactive"
    finally:
        story.host.run("systemctl start docker.service")
    assert [section["id"] for section in data["sections"]] == SECTIONS
    why = {each["source"]: each["why"] for section in data["sections"] for each in section["unread"]}
    assert "docker" in why
    assert story.host.wait("systemctl is-active vllm-well", "active", seconds=90)


def test_a_host_without_docker_is_a_report(story):
    programs = "systemctl journalctl ip nvidia-smi"
    story.host.run(f"mkdir /run/lab-bin; for name in {programs}; do ln -s $(command -v $name) /run/lab-bin/; done")
    try:
        told = story.host.run("PATH=/run/lab-bin /usr/local/bin/vllm-host diagnose ill --json", check=False)
    finally:
        story.host.run("rm -r /run/lab-bin")
    data = json.loads(told)
    why = {each["source"]: each["why"] for section in data["sections"] for each in section["unread"]}
    assert why["docker"] == "Docker is not installed"
    assert data["findings"][0]["id"] == "kv_cache_too_small"


def test_what_was_stopped_on_purpose_is_no_fault(story):
    story.inventory.play("stop", vllm_confirm="well")
    data = on_host(story, "well")
    found = [(each["id"], each["severity"]) for each in data["findings"]]
    assert found[0] == ("stopped_on_purpose", "info") and "error" not in dict(found).values()
    said = {fact["name"]: fact["value"] for section in data["sections"] for fact in section["facts"]}
    assert said["image id"].startswith("sha256:") and said["current release"].startswith("rel-")
