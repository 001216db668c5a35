"""The secrets file: what a shell reads is what was given, and no value is ever said."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.secrets_file import (
    compare_secrets,
    parse_secrets,
    render_secrets,
)

AWKWARD = {
    "PLAIN": "hf_abc",
    "QUOTES": 'it\'s "quoted"',
    "SHELL": "$(touch /tmp/x) `id` ${HOME} \\ ; & |",
    "SPACES": "  two  spaces ",
    "LINES": "a\nb",
    "EMPTY": "",
    "UTF": "schlüssel-日本",
}


def test_what_was_written_is_read_back():
    assert parse_secrets(render_secrets(AWKWARD)) == AWKWARD


@pytest.mark.parametrize("name", sorted(AWKWARD))
def test_a_posix_shell_reads_every_value_as_it_was_given(tmp_path, name):
    (tmp_path / "secrets").write_text(render_secrets(AWKWARD), encoding="utf-8")
    script = f'set -a; . {tmp_path}/secrets; printf %s "${name}"'
    shown = subprocess.run(["sh", "-c", script], capture_output=True, check=True, encoding="utf-8").stdout
    assert shown == AWKWARD[name]


def test_a_difference_names_secrets_and_never_says_a_value():
    lines = compare_secrets({"A": "old-value", "B": "same", "C": "gone"}, {"A": "new-value", "B": "same", "D": "fresh"})
    assert lines == ["A changed", "C removed", "D added"]


@pytest.mark.parametrize("text", ["A='open", "no pair at all", "1A=x"])
def test_a_file_that_somebody_else_wrote_is_refused_without_showing_it(text):
    with pytest.raises(ValueError, match="the secrets file has") as caught:
        parse_secrets(text)
    assert "open" not in str(caught.value).replace("an open quote", "")
