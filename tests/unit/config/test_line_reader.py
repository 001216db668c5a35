# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Words of a command line, read back: every option of every release, in every way that vLLM takes it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ansible_collections.gpuhosts.vllm.plugins.module_utils.config import options as kinds
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config._options import OPTIONS
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.arguments import option_words
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.command_line import (
    ALIAS,
    AMBIGUOUS,
    EXACT,
    PREFIX,
    UNKNOWN,
    CommandLine,
    Given,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.line_reader import read_command_line
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.options import Option, option
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.releases import RELEASES
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import Version, parse_version

NEWEST = parse_version("0.33.0")
VALUES = {
    kinds.VALUE: "v1",
    kinds.LIST: ["a", "b"],
    kinds.JSON: {"a": 1},
    kinds.JSON_LIST: ["a"],
    kinds.APPEND: ["a", "b"],
    kinds.COMMA: ["1", "2"],
    kinds.FLAG: True,
    kinds.SWITCH: True,
    kinds.FLAG_VALUE: "v1",
}


def read(line: str, version: str = "0.33.0") -> CommandLine:
    """Read words that have no space in them."""
    return read_command_line(line.split(), parse_version(version))


def told(line: str, version: str = "0.33.0") -> tuple[str, str, tuple[str, ...], bool, tuple[str, ...]]:
    """What is read of the only option of a line."""
    (found,) = read(line, version).given
    return found.name, found.how, found.values, found.negated, found.path


def present(version: Version) -> list[Option]:
    """All options of a release."""
    return [found for found in (option(name, version) for name in OPTIONS) if found.present]


def others(name: str, version: Version) -> list[str]:
    """The other names that a release has for an option."""
    rows = OPTIONS[name]
    inside = (
        also
        for _kind, since, until, also in rows
        if (since is None or version >= parse_version(since)) and (until is None or version < parse_version(until))
    )
    return [each for also in inside for each in also]


def ways(found: Option, version: Version) -> Iterator[tuple[list[str], str]]:
    """The option with a value as the collection writes it, and spelled in the other ways that vLLM takes."""
    words = list(option_words(found.name, VALUES[found.kind], version))
    yield words, EXACT
    yield [word.replace("-", "_").replace("__", "--", 1) if word.startswith("--") else word for word in words], EXACT
    for other in others(found.name, version):
        spelled = [other if word == f"--{found.name}" else word for word in words]
        yield spelled, ALIAS
    if len(words) == 2:
        yield [f"{words[0]}={words[1]}"], EXACT


@pytest.mark.parametrize("version", RELEASES, ids=str)
def test_every_option_of_every_release_reads_back_however_it_is_written(version: Version) -> None:
    for found in present(version):
        expected = list(option_words(found.name, VALUES[found.kind], version))
        values = [word for word in expected if word != f"--{found.name}"]
        for words, how in ways(found, version):
            line = read_command_line(["org/model", *words, "--port", "8123"], version)
            mine = [each for each in line.given if each.name == f"--{found.name}"]
            if found.name == "port":
                mine = mine[:1]
            assert [word for each in mine for word in each.values] == values, words
            assert {each.how for each in mine} == {how}, words
            assert not any(each.negated for each in mine)
            assert line.faults == ()
            assert line.value("--port") == "8123"
            assert line.model == ("v1" if found.name == "model" else "org/model")


@pytest.mark.parametrize("version", RELEASES, ids=str)
def test_every_switch_that_can_be_turned_off_reads_back_as_off(version: Version) -> None:
    for found in present(version):
        if found.kind != kinds.FLAG:
            continue
        line = read_command_line(option_words(found.name, False, version), version)
        assert [(each.name, each.negated, each.how) for each in line.given] == [(f"--{found.name}", True, EXACT)]
        assert line.switched(f"--{found.name}") is False
        assert line.has(f"--{found.name}") is False


def test_the_beginning_of_one_name_is_that_option_and_of_two_is_named_with_both() -> None:
    assert told("--max-model-le 5") == ("--max-model-len", PREFIX, ("5",), False, ())
    assert told("--max_num_seq 5")[:2] == ("--max-num-seqs", PREFIX)
    (found,) = read("--max-num 5").given
    assert (found.how, found.written) == (AMBIGUOUS, "--max-num")
    assert {"--max-num-seqs", "--max-num-batched-tokens"} <= set(found.candidates)
    assert told("--no-enable-prefix-cach") == ("--enable-prefix-caching", PREFIX, (), True, ())


def test_a_name_of_another_release_stays_that_option_and_says_what_argparse_makes_of_it() -> None:
    (found,) = read("--device cuda", "0.33.0").given
    assert (found.name, found.how, found.values) == ("--device", EXACT, ("cuda",))
    assert found.taken_for in {None, "--device-ids"}
    assert told("--swap-space 4", "0.20.2") == ("--swap-space", EXACT, ("4",), False, ())
    assert told("--attention-backend FLASHINFER", "0.12.0")[:3] == ("--attention-backend", EXACT, ("FLASHINFER",))
    assert told("--not-an-option 4")[:3] == ("--not-an-option", UNKNOWN, ("4",))


def test_since_0_33_a_name_with_enable_has_one_with_disable() -> None:
    assert told("--disable-prefix-caching") == ("--enable-prefix-caching", ALIAS, (), True, ())
    assert told("--enable-custom-all-reduce") == ("--disable-custom-all-reduce", ALIAS, (), True, ())
    assert told("--disable-log-requests") == ("--enable-log-requests", ALIAS, (), True, ())
    assert told("--disable-log-requests", "0.32.0") == ("--disable-log-requests", EXACT, (), False, ())
    assert told("--disable-prefix-caching", "0.32.0")[1] == UNKNOWN


@pytest.mark.parametrize(
    ("version", "words", "name", "path", "values"),
    [
        ("0.33.0", "-O3", "--optimization-level", (), ("3",)),
        ("0.33.0", "-O=1", "--optimization-level", (), ("1",)),
        ("0.33.0", "-O 2", "--optimization-level", (), ("2",)),
        ("0.11.1", "-O3", "--compilation-config", ("mode",), ("3",)),
        ("0.11.1", "-O 0", "--compilation-config", ("mode",), ("0",)),
        ("0.10.2", "-O3", "--compilation-config", ("level",), ("3",)),
        ("0.10.2", "-O.level=2", "--compilation-config", ("level",), ("2",)),
        ("0.9.0", "-O3", "--compilation-config", (), ("3",)),
        ("0.33.0", "-cc.mode 3", "--compilation-config", ("mode",), ("3",)),
        ("0.33.0", "-tp 2", "--tensor-parallel-size", (), ("2",)),
        ("0.33.0", "-tp=2", "--tensor-parallel-size", (), ("2",)),
        ("0.33.0", "--compilation_config.pass_config.x 1", "--compilation-config", ("pass_config", "x"), ("1",)),
    ],
)  # fmt: skip
def test_short_and_dotted_names(version: str, words: str, name: str, path: tuple[str, ...], values: tuple) -> None:
    found = read(words, version).given[0]
    assert (found.name, found.path, found.values) == (name, path, values)


def test_dotted_keys_make_one_map_that_replaces_the_json_word() -> None:
    line = read(
        '--speculative-config {"method":"ngram"} --speculative-config.model=org/draft '
        "--speculative-config.num_speculative_tokens 3 --speculative-config.a.b 1 --speculative-config.a.c+ x,y "
        "--speculative-config.a.c+ z --speculative-config.size 1k"
    )
    assert line.mapping("--speculative-config") == {
        "model": "org/draft",
        "num_speculative_tokens": 3,
        "a": {"b": 1, "c": ["x", "y", "z"]},
        "size": 1000,
    }
    grown = read('--speculative-config.a {"b":1} --speculative-config.a.c 2')
    assert grown.mapping("--speculative-config") == {"a": {"b": 1, "c": 2}}
    assert read('--speculative-config {"method":"ngram"}').mapping("--speculative-config") == {"method": "ngram"}
    assert read("--speculative-config nonsense").mapping("--speculative-config") is None


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("32768", 32768), ("32k", 32000), ("32K", 32768), ("25.6k", 25600), ("1m", 10**6), ("1M", 2**20),
        ("2g", 2 * 10**9), ("2G", 2**31), ("1t", 10**12), ("1T", 2**40), ("-1", -1), ("auto", None), ("1.5K", None),
        ("32kb", None), ("", None), ("k", None),
    ],
)  # fmt: skip
def test_sizes_have_decimal_and_binary_suffixes(word: str, number: int | None) -> None:
    assert read_command_line(["m", f"--max-model-len={word}"], NEWEST).integer("--max-model-len") == number


def test_what_is_given_again_counts_last_and_lists_end_at_the_next_option() -> None:
    line = read("org/m --port 1 --served-model-name a b c --port 2 --api-key k1 k2 --lora-modules x=/a y=/b")
    assert line.value("--port") == "2"
    assert [each.values for each in line.all("--port")] == [("1",), ("2",)]
    assert line.last("--served-model-name") == Given("--served-model-name", "--served-model-name", ("a", "b", "c"))
    assert (line.model, line.model_is_positional, line.extras) == ("org/m", True, ())
    assert read("m --enable-prefix-caching --no-enable-prefix-caching").switched("--enable-prefix-caching") is False
    assert read("m --no-enable-prefix-caching --enable-prefix-caching").has("--enable-prefix-caching") is True


def test_a_negative_number_is_a_value_and_another_dash_is_none() -> None:
    assert read("m --seed -1").integer("--seed") == -1
    assert read("m --gpu-memory-utilization -.5").number("--gpu-memory-utilization") == -0.5
    line = read("m --chat-template -x")
    assert [fault.written for fault in line.faults] == ["--chat-template"]
    assert read_command_line(["m", "--chat-template", "-x {{ a }}"], NEWEST).value("--chat-template") == "-x {{ a }}"


def test_what_argparse_refuses_is_a_fault() -> None:
    assert [fault.written for fault in read("m --enforce-eager=true").faults] == ["--enforce-eager"]
    assert [fault.written for fault in read("m --port").faults] == ["--port"]
    assert [fault.written for fault in read("m other --port 1").faults] == ["other"]
    assert read("m --enforce-eager $MORE ${EVEN_MORE}").faults == ()
    assert read("m -- --port 1").extras == ("--port", "1")
    assert read("--model m --port 1").model == "m"
    assert read("--model m --port 1").model_is_positional is False


def test_no_value_is_printed_with_the_line() -> None:
    line = read("m --api-key do-not-show stray-word-do-not-show")
    assert "do-not-show" not in repr(line.given)
    assert "stray-word-do-not-show" not in repr(line).replace(repr(line.faults), "")


WORDS = st.one_of(
    st.sampled_from([f"--{name}" for name in OPTIONS] + ["-tp", "-O", "-O3", "-cc.x", "--", "-", "=", "--=", "--.a=b"]),
    st.sampled_from([f"--{name}"[: 6 + len(name) // 2] for name in OPTIONS]),
    st.sampled_from(["-1", "1.5", "32k", "{}", '{"a":1}', "[", "a b", "--a.b+", "--a+=1", "--no-", "-O.", "-O="]),
    st.text(max_size=12),
)


@settings(max_examples=150, deadline=None, database=None)
@given(words=st.lists(WORDS, max_size=12), version=st.sampled_from(RELEASES))
def test_any_words_are_read_and_asked_without_raising(words: list[str], version: Version) -> None:
    line = read_command_line(words, version)
    for each in line.given:
        line.mapping(each.name), line.integer(each.name), line.number(each.name), line.switched(each.name)
        assert each.written.startswith("-")
    kept = sum(len(each.values) for each in line.given) + len(line.given) + len(line.extras)
    assert kept <= len(words) * 2


class Refused(Exception):
    """What argparse answers to words that it does not take."""


class Oracle(argparse.ArgumentParser):
    """The parser of the standard library, made from the same table; vLLM's own sits on it."""

    def error(self, message: str) -> None:
        raise Refused(message)


def oracle(version: Version) -> Oracle:
    """A parser with every option of a release that needs no step before argparse."""
    parser = Oracle(add_help=False)
    parser.add_argument("model_tag", nargs="?")
    ways_in = {kinds.LIST: {"nargs": "+"}, kinds.FLAG_VALUE: {"nargs": "?", "const": True}}
    for found in present(version):
        names = [f"--{found.name}", *(each for each in others(found.name, version))]
        if found.kind == kinds.FLAG:
            parser.add_argument(*names, dest=found.name, action=argparse.BooleanOptionalAction, default=None)
        elif found.kind == kinds.SWITCH:
            parser.add_argument(*names, dest=found.name, action="store_true", default=None)
        elif found.kind == kinds.APPEND:
            parser.add_argument(*names, dest=found.name, action="append")
        else:
            parser.add_argument(*names, dest=found.name, **ways_in.get(found.kind, {}))
    return parser


ORACLE_VERSION = parse_version("0.30.0")
PLAIN = [found.name for found in present(ORACLE_VERSION) if found.kind != kinds.APPEND and found.name != "model"]
PIECES = st.one_of(
    st.sampled_from([f"--{name}" for name in PLAIN]),
    st.sampled_from([f"--no-{name}" for name in PLAIN if option(name, ORACLE_VERSION).kind == kinds.FLAG]),
    st.builds("--{}={}".format, st.sampled_from(PLAIN), st.sampled_from(["1", "-x", ""])),
    st.builds(lambda name, cut: f"--{name}"[:-cut], st.sampled_from(PLAIN), st.integers(1, 4)),
    st.sampled_from(["value", "-1", "1.5", "{}", "a b"]),
)


@settings(max_examples=250, deadline=None, database=None)
@given(words=st.lists(PIECES, max_size=6))
def test_words_are_taken_and_refused_as_the_parser_of_the_standard_library_does(words: list[str]) -> None:
    assume(words[-1:] != ["--"])  # one that nothing follows is taken or refused, as the Python is
    line = read_command_line(["org/model", *words], ORACLE_VERSION)
    refused = bool(line.faults) or any(each.how in {UNKNOWN, AMBIGUOUS} for each in line.given)
    refused = refused or any(not option(each.name[2:], ORACLE_VERSION).present for each in line.given)
    try:
        taken = vars(PARSER.parse_args(["org/model", *words]))
    except Refused:
        assert refused, words
        return
    assert not refused, words
    assert line.model == "org/model"
    assert {name: value for name, value in taken.items() if value is not None and name != "model_tag"} == as_taken(line)


def as_taken(line: CommandLine) -> dict[str, object]:
    """The last of each option as argparse keeps it."""
    return {each.name[2:]: _value(each) for each in line.given}


def _value(each: Given) -> object:
    kind = option(each.name[2:], ORACLE_VERSION).kind
    if kind in {kinds.FLAG, kinds.SWITCH}:
        return not each.negated
    if kind == kinds.LIST:
        return list(each.values)
    return each.values[0] if each.values else True


PARSER: argparse.ArgumentParser = oracle(ORACLE_VERSION)


def test_a_line_of_many_words_is_read_to_its_end() -> None:
    line = read_command_line(("--port", "1") * 2000, NEWEST)
    assert [(each.name, each.values) for each in line.given] == [("--port", ("1",))] * 2000
