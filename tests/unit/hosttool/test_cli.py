# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The program: its verbs, its words for people, and the zip that it travels in."""

from __future__ import annotations

import gzip
import io
import json
import marshal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import cli
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import starts
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.zipapp import (
    build,
    collection_sources,
    collection_version,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture
def tool(paths, monkeypatch, capsys):
    """Run the program on the folder that stands for a host."""
    monkeypatch.setenv("VLLM_HOST_ROOT", paths.root)

    def run(*words):
        code = cli.main(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_help_and_wrong_words(tool):
    code, out, _err = tool("--help")
    assert code == 0 and all(f"  {verb} " in out for verb in cli.VERBS)
    assert tool()[0] == 2
    assert "usage:" in tool("launch")[2]


@pytest.mark.parametrize("verb", [verb for verb in cli.VERBS if verb != "health"])
def test_every_verb_explains_itself_and_takes_no_path_for_a_name(tool, verb):
    with pytest.raises(SystemExit) as ended:
        tool(verb, "--help")
    assert ended.value.code == 0
    if verb == "resume":  # it is about all services
        return
    code, _out, err = tool(verb, "../etc")
    assert code == 1 and "'../etc' is no name of a service" in err


def test_a_bug_is_one_line(tool, monkeypatch):
    def broken(_words):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(cli, "_load", lambda _verb: broken)
    assert tool("status", "chat") == (1, "", "vllm-host status: unexpected ZeroDivisionError: oops\n")


def test_as_vllm_health_it_is_that_verb(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/vllm-health", "--help"])
    assert cli.main() == 0
    assert "usage: vllm-health" in capsys.readouterr().out


def test_status_of_a_service_that_does_not_run(tool, paths, record):
    code, out, _err = tool("status", "chat")
    assert code == 1 and f"current    {record.id}" in out
    data = json.loads(tool("status", "chat", "--json")[1])
    assert data["current"] == record.id and data["last_run"] is None


def test_show_and_startup_log(tool, paths, record):
    assert json.loads(tool("show", "chat")[1])["id"] == record.id
    assert json.loads(tool("show", "chat", "journal")[1]) == []
    code, _out, err = tool("startup-log", "chat")
    never = "chat was never started on this host; run the deploy playbook"
    assert (code, err) == (1, f"vllm-host startup-log: {never}\n")
    seq = starts.begin(paths, {})
    (paths.start(seq) / "startup.json").write_text('{"kv_cache_tokens": [10]}')
    (paths.start(seq) / "log").write_text("ready\n")
    assert json.loads(tool("startup-log", "chat")[1]) == {"start": 1, "kv_cache_tokens": [10]}
    assert tool("startup-log", "chat", "--log", "--start", "1")[1] == "ready\n"
    assert "has no start '7'; kept are 1 to 1" in tool("startup-log", "chat", "--start", "7")[2]
    assert json.loads(tool("show", "chat", "start", "--start", "1")[1])["startup"] == {"kv_cache_tokens": [10]}
    assert "has no start '7'; kept are 1 to 1" in tool("show", "chat", "start", "--start", "7")[2]


@pytest.mark.parametrize("name", ["log", "log.gz", "log.part"])
def test_a_kept_log_is_shown_whatever_its_form(tool, paths, name):
    seq = starts.begin(paths, {})
    text = "one\nzw\u00f6lf\n"
    data = gzip.compress(text.encode()) if name == "log.gz" else text.encode()
    (paths.start(seq) / name).write_bytes(data)
    assert tool("startup-log", "chat", "--log") == (0, text, "")


def test_a_start_without_a_container_has_no_log(tool, paths):
    starts.begin(paths, {})
    said = "vllm-host startup-log: chat: start 1 has no log: no container of it was ever seen\n"
    assert tool("startup-log", "chat", "--log") == (1, "", said)


def test_a_failure_is_shown_with_its_diagnosis(tool, paths):
    """Of a row of failures the first one says why."""
    report = {"state": "failed", "diagnosis": "port_in_use", "evidence": ["OSError: [Errno 98]"], "remedy": "move it"}
    failed = {"ending": "engine_ended", "fault": True, "ended_at": "t", "ending_reason": "it ended"}
    starts.begin(paths, {**failed, "reason": "the engine ended"})
    starts.begin(paths, failed)
    (paths.start(1) / "startup.json").write_text(json.dumps(report))
    said = tool("status", "chat")[1]
    assert "failed first at start 1: it ended" in said
    assert said.split("its log: vllm-host startup-log chat --start 1 --log\n")[1].splitlines()[:4] == [
        "    diagnosis: the address is taken (port_in_use)",
        "      OSError: [Errno 98]",
        "    remedy: move it",
        "    runbook: docs/runbooks/diagnoses/port_in_use.md",
    ]
    assert json.loads(tool("status", "chat", "--json")[1])["diagnosis"]["id"] == "port_in_use"
    assert json.loads(tool("show", "chat", "start", "--start", "1")[1])["diagnosis"]["source"].endswith("in_use.md")
    assert "diagnosis" not in json.loads(tool("show", "chat", "start", "--start", "2")[1])


def test_run_without_a_run(tool):
    assert tool("run", "chat") == (0, "chat: no run is open\n", "")


@pytest.fixture(scope="module")
def built():
    return build(collection_sources(ROOT), collection_version(ROOT))


def test_the_same_sources_make_the_same_bytes(built):
    sources = collection_sources(ROOT)
    assert build(dict(reversed(sources.items())), collection_version(ROOT)).data == built.data
    other = build({**sources, "findings.py": b"# changed\n"}, collection_version(ROOT))
    assert other.digest != built.digest and other.name != built.name
    assert built.name == f"vllm-host-{collection_version(ROOT)}-{built.digest[:12]}.pyz"


def test_the_zip_has_folders_in_front_of_their_files_and_one_time(built):
    names = zipfile.ZipFile(io.BytesIO(built.data)).namelist()
    assert names == sorted(names)
    assert "ansible_collections/gpuhosts/vllm/plugins/module_utils/hosttool/" in names
    assert {info.date_time for info in zipfile.ZipFile(io.BytesIO(built.data)).infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_program_checks_itself_also_through_a_link(built, tmp_path):
    program = tmp_path / built.name
    program.write_bytes(built.data)
    link = tmp_path / "vllm-host"
    link.symlink_to(built.name)
    for path in (program, link):
        done = subprocess.run(
            [sys.executable, "-I", str(path), "--self-check"], capture_output=True, text=True, cwd="/", check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert f"vllm-host {collection_version(ROOT)} " in done.stdout


def called(program, *words):
    done = subprocess.run(
        [sys.executable, "-I", str(program), *words], capture_output=True, text=True, cwd="/", check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_the_compiled_form_is_used_by_its_own_python_only(built, tmp_path):
    program = tmp_path / built.name
    program.write_bytes(built.data)
    compiled = tmp_path / f"{built.name}.{sys.implementation.cache_tag}"
    assert called(program, "--compile") == (0, f"compiled: {compiled}\n", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == [program.name, compiled.name]
    first = compiled.read_bytes()
    assert called(program, "--compile")[0] == 0 and compiled.read_bytes() == first
    assert called(program, "--self-check")[0] == 0
    # What is in the compiled form speaks, and where its bytecode is of another Python the source next to it does.
    for suffix, says in (("pyc", "compiled"), ("py", "source")):
        with zipfile.ZipFile(io.BytesIO(first)) as before, zipfile.ZipFile(compiled, "w") as after:
            for entry in before.infolist():
                data = before.read(entry)
                if entry.filename == f"gpuhosts_vllm_build.{suffix}":
                    code = compile(f"VERSION = {says!r}", "x", "exec")
                    data = data[:16] + marshal.dumps(code) if suffix == "pyc" else b"VERSION = 'source'"
                elif entry.filename.endswith(".pyc") and suffix == "py":
                    data = b"\x00\x00\r\n" + data[4:]
                after.writestr(entry, data)
        assert called(program, "--version") == (0, f"{says}\n", "")
    compiled.rename(tmp_path / f"{built.name}.cpython-38")
    assert called(program, "--version") == (0, f"{collection_version(ROOT)}\n", "")


def test_a_disk_that_refuses_leaves_the_program_as_it_is(built, tmp_path):
    program = tmp_path / built.name
    program.write_bytes(built.data)
    (tmp_path / f"{built.name}.{sys.implementation.cache_tag}" / "in the way").mkdir(parents=True)
    rc, _out, said = called(program, "--compile")
    assert rc == 1 and said.endswith("; the program works without it, only slower\n") and "Traceback" not in said
    assert called(program, "--self-check")[0] == 0
    assert not list(tmp_path.glob(".*"))


def test_a_broken_program_does_not_pass_its_check(tmp_path):
    sources = {**collection_sources(ROOT), "release/machine.py": b"import nothing_of_the_kind\n"}
    program = tmp_path / "broken.pyz"
    program.write_bytes(build(sources, "0").data)
    done = subprocess.run(
        [sys.executable, "-I", str(program), "--self-check"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0


def test_letters_that_the_locale_does_not_know_are_no_error(monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    monkeypatch.setattr(cli, "version", lambda: "größer")
    assert cli.main(["--version"]) == 0
    narrow.flush()
    assert narrow.buffer.getvalue() == b"gr\\xf6\\xdfer\n"


@pytest.mark.parametrize("verb", [verb for verb in cli.VERBS if verb not in cli.LOOKS])
def test_who_is_not_root_changes_nothing(monkeypatch, capsys, verb):
    monkeypatch.delenv("VLLM_HOST_ROOT", raising=False)
    monkeypatch.setattr(cli, "other_than_root", lambda: "ops (uid 1000)")
    monkeypatch.setattr(cli, "_load", lambda _verb: pytest.fail)
    assert cli.main([verb, "chat"]) == 1
    said = capsys.readouterr().err
    assert said == f"vllm-host {verb}: this ran as ops (uid 1000), expected root. Next: sudo vllm-host {verb} chat\n"
