# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The one table of keys."""

from __future__ import annotations

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.schema import SERVICE_KEYS, options_spec


def test_the_table_is_an_argument_spec_that_ansible_takes(service):
    spec = {name: without_docs(option) for name, option in options_spec().items()}
    result = ArgumentSpecValidator(spec).validate(service())
    assert result.error_messages == []
    assert result.validated_parameters["bind"] == "127.0.0.1"
    assert result.validated_parameters["mounts"] == []


def without_docs(option):
    kept = {key: value for key, value in option.items() if key != "description"}
    if "options" in kept:
        kept["options"] = {name: without_docs(inner) for name, inner in kept["options"].items()}
    return kept


def test_every_key_has_a_sentence():
    for key in (inner for outer in SERVICE_KEYS for inner in (outer, *outer.options)):
        assert key.doc.endswith("."), key.name
        assert key.doc[0].isupper() or key.doc.startswith("V("), key.name
