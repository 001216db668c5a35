# SPDX-License-Identifier: Apache-2.0
"""Nothing in the repository belongs to one machine, and nothing is waved through the linters."""

from __future__ import annotations

import re
from pathlib import Path

from tests.repo.repository import known_files, shown

# Put together from pieces, so that this file does not find itself.
MACHINE = ["/wo" + "rk/", "/opt/whe" + "els", "/opt/py" + "pi", "/root/.py" + "env", "/home/[a-z]+/", "/tmp/" + "plan"]
# ansible-test would have every command run by a module object, which io has not: the one word it is told.
PYLINT = r"#\s*pylint:\s*dis" + "able(?!=ansible-bad-function\\b)"
SKIPPING = [r"#\s*no" + r"qa\s*$", r"#\s*type:\s*ig" + r"nore\s*$", "skip_" + "list:", PYLINT]
FORBIDDEN = re.compile("|".join(MACHINE + SKIPPING), flags=re.IGNORECASE | re.MULTILINE)
FOREIGN_INDEX = re.compile(
    r"(index-url|find-links|INDEX)\W{1,4}https?://(?!(download\.pytorch\.org|pypi\.org)/)\S+|--trusted-" + "host"
)


def text_of(path: Path) -> str:
    """Read a file, or nothing when it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def found(pattern: re.Pattern[str]) -> list[str]:
    """List what a pattern finds anywhere, as `file: text`."""
    return [f"{shown(path)}: {hit.group()!r}" for path in known_files() for hit in pattern.finditer(text_of(path))]


def test_no_forbidden_words() -> None:
    assert not found(FORBIDDEN)


def test_package_indexes_are_public() -> None:
    assert not found(FOREIGN_INDEX)


def test_sanity_has_no_ignore_file() -> None:
    assert not [shown(path) for path in known_files() if re.search(r"tests/sanity/ignore", shown(path))]


def test_the_search_finds_what_it_looks_for() -> None:
    assert FORBIDDEN.search("cd /wo" + "rk/main")
    assert FORBIDDEN.search("x = 1  # no" + "qa")
    assert FOREIGN_INDEX.search("--index-" + "url https://mirror.example/simple")
    assert not FOREIGN_INDEX.search("--index-" + "url https://pypi.org/simple")
    assert not FORBIDDEN.search("a chat session of the engine")
