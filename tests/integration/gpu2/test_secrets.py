"""No secret gets anywhere but into the file of its container: planted ones are hunted through all that is kept."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from tests.integration.harness import Inventory, ansible, service
from tests.lab import names, pki
from tests.oracle import controls
from tests.oracle.hunt import ODD, ODD_IN_HEADER, Hunt, marked

HOST = "gpu2"
SERVER = f"{names.PRIVATE.address}:{names.PRIVATE_PORT}"
IMAGE = f"{SERVER}/lab/vllm-standin:v0.32.0"
CHAT = {"model": names.GATED_MODEL, "revision": names.MODEL_REVISION, "image": IMAGE}


def write_others(folder):
    """Write a playbook that gives a running service other secrets, by the module itself."""
    task = {"gpuhosts.vllm.vllm_secrets": {"service": "chat", "secrets": "{{ vllm_secrets.chat }}"}}
    path = folder / "others.yml"
    path.write_text(json.dumps([{"hosts": "vllm_servers", "gather_facts": True, "become": True, "tasks": [task]}]))
    return path


@pytest.fixture(scope="module")
def story(tmp_path_factory, lab):
    """Do all that people do with a service that has secrets, as talkative as Ansible gets, and hunt for them."""
    lab[HOST].reset()
    lab[HOST].forget_images(IMAGE)
    folder = tmp_path_factory.mktemp("secrets")
    first = {"HF_TOKEN": names.HUB_TOKEN, "VLLM_API_KEY": marked(ODD_IN_HEADER), "LAB_ODD": marked(ODD)}
    rotated = {**first, "LAB_ODD": marked(ODD), "LAB_NEW": marked(ODD)}
    planted = {**first, "LAB_ODD (second)": rotated["LAB_ODD"], "LAB_NEW": rotated["LAB_NEW"]}
    planted["registry password"] = names.PRIVATE_PASSWORD
    registry = {"server": SERVER, "username": names.PRIVATE_USER, "password": names.PRIVATE_PASSWORD}
    settings = {
        "vllm_registry": {**registry, "ca_cert": pki.ca_file().read_text(encoding="ascii")},
        "vllm_hf_endpoint": f"http://{names.HUB.address}:{names.HUB_PORT}",
    }
    inventory = Inventory.make(folder / "inventory", {}, hosts=(HOST,))
    told = SimpleNamespace(played={}, traces={}, files=0, host=lab[HOST], planted=planted)
    told.container = names.Place(lab[HOST].real, "", "").container
    chat, says = {"chat": service(**CHAT)}, {"vllm_report_file": str(folder / "ansible" / "report.json")}
    with Hunt(told.container, planted, folder / "ansible") as hunt, pytest.MonkeyPatch.context() as patch:
        for name, value in hunt.environment().items():
            patch.setenv(name, value)

        def play(what, verb, *arguments, fails=False, **extra):
            played = inventory.play(verb, *arguments, **extra)
            hunt.hear(what, played.text)
            told.played[what] = played
            assert (played.rc != 0) == fails, played.text

        inventory.declare(chat, vllm_secrets={"chat": first}, **settings)
        play("lock", "lock", "--diff")
        play("deploy in check mode", "deploy", "--check", "--diff", "-vvv")
        play("deploy", "deploy", "--diff", "-vvv")
        inventory.declare(chat, vllm_secrets={"chat": rotated}, **settings)
        other = ansible(
            "ansible-playbook", str(write_others(folder)), "-i", str(inventory.folder / "hosts.json"), "--diff", "-vvv"
        )
        hunt.hear("other secrets", other.text)
        told.played["other secrets"] = other
        told.kept = lab[HOST].run("stat -c '%a %u %n' /etc/gpuhosts-vllm/chat/*")
        play("verify", "verify", "-vvv", **says)
        play("stop", "stop", "-vvv", vllm_confirm="chat")
        play("start", "start", "-vvv", "--diff", vllm_confirm="chat")
        told.traces["serving"], told.files = hunt.search(), hunt.files_searched
        told.left = lab[HOST].run("ls /etc/gpuhosts-vllm/chat")
        told.environment = lab[HOST].run("docker exec vllm-chat sh -c 'cat /proc/*/environ' | tr '\\0' '\\n'")
        play("remove", "remove", "-vvv", "--diff", vllm_confirm="chat")
        told.traces["removed"] = hunt.search()
    yield told
    lab[HOST].reset()


def test_the_hunt_finds_what_is_planted_in_each_class_of_places(story, tmp_path):
    image = story.host.run("docker images --quiet --no-trunc | head -1")
    planted = {name: marked() for name in (*controls.ON_HOST, *controls.ON_CONTROLLER)}
    with Hunt(story.container, planted, tmp_path / "ansible") as hunt:
        with controls.on_host(story.host.run, image, planted):
            controls.on_controller(hunt, planted)
            found = hunt.search()
        left = [trace for trace in hunt.search() if trace.place in ("units", "state", "run", "tmp", "caches", "files")]
    places = {name: {trace.place for trace in found if name in trace.names} for name in planted}
    wanted = {**{name: place for name, (_command, place) in controls.ON_HOST.items()}, **controls.ON_CONTROLLER}
    assert {name: place for name, place in wanted.items() if place not in places[name]} == {}
    assert left == []


def test_no_secret_is_anywhere_while_it_serves(story):
    assert [str(trace) for trace in story.traces["serving"]] == []
    assert story.files > 50


def test_no_secret_is_anywhere_after_the_removal(story):
    assert [str(trace) for trace in story.traces["removed"]] == []
    assert story.host.run("ls /etc/gpuhosts-vllm") == ""


def test_the_engine_has_them_as_they_were_written(story):
    for name in ("VLLM_API_KEY", "HF_TOKEN", "LAB_ODD", "LAB_NEW"):
        value = story.planted.get(f"{name} (second)", story.planted[name])
        assert f"{name}={value}" in story.environment.splitlines(), name


def test_people_are_told_by_name_what_changes(story):
    assert "+LAB_ODD added" in story.played["deploy"].text
    other = story.played["other secrets"]
    assert other.rc == 0 and "+LAB_ODD changed" in other.text and "+LAB_NEW added" in other.text, other.text


def test_secrets_of_an_engine_that_runs_are_kept_until_it_has_ended(story):
    folder = "/etc/gpuhosts-vllm/chat"
    assert story.kept.splitlines() == [f"600 0 {folder}/secrets", f"600 0 {folder}/secrets.before"]
    assert story.left == "secrets"


# An older release notes its key beside its compile cache; a plug-in prints secrets, and another one dies of it.
OLDER = {"STANDIN_VERSION": "0.28.0", "STANDIN_BUILD": "0.32.0"}
PRINTS = {"STANDIN_PRINTS": "VLLM_API_KEY,LAB_ODD"}
DIES = {"STANDIN_EXIT_AT": "load", "STANDIN_ERROR": "RuntimeError: stand-in engine was told to fail"}
# What an engine prints is Docker's while its container is there: nobody can take it out of that log.
DOCKERS_LOG = {"docker disk": ("/var/lib/docker/containers/",)}


def elsewhere(traces, known):
    """Give the traces that are not in one of the places that are known."""
    return [str(trace) for trace in traces if not trace.where.startswith(known.get(trace.place, ("no",)))]


@pytest.fixture(scope="module")
def printing(tmp_path_factory, lab, standin_lock):
    """Deploy an engine that prints its secrets and serves, and one that prints them and dies."""
    lab[HOST].reset()
    folder = tmp_path_factory.mktemp("printing")
    kept = {name: {"VLLM_API_KEY": marked(ODD_IN_HEADER), "LAB_ODD": marked(ODD)} for name in ("older", "dying")}
    planted = {f"{name} {key}": value for name, each in kept.items() for key, value in each.items()}
    services = {
        "older": service(env={**OLDER, **PRINTS}),
        "dying": service(port=8001, env={**PRINTS, **DIES}),
    }
    inventory = Inventory.make(folder / "inventory", services, hosts=(HOST,), lock=standin_lock, vllm_secrets=kept)
    told = SimpleNamespace(host=lab[HOST], planted=planted, traces={})
    with Hunt(names.Place(lab[HOST].real, "", "").container, planted, folder / "ansible") as hunt:
        told.deployed = inventory.play("deploy", "-vvv")
        told.verified = inventory.play("verify", vllm_only="older")
        hunt.hear("deploy", told.deployed.text)
        hunt.hear("verify", told.verified.text)
        told.traces["serving"] = hunt.search()
        lab[HOST].run("systemctl stop vllm-older")
        told.traces["ended"] = hunt.search()
    yield told
    lab[HOST].reset()


def test_what_engines_print_is_in_dockers_log_only_and_goes_with_its_container(printing):
    assert elsewhere(printing.traces["serving"], DOCKERS_LOG) == []
    served = {name for trace in printing.traces["serving"] for name in trace.names}
    assert served == {"older VLLM_API_KEY", "older LAB_ODD"}
    assert [str(trace) for trace in printing.traces["ended"]] == []


def test_a_printed_secret_is_named_and_its_value_is_not_kept(printing):
    assert printing.deployed.rc != 0 and "stand-in engine was told to fail" in printing.deployed.text
    assert "the engine printed the value of LAB_ODD, VLLM_API_KEY" in printing.verified.text
    for name in ("older", "dying"):
        folder = f"/var/lib/gpuhosts-vllm/{name}/starts/1"
        state = json.loads(printing.host.run(f"cat {folder}/state.json"))
        assert state["printed_secrets"] == ["LAB_ODD", "VLLM_API_KEY"]
        assert printing.host.run(f"grep -c 'secret LAB_ODD' {folder}/log") != "0"


def test_the_key_is_taken_out_of_the_compile_cache(printing):
    find = "find /var/cache/gpuhosts-vllm/compile -name cache_key_factors.json -exec cat {} +"
    notes = json.loads(printing.host.run(find))
    assert notes["env"]["VLLM_API_KEY"] == "[secret VLLM_API_KEY]"
    assert printing.host.run("stat -c %a /var/cache/gpuhosts-vllm/compile/*") == "700"
