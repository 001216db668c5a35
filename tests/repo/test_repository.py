# SPDX-License-Identifier: Apache-2.0
"""The commands, pins and documents of the repository fit together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repo.repository import PLAYBOOKS, REPO, known_files, load, shown

# Playbooks that others import, and that nobody calls by themselves.
PARTS = {"judge", "observe", "prove"}
DOCUMENTS = [path for path in known_files() if path.suffix == ".md" and path.name != "CHANGELOG.md"]
SHIPPED = [path for path in known_files() if path.suffix == ".py" and not shown(path).startswith("tests/")]
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")


def pins(path: Path) -> dict[str, str]:
    """Read `name==version` lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split(";")[0].strip().lower().split("==") for line in lines if "==" in line and line[0] != "#")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_pinned_sets_hold_the_direct_requirements(version: str) -> None:
    older = version == "3.11"
    wanted = {}
    for line in (REPO / "requirements" / "direct.in").read_text(encoding="utf-8").splitlines():
        if "==" not in line or (">=" in line and older) or ("<" in line and not older):
            continue
        name, pin = line.split(";")[0].strip().split("==")
        wanted[name] = pin
    pinned = pins(REPO / "requirements" / f"py{version}.txt")
    assert wanted.items() <= pinned.items()


def test_the_older_core_is_the_oldest_allowed() -> None:
    allowed = load(REPO / "meta" / "runtime.yml")["requires_ansible"]
    pinned = pins(REPO / "requirements" / "older-core.txt")["ansible-core"]
    assert allowed == ">={}.0".format(pinned.rpartition(".")[0])


def test_ci_runs_what_the_readme_names() -> None:
    assert re.search(r"^make test$", (REPO / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert re.search(
        r"^exec make (--\S+ )?test\b", (REPO / ".ci" / "run").read_text(encoding="utf-8"), flags=re.MULTILINE
    )


def test_every_playbook_has_a_runbook_and_a_place_in_the_readme() -> None:
    verbs = {path.stem for path in PLAYBOOKS} - PARTS
    readme = (REPO / "README.md").read_text(encoding="utf-8")
    runbooks = "\n".join(path.read_text(encoding="utf-8") for path in (REPO / "docs" / "runbooks").glob("*.md"))
    assert verbs
    assert not [verb for verb in sorted(verbs) if f"gpuhosts.vllm.{verb}" not in readme]
    assert not [verb for verb in sorted(verbs) if f"gpuhosts.vllm.{verb}" not in runbooks]


def test_playbooks_that_documents_name_exist() -> None:
    known = {path.stem for path in PLAYBOOKS}
    named = {
        (shown(path), verb)
        for path in DOCUMENTS
        for verb in re.findall(r"ansible-playbook [^`\n]*gpuhosts\.vllm\.([a-z_]+)", path.read_text(encoding="utf-8"))
    }
    assert not {(path, verb) for path, verb in named if verb not in known}


@pytest.mark.parametrize("path", DOCUMENTS, ids=shown)
def test_links_lead_somewhere(path: Path) -> None:
    missing = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if not (path.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("path", SHIPPED, ids=shown)
def test_python_files_say_their_licence(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not text or "SPDX-License-Identifier: " in "\n".join(text.splitlines()[:6])


def test_make_targets_are_documented() -> None:
    """Each lane of the runner has a target, and `make help` names every target."""
    makefile = (REPO / "Makefile").read_text(encoding="utf-8")
    lanes = re.findall(
        r'^    Lane\("([a-z-]+)"', (REPO / "tests" / "run" / "lanes.py").read_text(encoding="utf-8"), re.M
    )
    assert lanes
    assert not [lane for lane in lanes if not re.search(rf"\b{lane}\b", makefile)]
