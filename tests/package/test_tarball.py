# SPDX-License-Identifier: Apache-2.0
"""The built tarball holds what a user needs and nothing else, installs into an empty place and works from there."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).resolve().parents[2]
# What a tarball may hold, by its first folder; and the single files beside them.
FOLDERS = {"changelogs", "docs", "inventories", "meta", "playbooks", "plugins", "roles"}
FILES = {"CHANGELOG.md", "CONTRIBUTING.md", "FILES.json", "LICENSE", "MANIFEST.json", "README.md"}
NEVER = ("__pycache__", ".pyc", ".swp", "~", ".orig", "vllm.lock.yml.bak")


def ansible(*command: str, home: Path, collections: Path | None = None) -> str:
    """Run an Ansible command far from the repository; nothing of the clone is on its paths."""
    places = {"ANSIBLE_COLLECTIONS_PATH": str(collections or home / "none"), "ANSIBLE_HOME": str(home / "home")}
    words = [str(Path(sys.executable).with_name(command[0])), *command[1:]]
    done = subprocess.run(
        words, cwd=home, env={**os.environ, **places}, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("package")


@pytest.fixture(scope="session")
def tarball(home: Path) -> Path:
    ansible("ansible-galaxy", "collection", "build", str(REPO), "--output-path", str(home / "built"), home=home)
    (built,) = (home / "built").glob("gpuhosts-vllm-*.tar.gz")
    return built


@pytest.fixture(scope="session")
def members(tarball: Path) -> set[str]:
    with tarfile.open(tarball) as archive:
        return {member.name for member in archive.getmembers() if member.isfile()}


@pytest.fixture(scope="session")
def installed(home: Path, tarball: Path) -> Path:
    place = home / "installed"
    ansible("ansible-galaxy", "collection", "install", str(tarball), "-p", str(place), "--offline", home=home)
    return place


def tracked(*folders: str) -> set[str]:
    """List what git knows below these folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders]
    listed = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True).stdout
    return {name for name in listed.split("\0") if name and (REPO / name).is_file()}


def test_only_what_a_user_needs_is_in_it(members: set[str]) -> None:
    strays = {name for name in members if name not in FILES and name.split("/")[0] not in FOLDERS}
    strays |= {name for name in members if any(part.startswith(".") for part in name.split("/"))}
    strays |= {name for name in members if name.endswith(NEVER) or "__pycache__" in name}
    strays |= {name for name in members if name.startswith(("changelogs/fragments/", "inventories/lab/"))}
    assert not strays


def test_everything_a_user_needs_is_in_it(members: set[str]) -> None:
    wanted = tracked("plugins", "roles", "playbooks", "meta", "docs", "inventories/example", "README.md", "LICENSE")
    assert not wanted - members
    assert any(name.endswith("/README.md") for name in members if name.startswith("roles/"))


def test_the_version_is_the_changelogs_next(tarball: Path) -> None:
    version = yaml.safe_load((REPO / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    assert tarball.name == f"gpuhosts-vllm-{version}.tar.gz"


def test_modules_are_found_where_it_was_installed(home: Path, installed: Path) -> None:
    listed = ansible("ansible-doc", "--list", "gpuhosts.vllm", home=home, collections=installed)
    missing = [path.stem for path in (REPO / "plugins" / "modules").glob("*.py") if path.stem not in listed]
    assert not missing


def test_playbooks_run_by_their_full_names(home: Path, installed: Path) -> None:
    names = [f"gpuhosts.vllm.{path.stem}" for path in sorted((REPO / "playbooks").glob("*.yml"))]
    inventory = str(installed / "ansible_collections" / "gpuhosts" / "vllm" / "inventories" / "example")
    said = ansible("ansible-playbook", "--syntax-check", "-i", inventory, *names, home=home, collections=installed)
    assert said.count("playbook: ") == len(names)
