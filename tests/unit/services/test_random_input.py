# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever stands in an inventory, the answer is services or ServicesError: never another exception."""

from __future__ import annotations

import datetime
import random

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.judge import Asked, judge
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.problems import ServicesError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.schema import DRAIN_KEYS, GATE_KEYS, SERVICE_KEYS

SECRET = "planted-secret-0123456789"
KEYS = [key.name for key in SERVICE_KEYS]
INNER = [key.name for key in (*GATE_KEYS, *DRAIN_KEYS)] + ["source", "target", "read_only", "HF_TOKEN", "max-model-len"]


class Broken:
    """A value that cannot even be written."""

    def __repr__(self):
        raise RuntimeError("no")


def cyclic():
    """A map that contains itself."""
    loop = {}
    loop["again"] = [loop]
    return loop


def deep():
    """Thirty maps in one another."""
    value = "x"
    for _turn in range(30):
        value = {"a": value}
    return value


ODD = [
    None, True, False, 0, -1, 10**30, 10**5000, -(2**63), 1.5, float("nan"), float("inf"), "", " ", "a", "0", "8000",
    "all", "none", "\x00", "a\nb", "\ud800", "x" * 100_000, "é", "😀", "-", "--", "--rm", "-v", "/", "/a", "..", "a:b",
    "vllm/vllm-openai:v0.32.0", "vllm/vllm-openai@sha256:" + "a" * 64, "9" * 40, "1e3", "16g", "120s", "auto", "::",
    "0.0.0.0", "{{ x }}", b"bytes", {1, 2}, (), [], {}, [[]], [None], {"a": None}, {None: 1}, {1: 2}, {(): 1},
    datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1), object(), Broken(), cyclic(), deep(), list(range(6000)),
    SECRET, {SECRET: SECRET}, [SECRET], "v" * 300, 1j, range(3), "a" * 41, {"": ""}, {"x" * 200: 1},
]  # fmt: skip


def value(chance, depth=0):
    """Any value: an odd one, or a map or a list of such."""
    pick = chance.random()
    if depth < 4 and pick < 0.25:
        names = [*INNER, chance.choice(["a", "b-c", "d_e", 1, None, SECRET])]
        return {chance.choice(names): value(chance, depth + 1) for _turn in range(chance.randrange(4))}
    if depth < 4 and pick < 0.4:
        return [value(chance, depth + 1) for _turn in range(chance.randrange(4))]
    return chance.choice(ODD)


def definition(chance):
    """A service: right in some keys, wrong in some, with keys that do not exist; sometimes no map at all."""
    if chance.random() < 0.1:
        return value(chance)
    good = {"image": "vllm/vllm-openai:v0.32.0", "model": "/srv/m", "port": 8000, "gpus": "none"}
    kept = {key: item for key, item in good.items() if chance.random() < 0.8}
    wrong = {chance.choice([*KEYS, "zz", SECRET, 7]): value(chance) for _turn in range(chance.randrange(5))}
    return {**kept, **wrong}


def inventory(chance):
    """Everything that one host's inventory can say."""
    names = ["chat", "embed", "Bad Name", "", "a" * 50, 1, None, SECRET, "\x00", "vllm_services"]
    services = {chance.choice(names): definition(chance) for _turn in range(1 + chance.randrange(3))}
    any_value = chance.random() < 0.1
    return Asked(
        services=value(chance) if any_value else services,
        defaults=definition(chance) if chance.random() < 0.5 else None,
        secrets={"chat": {"VLLM_API_KEY": SECRET, "X": value(chance)}, "embed": value(chance)},
        registry=value(chance) if chance.random() < 0.3 else {"password": SECRET},
        hf_endpoint=value(chance) if chance.random() < 0.3 else None,
        lock=value(chance) if chance.random() < 0.3 else None,
        require_lock=chance.random() < 0.5,
    )


@pytest.mark.parametrize("seed", range(300))
def test_no_traceback_and_no_secret(seed):
    asked = inventory(random.Random(seed))
    try:
        judged = judge(asked)
    except ServicesError as error:
        assert error.problems
        assert SECRET not in str(error)
        assert all(SECRET not in str(problem.to_dict()) for problem in error.problems)
        assert all(len(problem.line()) < 1500 for problem in error.problems)
        str(error).encode("utf-8")
    else:
        assert SECRET not in str(judged)
