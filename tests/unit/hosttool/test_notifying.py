# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The hook is told what happened, in time and without secrets, and nothing that it does changes the run."""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import notifying
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.notifying import notify
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.steps import Context
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.notify_hook import call_command, call_url
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.files import gate_text
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, FAILED, INTENT, Entry


@pytest.fixture
def failed(paths, record):
    """A change whose new engine prints a secret and ends, with the hook that is given."""

    def made(hook, state="starting", phase=FAILED):
        (paths.release(record.id) / "gate.json").write_text(gate_text({"notify": hook}, {}))
        told = "the engine ended: token planted-token, password=hunter2222"
        opened = Entry("t0", "r1", "change", "staged", DONE, record.id, by="ada", data={"way_back": "rel-old"})
        records = (opened, Entry("t1", "r1", "change", "starting", FAILED, record.id, message=told))
        if (state, phase) != ("starting", FAILED):
            records = (*records, Entry("t2", "r1", "change", state, phase, record.id))
        return Context(paths, opened, records)

    return made


@pytest.fixture
def server():
    """A webhook; what it got is in `got`, what it answers in `status`."""

    class Hook(BaseHTTPRequestHandler):
        got, status, wait = [], 200, 0.0

        def do_POST(self):
            Hook.got.append((self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
            time.sleep(Hook.wait)
            self.send_response(Hook.status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(b"x" * 9999)

        def log_message(self, *_words):
            pass

    made = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    Hook.url = f"http://127.0.0.1:{made.server_port}/hook"
    yield Hook
    made.shutdown()
    made.server_close()


def test_a_command_and_a_url_are_told_the_same_without_secrets(failed, server, tmp_path, secrets):
    command = [sys.executable, "-c", f"import sys; open({str(tmp_path / 'got')!r}, 'w').write(sys.stdin.read())"]
    notify(failed({"command": command, "webhook": server.url})).join()
    text = (tmp_path / "got").read_text()
    assert server.got == [("application/json", text.encode())]
    told = json.loads(text)
    assert told.pop("host")
    assert told.pop("release").startswith("rel-")
    assert told == {
        "event": "gate_failed", "service": "chat", "run": "r1", "kind": "change",
        "way_back": "rel-old", "state": "starting", "at": "t1", "by": "ada",
        "reason": "the engine ended: token [secret HF_TOKEN], password=***",
        "next": "on the host: vllm-host status chat",
    }  # fmt: skip
    assert secrets not in text and "hunter" not in text


def test_the_end_of_a_run_is_told_with_its_first_cause_and_the_way_on(failed, server):
    for state in ("rolled_back", "rollback_failed"):
        notify(failed({"webhook": server.url}, state, DONE)).join()
    told = [json.loads(body) for _kind, body in server.got]
    assert [each["event"] for each in told] == ["rolled_back", "rollback_failed"]
    assert all(each["reason"].startswith("the engine ended") for each in told)
    assert all("ansible-playbook gpuhosts.vllm." in each["next"] for each in told)


@pytest.mark.parametrize(("state", "phase"), [("stopped", FAILED), ("committed", DONE), ("rolling_back", INTENT)])
def test_of_other_records_nobody_is_told(failed, server, state, phase):
    assert notify(failed({"webhook": server.url}, state, phase)) is None
    assert server.got == []


def test_without_a_hook_and_with_a_broken_one_the_run_goes_on(failed, paths, record):
    assert notify(failed({})) is None
    context = failed({})
    (paths.release(record.id) / "gate.json").write_text("{")
    assert notify(context) is None
    assert "notify: nobody could be told: JSONDecodeError" in paths.progress.read_text()


def test_what_fails_is_one_line_each(failed, server, paths, secrets):
    server.status = 302
    code = "import sys; print('cannot send planted-token'); sys.exit(3)"
    notify(failed({"command": [sys.executable, "-c", code], "webhook": server.url})).join()
    said = paths.progress.read_text().splitlines()
    assert len(said) == 2 and len(server.got) == 1  # no redirect is followed
    assert "the command was not told:" in said[0] and "ended with status 3: cannot send [secret HF_TOKEN]" in said[0]
    assert said[1].endswith("notify: the webhook was not told: HTTP 302; the run goes on")


def test_a_hook_that_hangs_is_not_waited_for_and_not_for_ever(failed, server, paths, monkeypatch):
    monkeypatch.setattr(notifying, "SECONDS", 0.3)
    server.wait = 2.0
    began = time.monotonic()
    telling = notify(failed({"command": ["sleep", "60"], "webhook": server.url}))
    assert time.monotonic() - began < 0.3
    telling.join()
    assert time.monotonic() - began < 2.0
    said = paths.progress.read_text()
    assert "the command was not told: sleep did not end within 0.3 s" in said
    assert "the webhook was not told: no answer within 0.3 s" in said


def test_a_command_takes_its_children_with_it_and_its_output_is_bounded(tmp_path):
    script = f"sleep 60 & echo $! > {tmp_path}/child; yes | head -c 9999999; exit 0"
    assert call_command(["sh", "-c", script], b"", 20.0) is None
    child = int((tmp_path / "child").read_text())
    until = time.monotonic() + 5
    while time.monotonic() < until and _lives(child):
        time.sleep(0.02)
    assert not _lives(child)
    failure = call_command(["sh", "-c", "yes | head -c 9999999; exit 1"], b"", 20.0)
    assert failure.startswith("sh ended with status 1: y y y") and len(failure) < 300


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def test_a_command_that_is_not_there_and_one_that_reads_nothing():
    assert call_command(["/no/such"], b"{}", 5.0) == "/no/such: No such file or directory"
    assert call_command(["true"], b"x" * 16384, 5.0) is None
    assert call_command(["sh", "-c", "exec >&- 2>&-; sleep 0.2"], b"", 5.0) is None


def test_a_url_with_nobody_behind_it_is_named_without_its_path():
    assert call_url("http://127.0.0.1:9/secret-path", b"{}", 2.0) == "connection refused"
