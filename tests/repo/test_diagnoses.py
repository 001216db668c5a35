# SPDX-License-Identifier: Apache-2.0
"""Every diagnosis has its page, the pages have one shape, and what they tell people to type exists."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.cli import VERBS
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.parse import parse_services
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import parse_startup_log
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.slugs import SLUGS
from tests.repo.repository import REPO

INDEX = REPO / "docs" / "runbooks" / "diagnoses.md"
PAGES = sorted((INDEX.parent / "diagnoses").glob("*.md"))
HEADINGS = ["## Symptom", "## Proof", "## Fix", "## Prevention"]
LINES = 40  # what a tired person reads; blank ones do not count
SERVICE = {
    "image": "vllm/vllm-openai:v0.32.0",
    "model": "org/model",
    "revision": "0123456789abcdef0123456789abcdef01234567",
    "port": 8000,
}
# What a host has, or gets with Docker and the driver.
PROGRAMS = {
    "ansible-playbook", "cat", "curl", "df", "docker", "du", "find", "free", "grep", "head",
    "journalctl", "ls", "nvidia-ctk", "nvidia-smi", "ps", "ss", "systemctl", "vllm-host",
}  # fmt: skip
_FENCE = re.compile(r"^([ ]*)```(\w*)\n(.*?)^\1```$", re.M | re.S)
_LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    return text.split(heading + "\n", 1)[1].split("\n## ", 1)[0]


def blocks(text: str, language: str) -> list[str]:
    return [textwrap.dedent(body) for _indent, word, body in _FENCE.findall(text) if word == language]


def commands(text: str) -> list[str]:
    """The command lines of a page's blocks, except those that show a log, and of the code in its sentences."""
    parts = text if "## Proof" not in text else section(text, "## Proof") + section(text, "## Fix")
    lines = [line for body in blocks(parts, "") for line in body.splitlines() if line.strip()]
    inline = re.findall(r"`((?:vllm-host|ansible-playbook) [^`]+)`", text.replace("\n", " "))
    return lines + inline


def anchors(path: Path) -> set[str]:
    return {
        "#" + re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))
        for title in re.findall(r"^#+ (.+)$", read(path), re.M)
    }


def test_every_diagnosis_has_a_page_and_every_page_is_one() -> None:
    assert [path.stem for path in PAGES] == sorted(SLUGS)


def test_the_index_lists_every_diagnosis_once() -> None:
    rows = re.findall(r"^\| `(\w+)` \| \S.+\S \| \[[^\]]+\]\(diagnoses/(\w+)\.md\) \|$", read(INDEX), re.M)
    assert all(name == link for name, link in rows)
    assert sorted(name for name, _link in rows) == sorted(SLUGS)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_have_one_shape(path: Path) -> None:
    text = read(path)
    assert re.findall(r"^## .+$", text, re.M) == HEADINGS
    assert f"`{path.stem}`" in text.splitlines()[2]
    assert all(section(text, heading).strip() for heading in HEADINGS)
    assert blocks(section(text, "## Proof"), "")
    assert sum(bool(line.strip()) for line in text.splitlines()) <= LINES
    prose = _FENCE.sub("", text)
    assert [line for line in prose.splitlines() if len(line) > 120 and not line.startswith("|")] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_log_that_a_page_shows_has_its_diagnosis(path: Path) -> None:
    text = read(path)
    report = parse_startup_log("".join(blocks(section(text, "## Symptom"), "")))
    assert report.diagnosis == path.stem
    assert set(re.findall(r"details\.(\w+)", text)) <= set(report.details)


@pytest.mark.parametrize("path", [INDEX, *PAGES], ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in _LINK.findall(read(path)):
        file = (path.parent / target).resolve() if target else path
        assert file.is_file(), target
        assert not anchor or anchor in anchors(file), target + anchor


@pytest.mark.parametrize("path", [INDEX, *PAGES], ids=lambda path: path.stem)
def test_commands_exist(path: Path) -> None:
    for line in commands(read(path)):
        for words in pieces(line):
            assert words[0] in PROGRAMS, line
            if words[0] == "vllm-host":
                assert words[1] in VERBS, line
                assert set(re.findall(r"--[a-z-]+", " ".join(words))) <= {"--start", "--log"}, line
            if words[0] == "ansible-playbook":
                names = [word for word in words if word.startswith("gpuhosts.vllm.")]
                assert words[1:3] == ["-i", "inventory/hosts.yml"] and len(names) == 1, line
                assert (REPO / "playbooks" / f"{names[0].split('.')[2]}.yml").is_file(), line


def pieces(line: str) -> list[list[str]]:
    """The commands of a line: its pipes and its semicolons taken apart, its comment left out."""
    words = shlex.split(line, comments=True)
    found: list[list[str]] = [[]]
    for word in words:
        if word in {"|", "&&"} or word.endswith(";"):
            found[-1] += [word[:-1]] if len(word) > 1 and word.endswith(";") else []
            found.append([])
        else:
            found[-1].append(word)
    return [each for each in found if each and each[0] not in {"sort", "tail", "tr", "less"}]


@pytest.mark.parametrize("path", [INDEX, *PAGES], ids=lambda path: path.stem)
def test_examples_are_what_an_inventory_takes(path: Path) -> None:
    for body in blocks(read(path), "yaml"):
        example: dict[str, Any] = yaml.safe_load(body)
        assert set(example) <= {"vllm_services", "vllm_secrets"}, body
        for change in example.get("vllm_services", {}).values():
            service = {**SERVICE, **change}
            if service["model"].startswith("/"):
                service.pop("revision")
            assert parse_services({"chat": service}), body
