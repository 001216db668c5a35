# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""No secret is in what a diagnosis shows, whatever shape it has and wherever it is; what is none stays."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.diagnose.budget import MIB
from ansible_collections.gpuhosts.vllm.plugins.module_utils.diagnose.contents import (
    DATA,
    INSPECT,
    RECORD,
    RUN,
    TEXT,
    UNIT,
    Raw,
    clean,
    parts_of,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.diagnose.scrub import (
    Scrubber,
    found_secrets,
    loose_secrets,
    masked_words,
    run_file,
    unit_text,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.diagnose.variables import HIDDEN, SHOWN, shown

ODD = "q'uo\"te $HOME back\\slash ä€ 100%"
PLANTED = "plantedvalue0123456789"
REPORT = {"service": "chat", "host": "gpu7", "at": "now", "findings": [], "sections": []}


def cleaned(kind: str, content: object, scrubber: Scrubber | None = None, **more: object) -> str:
    """Give a source as it gets into the bundle."""
    raw = Raw("x", kind, content, MIB, "here", **more)  # type: ignore[arg-type]
    return clean(raw, scrubber or Scrubber({"LAB": PLANTED})).data.decode()


@pytest.mark.parametrize(
    "form",
    [ODD, json.dumps(ODD), repr(ODD), quote(ODD, safe=""), base64.b64encode(ODD.encode()).decode().rstrip("=")],
)
def test_a_known_value_is_found_in_every_spelling(form: str) -> None:
    scrubber = Scrubber({"LAB_ODD": ODD})
    assert form.strip("'\"") not in scrubber.text(f"the engine says {form} and goes on")
    assert scrubber.met == {"LAB_ODD"}


@pytest.mark.parametrize(
    "text",
    [
        f"export HF_TOKEN=hf_{PLANTED}",
        f"Authorization: Bearer {PLANTED}",
        f"--api-key {PLANTED}",
        f"'api_key': ['{PLANTED}']",
        f"https://user:{PLANTED}@hub.example/x",
        f"redis://:{PLANTED}@10.0.0.1:6379",
        f"https://{PLANTED}@hub.example/x",
    ],
)
def test_what_looks_like_a_secret_goes_also_where_nobody_knows_it(text: str) -> None:
    assert PLANTED not in Scrubber().text(f"INFO {text}\n")


@pytest.mark.parametrize(
    "text",
    [
        "GPU KV cache size: 65,536 tokens, Maximum concurrency for 1,024 tokens per request: 64.00x\n",
        "ValueError: To serve at least one request with max seq len (4096), 4.00 GiB KV cache is needed\n",
        "http://127.0.0.1:8000/v1/models git@example.org:x/y\n",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Scrubber({"LAB": PLANTED}).text(text) == text


def test_secrets_nobody_told_us_of_are_found_by_their_name() -> None:
    variables = {
        "MY_PASSWORD": PLANTED,
        "TOKENIZERS_PARALLELISM": "false-and-long",
        "SHORT_KEY": "abc",
        "DSN": "postgres://me:p%40ssw0rd!@db/x",
    }
    found = found_secrets(variables, ["vllm", "serve", "--api-key", "anothersecret", "--hf-token=thirdsecret"])
    assert found == {
        "MY_PASSWORD": PLANTED,
        "--api-key": "anothersecret",
        "--hf-token": "thirdsecret",
        "password of me": "p%40ssw0rd!",
        "the decoded password of me": "p@ssw0rd!",
    }


def test_a_secrets_file_that_somebody_broke_hides_all_that_is_in_it() -> None:
    text = f"HF_TOKEN='open quote {PLANTED}\nnot a pair\nLAB: another-long-one\n"
    scrubber = Scrubber(loose_secrets(text))
    for value in (PLANTED, "another-long-one", f"open quote {PLANTED}"):
        assert value not in scrubber.text(f"it said {value} then")
    assert scrubber.text("not a word of it") == "not a word of it"


def test_plain_data_is_cleaned_by_key_and_by_word() -> None:
    data = {
        "api_key": ["one", "two"],
        "hf-token": "three",
        "pad_token": "<pad>",
        "secret_names": ["HF_TOKEN"],
        "words": ["serve", "--api-key", "four", "--env", "MINE=five", "-e=MINE=six", "--port", "8000"],
        "nested": [{"deep": f"x {PLANTED} y"}],
        PLANTED: True,
    }
    assert Scrubber({"LAB": PLANTED}).data(data) == {
        "api_key": "***",
        "hf-token": "***",
        "pad_token": "<pad>",
        "secret_names": ["HF_TOKEN"],
        "words": ["serve", "--api-key", "***", "--env", f"MINE={HIDDEN}", f"-e=MINE={HIDDEN}", "--port", "8000"],
        "nested": [{"deep": "x [secret LAB] y"}],
        "[secret LAB]": True,
    }


def test_data_without_an_end_has_one() -> None:
    loop: dict[str, object] = {}
    loop["again"] = loop
    assert "(too deep)" in json.dumps(Scrubber().data(loop))


def test_variables_are_shown_by_name_and_switches_by_value() -> None:
    assert shown("NCCL_DEBUG", "INFO") == "INFO"
    assert shown("VLLM_HOST_IP", "10.0.0.1") == "10.0.0.1"
    assert shown("NCCL_DEBUG", "a secret in the wrong place") == HIDDEN
    assert shown("VLLM_API_KEY", "x") == shown("LD_PRELOAD", "x") == HIDDEN
    assert all(name.startswith(("VLLM_", "NCCL_")) for name in SHOWN)
    assert not [name for name in SHOWN if "KEY" in name or "TOKEN" in name or "PASSWORD" in name]


def test_the_run_file_keeps_its_options_and_loses_its_values() -> None:
    text = (
        "#!/bin/sh\n# Release rel-1\nset -eu\nexec docker run \\\n  --name vllm-chat \\\n"
        f"  --env 'MINE={PLANTED}\nmore' \\\n  --env NCCL_DEBUG=INFO \\\n  -e OTHER={PLANTED} \\\n"
        f"  sha256:1 /gpuhosts/entry /srv/m \\\n  --api-key {PLANTED} \\\n  --port 8000\n"
    )
    kept = run_file(text)
    assert PLANTED not in kept and "more" not in kept
    assert "--env 'MINE=[not-shown]'" in kept and "--env NCCL_DEBUG=INFO" in kept and "--port 8000" in kept


def test_a_run_file_that_no_shell_reads_is_left_out() -> None:
    assert cleaned(RUN, f"exec 'docker run --env X={PLANTED}") == (
        "[left out: it could not be read well enough to be cleaned (ValueError)]\n"
    )


def test_a_unit_keeps_the_names_of_its_variables() -> None:
    text = f"[Service]\nEnvironment=A={PLANTED} 'B=x {PLANTED}'\nEnvironment=C=1 \\\n  D={PLANTED}\nExecStart=/run\n"
    assert unit_text(text).splitlines() == [
        "[Service]",
        f"Environment=A={HIDDEN} B={HIDDEN}",
        f"Environment=C={HIDDEN} D={HIDDEN}",
        "ExecStart=/run",
    ]
    assert PLANTED not in cleaned(UNIT, text, Scrubber())


def test_inspect_has_no_values_of_variables() -> None:
    data = {
        "Config": {"Env": [f"MINE={PLANTED}", "NCCL_DEBUG=INFO", "PATH=/usr/bin"], "Cmd": ["--api-key", PLANTED]},
        "ContainerConfig": {"Env": [f"MINE={PLANTED}"]},
        "GraphDriver": None,
        "Args": ["/gpuhosts/entry", f"--api-key={PLANTED}"],
    }
    said = json.loads(cleaned(INSPECT, data, Scrubber()))
    assert said["Config"] == {
        "Env": [f"MINE={HIDDEN}", "NCCL_DEBUG=INFO", f"PATH={HIDDEN}"],
        "Cmd": ["--api-key", "***"],
    }
    assert said["ContainerConfig"] == {"Env": [f"MINE={HIDDEN}"]}
    assert said["Args"] == ["/gpuhosts/entry", "--api-key=***"]


def test_a_release_has_no_values_of_variables() -> None:
    said = json.loads(
        cleaned(RECORD, {"content": {"env": {"MINE": PLANTED, "NCCL_DEBUG": "INFO"}, "port": 1}}, Scrubber())
    )
    assert said == {"content": {"env": {"MINE": HIDDEN, "NCCL_DEBUG": "INFO"}, "port": 1}}
    assert json.loads(cleaned(RECORD, {"content": [1]}, Scrubber())) == {"content": [1]}
    assert json.loads(cleaned(DATA, {"x": b"\xff"}, Scrubber())) == {"x": "b'\\xff'"}


@pytest.mark.parametrize("at", range(0, 60, 7))
def test_no_piece_of_a_secret_is_left_where_a_log_is_cut(at: int) -> None:
    """The first half of it is the end of the head, the other one the begin of the tail, in lines without an end."""
    filler = "x" * 200_000
    head = filler + PLANTED[: at % len(PLANTED)]
    tail = PLANTED[at % len(PLANTED) :] + filler
    kept = cleaned(TEXT, head, tail=tail, left_out=10)
    assert PLANTED[:6] not in kept and PLANTED[-6:] not in kept
    lines = cleaned(TEXT, "first\n" + PLANTED[:9], tail=PLANTED[9:] + "\nlast\n", left_out=10)
    assert lines == "first\n\n[... 10 bytes left out ...]\nlast\n"


def test_a_secret_in_an_endless_line_is_not_cut_in_two() -> None:
    for place in range((1 << 16) - 30, (1 << 16) + 5, 5):
        kept = cleaned(TEXT, "x " * (place // 2) + f"hf_{PLANTED} " + "y " * 70_000)
        assert PLANTED[:5] not in kept and "the rest of a line of" in kept


def test_rubbish_is_cleaned_as_well() -> None:
    rubbish = bytes(range(256)).decode("latin-1") * 2000 + PLANTED
    assert PLANTED not in cleaned(TEXT, rubbish) and "\0" not in cleaned(TEXT, rubbish)
    assert PLANTED not in cleaned(TEXT, "\0".join(PLANTED))


def test_the_bundle_says_what_is_in_it_and_what_was_taken_out() -> None:
    scrubber = Scrubber({"LAB": PLANTED})
    parts = {
        part.name: part.data.decode()
        for part in parts_of(REPORT, [Raw("log", TEXT, f"a {PLANTED} b\n", MIB, "/x/log", left_out=7)], scrubber)
    }
    assert sorted(parts) == ["log", "manifest.json", "report.json", "report.txt"]
    listed = json.loads(parts["manifest.json"])
    assert listed["secrets_taken_out"] == ["LAB"]
    assert [(part["name"], part["left_out"]) for part in listed["parts"]] == [
        ("report.json", 0),
        ("report.txt", 0),
        ("log", 7),
    ]
    assert PLANTED not in "".join(parts.values())


def test_words_behind_headers_are_masked() -> None:
    assert masked_words(["-H", "X-Key: 1", "--header", "A: b", 3, None]) == ["-H", "***", "--header", "***", 3, None]
