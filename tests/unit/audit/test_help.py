"""The help text of `vllm serve`, in argparse's layout."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.help import HelpOption, read_help, without_space

TEXT = """\
usage: vllm serve [model_tag] [options]

Start a server. Search by using: `--help=<ConfigGroup>`
  Use `--help=all` to show all available flags at once.

positional arguments:
  model_tag             The model (default: None)

options:
  --headless            Run without a server. (default: False)
  -h, --help            show this help message and exit

Frontend:
  Arguments for the server.

  --api-key API_KEY [API_KEY ...]
                        One of these keys. Do not rely on `--api-
                        key` alone; see https://docs.example/latest/us
                        age. (default:
                        None)
  --colour {auto,red,None}
                        - auto: red (default: none of it)
                        (default: auto)
  --parser {hermes,mistral} or name registered in --parser-plugin
                        Select it.
  --tokenizer-mode ['auto', 'slow']
                        The tokenizer. (default: auto)
  --trace {all,worker} [{all,worker} ...]
                        What is traced. (default: None)
  --origins ORIGINS     Origins. (default: ['*'])

ParallelConfig:
  --enable-expert-parallel, --no-enable-expert-parallel, -ep, -no-ep
                        Experts. (default: False)
  --tensor-parallel-size TENSOR_PARALLEL_SIZE, -tp TENSOR_PARALLEL_SIZE
                        Ranks. (default: 1)
  --some-config SOME_CONFIG
                        Settings. (default:
                        SomeConfi
                        g(a='b (c)', d={'e': 1}))

When passing JSON CLI arguments, the following sets of arguments are equivalent:
   --json-arg '{"key1": "value1"}'
   --json-arg.key1 value1
"""


def test_every_option_is_read_with_its_names_its_values_and_its_default():
    assert read_help(TEXT).options == (
        HelpOption("--headless", ("--headless",), None, None, "False"),
        HelpOption("--help", ("-h", "--help"), None, None, None),
        HelpOption("--api-key", ("--api-key",), "API_KEY [API_KEY ...]", None, "None"),
        HelpOption("--colour", ("--colour",), "{auto,red,None}", ("auto", "red", "None"), "auto"),
        HelpOption("--parser", ("--parser",), "{hermes,mistral} or name registered in --parser-plugin", None, None),
        HelpOption("--tokenizer-mode", ("--tokenizer-mode",), "['auto', 'slow']", None, "auto"),
        HelpOption("--trace", ("--trace",), "{all,worker} [{all,worker} ...]", ("all", "worker"), "None"),
        HelpOption("--origins", ("--origins",), "ORIGINS", None, "['*']"),
        HelpOption(
            "--enable-expert-parallel",
            ("--enable-expert-parallel", "--no-enable-expert-parallel", "-ep", "-no-ep"),
            None,
            None,
            "False",
        ),
        HelpOption("--tensor-parallel-size", ("--tensor-parallel-size", "-tp"), "TENSOR_PARALLEL_SIZE", None, "1"),
        HelpOption("--some-config", ("--some-config",), "SOME_CONFIG", None, "SomeConfi g(a='b (c)', d={'e': 1})"),
    )


def test_an_option_is_found_under_each_of_its_names_and_with_underscores():
    found = read_help(TEXT)
    wanted = "--tensor-parallel-size"
    assert [found.find(name).name for name in ("-tp", wanted, "--tensor_parallel_size")] == [wanted] * 3
    assert found.find("--no-enable-expert-parallel").negatable
    assert not found.find("--headless").negatable
    assert found.find("--api-key").takes_many
    assert found.find("--json-arg") is None
    assert found.find("--tensor-parallel") is None


def test_a_wrapped_text_equals_the_whole_one_when_both_are_without_white_space():
    read = read_help(TEXT).find("--some-config").default
    assert without_space(read) == without_space("SomeConfig(a='b (c)', d={'e': 1})")


def test_another_text_has_no_options():
    assert read_help("usage: docker run [OPTIONS]\n\n\t--rm  remove\n").options == ()
    assert read_help("").options == ()


@given(st.lists(st.text(string.printable, max_size=60), max_size=12))
def test_whatever_is_read_never_raises(lines):
    read_help("\n".join(lines))
    read_help(TEXT + "\n".join("  -" + line for line in lines))
