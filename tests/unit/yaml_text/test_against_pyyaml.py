# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The reader of YAML against PyYAML: what it reads it reads the same way, and what it does not read it says."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.gpuhosts.vllm.plugins.module_utils.yaml_text.block import load, load_all
from ansible_collections.gpuhosts.vllm.plugins.module_utils.yaml_text.scalars import YamlError


class Core(yaml.SafeLoader):
    """PyYAML with the plain words of YAML 1.2, which compose and Prometheus have: ``yes`` and dates are texts."""


Core.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("merge", r"<<", "<"),
):
    Core.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))
Core.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(loader.construct_scalar(node)))


def oracle(text: str) -> Any:
    """What PyYAML reads."""
    return yaml.load(text, Core)


LONG = """\
services:
  chat:  # the server
    image: "vllm/vllm-openai:v0.33.0"
    command: ["org/m", --port, '8000', --served-model-name, a b]
    environment:
    - HF_HOME=/srv/hf
    - "QUOTED=a: b # no comment"
    ports:
      - 127.0.0.1:8000:8000
      - {target: 8000, published: "80"}
    healthcheck: {test: [CMD, curl, -f, "http://localhost:8000/health"], start_period: 10m}
~~~
x-base: &base {restart: always, shm_size: 16g}
services:
  a:
    <<: *base
    image: x
    shm_size: 1g
  b: {<<: *base, image: y}
~~~
a: |
  one
    two

  three
b: >-
  folded
  text

  next
c: |+
  kept

d: |2
    by two
e: >
  more
    indented
  end
~~~
groups:
- name: vllm
  rules:
  - alert: CacheFull
    expr: >
      vllm:kv_cache_usage_perc{job="vllm"} > 0.95
    for: 5m
    annotations: {summary: 'it''s "full"', other: "tab\\t\\u00e9\\x41 \\
      goes on"}
~~~
# nothing but a comment
~~~
--- # with a mark
- 1
- -2
- 1.5
- 1e3
- .5
- ~
-
- null
- true
- yes
- 0x10f
- 2024-01-01
- 12:30:00
- "1"
...
~~~
plain: words that
  go on
  here
key with spaces: and a value
"quoted key": 1
'other key': 2
url: http://host:80/path#part
empty:
list: []
map: {}
nested: [[1, 2], [3, {a: b}], []]
~~~
- - a
  - b
-
  - c
- k: 1
  l: 2
-   m: 3
    n:
    - o
~~~
? a
: 1
~~~
a: "line one
  line two

  line four"
b: 'x
  y'
c: [one,
  two, # why
  three]
~~~
command: >-
  vllm serve org/m
  --port 8000
  --speculative-config '{"model": "x"}'
~~~
{"a": {"b": [1, 2.5, true, null, "x\\n"]}, "c": "d"}
"""
TEXTS = re.split("^~~~\n", LONG, flags=re.MULTILINE)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_texts_as_people_write_them(text: str) -> None:
    if text.startswith("?"):
        with pytest.raises(YamlError):
            load(text)
    elif "0x10f" in text:
        assert load(text)[-5:] == ["yes", 271, "2024-01-01", "12:30:00", "1"]
    else:
        assert load(text) == oracle(text)


WRONG = {
    "a: 1\n b: 2\n": 2,
    "a:\n\t- 1\n": 2,
    "a: [1, 2\n": 1,
    'a: "open\n': 1,
    "a: *nothing\n": 1,
    "a: 1\na: 2\n": 2,
    "a: b: c\n": 1,
    "- a\nb: 1\n": 2,
    "a: @x\n": 1,
    "a: !!python/object:os.system x\n": 1,
    "a: |\n  x\n y\n": 3,
    "a:\n  --  b\n  - {c: 1}\n": 3,
    "a: ]\n": 1,
}


@pytest.mark.parametrize(("text", "line"), WRONG.items())
def test_what_is_no_yaml_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(YamlError) as caught:
        load(text)
    assert abs(caught.value.line - line) <= 1
    assert str(caught.value).startswith(f"line {caught.value.line}: ")


def test_documents_are_kept_apart() -> None:
    assert load_all("a: 1\n---\nb: 2\n...\n---\n- c\n") == [{"a": 1}, {"b": 2}, ["c"]]
    assert load("a: 1\n---\nb: 2\n") == {"a": 1}


def test_an_alias_that_grows_without_end_is_refused() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(YamlError, match="more than"):
        load("\n".join(levels))
    with pytest.raises(YamlError):
        load("[" * 2000)


WORDS = st.one_of(
    st.sampled_from(
        ["", "yes", "null", "1", "a: b", "a #b", "- x", "'", '"', "{", "a\nb\n", " x", "x ", "<<", "|", "%a", "é"]
    ),
    st.text("ab:#-'\"\\{}[],&*!|>%@ \n?~.0123", max_size=10),
)
SCALARS = st.one_of(WORDS, st.booleans(), st.none(), st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6))
DATA = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=10,
)
STYLES = st.fixed_dictionaries(
    {
        "default_flow_style": st.sampled_from([None, True, False]),
        "indent": st.sampled_from([2, 4]),
        "width": st.sampled_from([20, 80]),
        "allow_unicode": st.booleans(),
        "default_style": st.sampled_from([None, None, '"', "'", "|", ">"]),
    }
)


def agrees(text: str, must_read: bool = False) -> None:
    """What is read is what PyYAML reads; a fault is allowed where it is not demanded that the text is read."""
    try:
        mine = load_all(text)
    except YamlError as error:
        assert error.line >= 1
        assert not must_read, (text, error)
        return
    try:
        theirs = list(yaml.load_all(text, Core))
    except (yaml.YAMLError, ValueError) as error:
        assert not must_read, (text, mine, str(error))
        return  # PyYAML refuses more than YAML does, and nothing can be compared
    assert mine == theirs, text


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(data=DATA, style=STYLES)
def test_whatever_pyyaml_writes_is_read_as_it_was(data: Any, style: dict[str, Any]) -> None:
    text = yaml.safe_dump(data, **style)
    agrees(text, must_read=not _has_odd_key(data) and "!!" not in text)


def _has_odd_key(data: Any) -> bool:
    """PyYAML writes long or broken keys with a question mark, which is not read."""
    if isinstance(data, dict):
        return any(
            "\n" in key or len(key) > 8 or key in {"", "<<"} or _has_odd_key(value) for key, value in data.items()
        )
    return isinstance(data, list) and any(map(_has_odd_key, data))


PIECES = [
    "\n",
    " ",
    "  ",
    "- ",
    ": ",
    "#",
    " #",
    "'",
    '"',
    "[",
    "]",
    "{",
    "}",
    ",",
    "|",
    ">",
    "&a ",
    "*a",
    "---\n",
    "!",
    "x",
]
CUTS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 3), st.sampled_from(["", *PIECES])), min_size=1, max_size=3
)


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(text=st.sampled_from(TEXTS), cuts=CUTS)
def test_a_text_with_slips_is_refused_or_read_as_pyyaml_reads_it_where_it_does(
    text: str, cuts: list[tuple[int, int, str]]
) -> None:
    for place, length, piece in cuts:
        at = place % (len(text) + 1)
        text = text[:at] + piece + text[at + length :]
    if not re.search(r"0x|\b[0-9]+e", text):
        agrees(text + "\n")  # PyYAML makes a difference of a last line without its end
