# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""vllm-host audit: a release, a release against another version, a file; and its exit statuses."""

from __future__ import annotations

import io
import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import cli
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.audit import main


@pytest.fixture
def host(paths, monkeypatch):
    monkeypatch.setenv("VLLM_HOST_ROOT", paths.root)
    return paths


def test_a_service_is_audited_as_what_it_runs(host, capsys):
    assert main(["chat"]) == 0
    assert capsys.readouterr().out.startswith("chat for vLLM 0.32.0: ")


def test_a_service_is_audited_for_the_release_that_it_may_go_to(host, capsys):
    assert main(["chat", "--version", "0.33.0", "--json"]) in (0, 1)
    report = json.loads(capsys.readouterr().out)
    assert (report["version"], report["previous_version"], report["kind"]) == ("0.33.0", "0.32.0", "service")


def test_a_file_has_an_exit_status_for_each_end(tmp_path, capsys, monkeypatch):
    line = tmp_path / "line"
    line.write_text("vllm serve Qwen/Qwen3-8B --swap-space 4\n")
    assert main(["--file", str(line), "--version", "0.32.0", "--previous", "0.17.0"]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"{line} for vLLM 0.32.0, before 0.17.0: ")
    assert "ERROR FLAG_REMOVED" in said and "--swap-space" in said
    monkeypatch.setattr("sys.stdin", io.StringIO("vllm serve Qwen/Qwen3-8B --max-model-len 4096\n"))
    assert main(["--file", "-", "--version", "0.32.0"]) == 0
    assert main(["--file", str(line), "--version", "newest"]) == 2
    assert "'newest' is no vLLM release" in capsys.readouterr().err
    assert main(["--file", str(tmp_path / "none"), "--version", "0.32.0"]) == 2
    assert "none: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["chat", "--file", "x"], ["--file", "x"]])
def test_a_wrong_command_line_is_a_usage_error(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "usage: vllm-host audit" in capsys.readouterr().err


def test_it_only_looks():
    assert "audit" in cli.VERBS
    assert "audit" in cli.LOOKS
