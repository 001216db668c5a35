# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""before-start, stop-engine and after-stop: no orphan, no lost reason."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.facts import Listener
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import (
    after_stop,
    before_start,
    engine,
    keeping,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.after_stop import finish
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.before_start import prepare
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.errors import ToolError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.stop_engine import await_client, stop
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import (
    container_processes,
    earlier_secrets,
    kept_log,
    starts,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import make_folder
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.journals import append_entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, INTENT, Entry

LOG = "(APIServer pid=1) INFO 11-30 12:00:00 [x.py:1] token planted-token\nValueError: planted-token is no model\n"
PORT_TAKEN = """\
(APIServer pid=1) INFO 11-30 12:00:00 [api_utils.py:339] vLLM API server version 0.32.0
Traceback (most recent call last):
  File "/usr/local/bin/vllm", line 8, in <module>
OSError: [Errno 98] Address already in use
"""


@pytest.fixture
def invocation(monkeypatch):
    def said(name):
        monkeypatch.setenv("INVOCATION_ID", name)
        return {"INVOCATION_ID": name, "SERVICE_RESULT": "exit-code", "EXIT_CODE": "exited", "EXIT_STATUS": "1"}

    return said


def test_a_new_start_has_a_number_a_boot_and_caches(paths, record, docker, invocation):
    invocation("i1")
    paths.cid.write_text("old")
    assert prepare(paths) == 1
    state = starts.read(paths, 1)
    assert (state["release"], state["invocation_id"]) == (record.id, "i1")
    assert state["boot"]["marker"] and state["boot"]["id"]
    assert paths.compile_cache(record.host.image_id, record.host.uid).is_dir()
    assert not paths.cid.exists()
    invocation("i2")
    assert prepare(paths) == 2
    assert starts.read(paths, 2)["boot"] == state["boot"]


def test_what_a_power_cut_left_is_kept_as_evidence_and_removed(paths, docker, invocation, secrets):
    invocation("i1")
    prepare(paths)
    starts.update(paths, 1, {"container_id": "c1"})
    docker.make("c1", LOG, Status="exited", ExitCode=255)
    invocation("i2")
    prepare(paths)
    assert docker.left == []
    assert starts.read(paths, 1)["exit_code"] == 255
    assert (paths.start(1) / "log").read_text().count("[secret HF_TOKEN]") == 2


def test_a_start_whose_after_stop_was_killed_is_ended_by_the_next(paths, docker, invocation):
    """`systemctl kill` kills all processes of a unit; its container goes on."""
    invocation("i1")
    prepare(paths)
    docker.make("c1", LOG)
    starts.update(paths, 1, {"container_id": "c1", "ready": True, "ready_seconds": 0.1})
    invocation("i2")
    assert prepare(paths) == 2
    state = starts.read(paths, 1)
    assert (state["ending"], state["fault"], bool(state["ended_at"])) == ("client_killed", True, True)
    assert docker.left == [] and "ending" not in starts.read(paths, 2)


def test_an_orphan_that_runs_is_ended_first(paths, docker, invocation):
    docker.make("c9")
    invocation("i1")
    prepare(paths)
    assert docker.asked("stop") == ["stop -t 5 c9"]
    assert docker.left == []


def test_a_stranger_with_our_name_is_not_touched(paths, docker, invocation):
    invocation("i1")
    docker.make("vllm-chat")
    path = docker.folder / "vllm-chat.json"
    path.write_text(path.read_text().replace("io.gpuhosts.vllm.service", "other"))
    with pytest.raises(ToolError, match="is not of this service"):
        prepare(paths)
    assert docker.left == ["vllm-chat"]


@pytest.mark.parametrize(
    ("published", "holder"),
    [("web", "the container web"), ("", "nginx (pid 7)")],
)
@pytest.mark.usefixtures("docker")
def test_who_has_our_port_is_named(paths, monkeypatch, published, holder):
    monkeypatch.setattr(before_start, "listeners", lambda: [Listener("127.0.0.1", 8000, 7, "nginx")])
    monkeypatch.setattr(before_start.containers, "publishing", lambda _port, runner: published.split())
    with pytest.raises(ToolError, match=r"port 8000 on 127\.0\.0\.1 is held by"):
        prepare(paths)
    known = starts.read(paths, 1)
    assert known["verdict"] == "not_begun"
    assert known["reason"] == (
        f"port 8000 on 127.0.0.1 is held by {holder}; stop it, or give chat another port; "
        "look with: ss -ltnp 'sport = :8000'"
    )


def test_docker_down_is_said(paths, docker, invocation):
    invocation("i1")
    (docker.folder / "down").touch()
    with pytest.raises(ToolError, match="Docker does not answer"):
        prepare(paths)
    assert starts.read(paths, 1)["reason"].startswith("Docker does not answer: Cannot connect")


def test_a_start_that_has_no_room_for_its_caches_says_so(paths, docker, invocation):
    invocation("i1")
    make_folder(paths.hub_cache.parent)
    paths.hub_cache.write_text("a file in the way")
    with pytest.raises(ToolError, match="File exists"):
        prepare(paths)
    assert starts.read(paths, 1)["verdict"] == "not_begun"


def test_without_a_release_there_is_no_start(paths, docker):
    paths.current.unlink()
    with pytest.raises(ToolError, match="has no current release"):
        prepare(paths)


def test_an_ending_is_kept_and_nothing_is_left(paths, docker, invocation, secrets):
    environ = invocation("i1")
    prepare(paths)
    docker.make("c1", LOG, Status="exited", ExitCode=1, OOMKilled=True)
    paths.cid.write_text("c1")
    assert finish(paths, environ=environ)
    state = starts.read(paths, 1)
    assert (state["exit_code"], state["oom_killed"], state["service_result"]) == (1, True, "exit-code")
    assert state["first_error"] == "ValueError: [secret HF_TOKEN] is no model"
    assert docker.left == [] and not paths.cid.exists()
    kept = [path.read_text() for path in paths.start(1).iterdir()]
    assert len(kept) == 3 and not [text for text in kept if secrets in text]
    assert json.loads((paths.start(1) / "startup.json").read_text())["first_error_line"]


def test_the_journal_is_told_how_a_start_ended_and_why(paths, docker, invocation, capsys):
    """The engine's own lines are not in it."""
    environ = invocation("i1")
    prepare(paths)
    docker.make("c1", PORT_TAKEN, Status="exited", ExitCode=1)
    paths.cid.write_text("c1")
    assert finish(paths, environ=environ)
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("chat: start 1 ended: ") and said[0].endswith("(engine_ended)")
    assert "  diagnosis: the address is taken (port_in_use)" in said
    assert "  runbook: docs/runbooks/diagnoses/port_in_use.md" in said


def test_a_start_whose_gate_was_killed_has_a_verdict_all_the_same(paths, docker, invocation):
    environ = invocation("i1")
    prepare(paths)
    starts.update(paths, 1, {"container_id": "c1"})
    docker.make("c1", LOG)
    assert finish(paths, environ=environ)
    known = starts.read(paths, 1)
    assert (known["ready"], known["verdict"]) == (False, "cut_off")
    assert known["reason"].startswith("the start was cut off: its gate was killed, so nobody could say")
    assert (known["ending"], known["fault"]) == ("gate_killed", True)
    assert docker.left == []


@pytest.mark.parametrize(("ready", "grace"), [(True, 7), (False, 5)])
def test_an_engine_that_outlived_its_client_is_ended_with_its_grace(paths, docker, invocation, ready, grace):
    environ = invocation("i1")
    prepare(paths)
    starts.update(paths, 1, {"container_id": "c1", "ready": ready})
    docker.make("c1", LOG)
    assert finish(paths, environ=environ)
    assert docker.asked("stop") == [f"stop -t {grace} c1"]
    assert docker.left == []


def test_docker_down_at_the_end_is_noted_and_made_good_by_the_next_start(paths, docker, invocation):
    environ = invocation("i1")
    prepare(paths)
    starts.update(paths, 1, {"container_id": "c1"})
    docker.make("c1", LOG, Status="exited", ExitCode=9)
    (docker.folder / "down").touch()
    assert not finish(paths, environ=environ)
    assert "Docker did not answer" in starts.read(paths, 1)["evidence_error"]
    (docker.folder / "down").unlink()
    invocation("i2")
    prepare(paths)
    assert starts.read(paths, 1)["exit_code"] == 9


@pytest.mark.parametrize("killed", [{}, {20: 5}])
def test_an_engine_whose_docker_is_gone_is_ended_past_docker(paths, docker, invocation, monkeypatch, killed):
    """It would serve on with nobody who watches it, and the unit would say that it is down."""
    living, sent = {"c1": {20: 5}}, []

    def ask(processes):
        sent.append(("term", dict(processes)))
        if not killed:  # it heard SIGTERM
            living.clear()

    monkeypatch.setattr(container_processes, "of_container", lambda name: dict(living.get(name, {})))
    monkeypatch.setattr(container_processes, "ask_to_end", ask)
    monkeypatch.setattr(container_processes, "kill", lambda processes: sent.append(("kill", dict(processes))))
    monkeypatch.setattr(engine, "SHORT_GRACE", 0.3)
    environ = invocation("i1")
    prepare(paths)
    starts.update(paths, 1, {"container_id": "c1", "ready": True, "verdict": "ready"})
    (docker.folder / "down").touch()
    assert not finish(paths, environ=environ)
    assert sent == [("term", {20: 5}), ("kill", killed)]
    assert starts.read(paths, 1)["ending"] == "docker_lost"


def test_a_start_that_never_got_a_number_takes_no_other_s_evidence(paths, docker, invocation):
    environ = invocation("i1")
    prepare(paths)
    finish(paths, environ=environ)
    ended = starts.read(paths, 1)
    assert finish(paths, environ=invocation("i2"))
    assert starts.read(paths, 1) == ended


def test_a_served_engine_gets_the_grace_of_its_release(paths, docker):
    docker.make("c1")
    docker.make("c2", Status="exited")
    stop(paths)
    assert docker.asked("stop") == ["stop -t 7 c1"]


class Client:
    """Docker's client, which ends a moment after the engine."""

    def __init__(self, looks):
        self.looks = looks

    def lives(self):
        self.looks -= 1
        return self.looks >= 0


class Ticks:
    """A clock that goes on when somebody sleeps."""

    def __init__(self):
        self.passed = 0.0

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += seconds


@pytest.mark.parametrize(("looks", "waited"), [(0, 0.0), (30, 0.3), (10_000, 5.0)])
def test_the_client_may_say_how_the_engine_ended_but_not_for_ever(looks, waited):
    clock = Ticks()
    await_client(Client(looks), clock=clock)
    assert clock.passed == pytest.approx(waited, abs=0.1)


@pytest.fixture
def served(paths, docker, invocation):
    """A start that became ready; what systemd says at its ending."""
    environ = invocation("i1")
    prepare(paths)
    starts.update(paths, 1, {"container_id": "c1", "ready": True, "verdict": "ready", "ready_seconds": 0.0})
    return environ


def test_a_stop_that_was_asked_for_is_no_fault_and_does_not_count(paths, docker, served):
    docker.make("c1", LOG, Status="exited", ExitCode=0)
    (docker.folder / "jobs").write_text("7 vllm-chat.service restart running\n")
    assert finish(paths, environ=served)
    known = starts.read(paths, 1)
    assert (known["ending"], known["fault"]) == ("stopped", False)
    assert docker.asked("systemctl reset-failed") == ["systemctl reset-failed vllm-chat.service"]


def test_an_engine_that_died_counts(paths, docker, served):
    docker.make("c1", LOG, Status="exited", ExitCode=0)
    (docker.folder / "events").write_text("die\n")
    assert finish(paths, environ=served)
    known = starts.read(paths, 1)
    assert (known["ending"], known["fault"]) == ("engine_ended", True)
    assert known["ending_reason"].endswith(": ValueError: planted-token is no model")
    assert docker.asked("systemctl reset-failed") == []


def test_what_was_stopped_past_systemd_is_named_also_when_the_container_is_gone(paths, docker, served):
    (docker.folder / "events").write_text("kill 9\ndie\ndestroy\n")
    assert finish(paths, environ={**served, "EXIT_STATUS": "137"})
    known = starts.read(paths, 1)
    assert (known["ending"], known["exit_code"]) == ("stopped_in_docker", 137)
    assert "its container was gone" in known["evidence_error"]


@pytest.mark.parametrize(
    "said", [["docker: Error response from daemon: no such device.", "See 'docker run --help'."], []]
)
@pytest.mark.usefixtures("docker")
def test_a_container_that_docker_never_made_is_told_in_docker_s_words(paths, invocation, monkeypatch, said):
    environ = {**invocation("i1"), "EXIT_STATUS": "125"}
    prepare(paths)
    monkeypatch.setattr(
        after_stop.systemd, "said_by_main", lambda invocation, runner: said if invocation == "i1" else []
    )
    assert finish(paths, environ=environ)
    known = starts.read(paths, 1)
    why = said[0] if said else "exit 125"
    assert (known["ending"], known.get("exit_code"), known.get("evidence_error")) == ("never_ran", None, None)
    assert known["ending_reason"].startswith(f"Docker did not run the container ({why})")
    assert (paths.start(1) / "log").exists() == bool(said)


def test_a_container_that_docker_could_not_start_is_diagnosed_from_docker_s_words(paths, docker, invocation):
    environ = {**invocation("i1"), "EXIT_STATUS": "125"}
    prepare(paths)
    error = "OCI runtime create failed: nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8"
    never = "0001-01-01T00:00:00Z"
    docker.make("c1", "", Status="created", ExitCode=128, Error=error, StartedAt=never, FinishedAt=never)
    (docker.folder / "events").write_text("create\ndie\n")
    paths.cid.write_text("c1")
    assert finish(paths, environ=environ)
    known = starts.read(paths, 1)
    assert known["ending"] == "never_ran" and known["ending_reason"].startswith("Docker did not run the container (OCI")
    assert (paths.start(1) / "log").read_text() == f"docker: Error response from daemon: {error}\n"
    assert json.loads((paths.start(1) / "startup.json").read_text())["diagnosis"] == "driver_too_old_for_cuda"


@pytest.mark.parametrize("name", ["log", "log.part"])
@pytest.mark.usefixtures("docker")
def test_of_a_removed_container_is_kept_what_the_gate_has_read(paths, served, name):
    """Also when the gate was killed before it could complete what it had read."""
    (paths.start(1) / name).write_text("one\nValueError: two\n")
    assert finish(paths, environ={**served, "EXIT_STATUS": "137"})
    assert (paths.start(1) / "log").read_text() == "one\nValueError: two\n"
    assert not (paths.start(1) / "log.part").exists()
    known = starts.read(paths, 1)
    assert "the log ends where the gate stopped reading" in known["evidence_error"]
    assert known.get("first_error") == ("ValueError: two" if name == "log.part" else None)


def test_the_beginning_that_docker_has_let_go_of_stays(paths, docker, served):
    """A long noisy life: Docker keeps the newest part of the log, the gate has kept the start-up."""
    (paths.start(1) / "log").write_text("the start-up\n[... 3 lines left out ...]\nserving\n")
    docker.make("c1", "noise 8\nValueError: the end\n", Status="exited", ExitCode=0)
    assert finish(paths, environ=served)
    gap = "[... the lines in between were left out: Docker had let go of them when this start ended ...]\n"
    kept = f"the start-up\n[... 3 lines left out ...]\nserving\n{gap}noise 8\nValueError: the end\n"
    assert (paths.start(1) / "log").read_text() == kept
    known = starts.read(paths, 1)
    assert (known["first_error"], known["log_lines"], known["log_lines_left_out"]) == ("ValueError: the end", 2, 0)


def test_a_log_that_docker_has_whole_is_kept_anew(paths, docker, served, secrets):
    (paths.start(1) / "log").write_text("(APIServer pid=1) INFO 11-30 12:00:00 [x.py:1] token [secret HF_TOKEN]\n")
    docker.make("c1", LOG, Status="exited", ExitCode=0)
    assert finish(paths, environ=served)
    assert (paths.start(1) / "log").read_text().splitlines() == [
        "(APIServer pid=1) INFO 11-30 12:00:00 [x.py:1] token [secret HF_TOKEN]",
        "ValueError: [secret HF_TOKEN] is no model",
    ]


def test_a_container_without_a_word_takes_nothing_from_what_was_kept(paths, docker, served):
    (paths.start(1) / "log").write_text("one\n")
    docker.make("c1", "", Status="exited", ExitCode=0)
    assert finish(paths, environ=served)
    assert (paths.start(1) / "log").read_text() == "one\n"


def test_a_log_that_docker_cannot_read_to_its_end_is_kept_as_far_as_it_goes(paths, docker, served):
    docker.make("c1", "one\ntwo\n", Status="exited", ExitCode=0)
    (docker.folder / "logs-fail").touch()
    assert finish(paths, environ=served)
    assert docker.left == [] and (paths.start(1) / "log").read_text() == "one\ntwo\n"
    assert starts.read(paths, 1)["evidence_error"] == "its log ends early, Docker said: error from daemon: EOF"


def test_what_looks_like_a_key_is_not_kept(paths, docker, served):
    docker.make("c1", "args: --api-key abcdef123 hf_abcdefghij\n", Status="exited", ExitCode=0)
    assert finish(paths, environ=served)
    assert (paths.start(1) / "log").read_text() == "args: --api-key *** hf_***\n"


def test_a_disk_that_refuses_is_said_and_leaves_no_container(paths, docker, served, monkeypatch, capsys):
    def refuse(*_words):
        raise OSError(28, "No space left on device")

    docker.make("c1", LOG, Status="exited", ExitCode=1)
    monkeypatch.setattr(kept_log, "_open_new", refuse)
    assert finish(paths, environ=served)
    assert docker.left == [] and not (paths.start(1) / "log").exists()
    known = starts.read(paths, 1)
    assert known["evidence_error"] == "its log could not be kept whole: No space left on device"
    assert (known["exit_code"], known["ending"], known["log_lines_left_out"]) == (1, "engine_ended", 2)

    docker.make("c1", LOG, Status="exited", ExitCode=1)
    monkeypatch.setattr(starts, "write_atomic", refuse)
    monkeypatch.setattr(keeping, "write_atomic", refuse)
    assert finish(paths, environ=served)
    assert docker.left == []
    assert f"chat: {paths.start(1)} could not be written: No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("started", "grace"),
    [("2026-11-30T17:53:20.822600472Z", 7), ("2026-11-30T17:53:25.82Z", 5)],
)
def test_one_that_docker_restarted_loads_and_is_not_waited_for(paths, docker, served, started, grace):
    starts.update(paths, 1, {"ready_at": "2026-11-30T17:53:25.246Z"})
    docker.make("c1", LOG, StartedAt=started)
    assert finish(paths, environ=served)
    assert docker.asked("stop") == [f"stop -t {grace} c1"]


def test_a_docker_that_was_started_anew_is_named(paths, docker, served):
    (docker.folder / "docker-life").write_text("second")
    docker.make("c1", LOG, Status="exited", ExitCode=137)
    assert finish(paths, environ=served)
    assert starts.read(paths, 1)["ending"] == "docker_lost"


def test_a_host_that_goes_down_is_named(paths, docker, served):
    (docker.folder / "jobs").write_text("1 halt.target start waiting\n2 vllm-chat.service stop running\n")
    docker.make("c1", LOG, Status="exited", ExitCode=0)
    assert finish(paths, environ=served)
    assert starts.read(paths, 1)["ending"] == "host_stopping"


def test_the_secrets_that_a_container_was_started_with_are_taken_out_of_its_log(paths, docker, invocation, secrets):
    environ = invocation("i1")
    prepare(paths)
    docker.make("c1", LOG, Status="exited", ExitCode=1)
    earlier_secrets.keep(paths, "none is there yet")
    assert not paths.earlier_secrets.exists()
    paths.cid.write_text("c1")
    earlier_secrets.keep(paths, paths.secrets.read_text())
    paths.secrets.write_text("HF_TOKEN='a newer one'\n")
    earlier_secrets.keep(paths, paths.secrets.read_text())  # changed once more: the first one is the container's
    assert paths.earlier_secrets.stat().st_mode & 0o777 == 0o600
    assert finish(paths, environ=environ)
    assert (paths.start(1) / "log").read_text().count("[secret HF_TOKEN]") == 2
    assert not paths.earlier_secrets.exists()


def test_a_secret_that_an_engine_wrote_down_is_taken_out_and_named(paths, record, docker, invocation, secrets):
    environ = invocation("i1")
    prepare(paths)
    cache = paths.compile_cache(record.host.image_id, record.host.uid)
    assert cache.stat().st_mode & 0o777 == 0o700
    notes = cache / "vllm/torch_compile_cache/3fbdd5227b/rank_0_0/backbone/cache_key_factors.json"
    notes.parent.mkdir(parents=True)
    notes.write_text(json.dumps({"env": {"HF_TOKEN": secrets}}))
    docker.make("c1", LOG, Status="exited", ExitCode=1)
    assert finish(paths, environ=environ)
    assert json.loads(notes.read_text()) == {"env": {"HF_TOKEN": "[secret HF_TOKEN]"}}
    assert starts.read(paths, 1)["printed_secrets"] == ["HF_TOKEN"]


@pytest.mark.parametrize(
    ("state", "who"),
    [
        ("starting", "somebody stopped or restarted vllm-chat.service"),
        ("soaking", "somebody stopped or restarted vllm-chat.service"),
        ("stopped", "the run r1 stopped it"),
        ("rolling_back", "the run r1 stopped it"),
    ],
)
def test_a_run_is_named_only_where_it_is_the_one_that_stops(paths, docker, invocation, state, who):
    environ = invocation("i1")
    prepare(paths)
    kind = "stop" if state == "stopped" else "first_start"
    append_entry(paths, Entry("t", "r1", kind, "staged", DONE, "rel-a"))
    append_entry(paths, Entry("t", "r1", kind, state, INTENT, "rel-a"))
    (docker.folder / "jobs").write_text("7 vllm-chat.service stop running\n")
    assert finish(paths, environ=environ)
    known = starts.read(paths, 1)
    assert (known["ending"], known["fault"]) == ("stopped", False)
    assert known["ending_reason"].startswith(who), known
