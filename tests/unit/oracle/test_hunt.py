# SPDX-License-Identifier: Apache-2.0
"""The spellings that a secret hunt knows; every expected one is written out."""

from __future__ import annotations

import pytest

from tests.oracle.hunt import ODD, ODD_IN_HEADER, Trace, forms, marked


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        ("a'b", "a'b"),
        ("s3cr3t w0rd", "czNjcjN0IHcwcmQ"),  # base64
        ("a?>~ b", "YT8-fiBi"),  # base64 for addresses
        ("s3cr3t w0rd", "s3cr3t%20w0rd"),  # an address
        ("s3cr3t w0rd", "s3cr3t+w0rd"),  # a form
        ('a"b\\c', 'a\\"b\\\\c'),  # JSON
        ("ä€", "\\u00e4\\u20ac"),  # JSON in ASCII
        ("a<b&", "a\\u003cb\\u0026"),  # JSON as Go writes it
        ("a'b", "'a'\"'\"'b'"),  # a shell's word
        ("a'b", "a''b"),  # YAML
        ("5%", "5%%"),  # a unit
        ("a$b", "a$$b"),  # a unit's command
        ("a\\b", "a\\\\b"),  # Python
    ],
)
def test_a_value_is_known_in_every_spelling(value: str, spelled: str) -> None:
    assert spelled in forms(value)


def test_what_is_planted_is_odd_and_never_the_same() -> None:
    assert marked(ODD) != marked(ODD)
    assert all(sign in marked(ODD) for sign in "'\"$\\% ä€")
    assert all(sign in marked(ODD_IN_HEADER) for sign in "'\"$\\%")
    assert marked(ODD_IN_HEADER).isascii()


def test_a_trace_says_where_and_not_what() -> None:
    assert str(Trace("journal", "journalctl", ("HF_TOKEN",))) == "journal: journalctl: HF_TOKEN"
