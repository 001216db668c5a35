# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Fetch source distributions of vLLM from the package index that pip uses here.

    python tools/fetch_sdist.py .build/sdists 0.34.0

pip itself would build the package's metadata, for which vLLM wants half of its requirements; a file is all it takes.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

SECONDS = 300


class FetchError(Exception):
    """The index does not answer, or has no such release."""


def index() -> str:
    """The index that pip is told to use; what it uses when it is told nothing."""
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    told = os.environ.get("PIP_INDEX_URL")
    told = told or subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    if told:
        return told
    usual = [sys.executable, "-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"]
    return subprocess.run(usual, capture_output=True, text=True, check=True).stdout.strip()


def fetch(release: str, folder: Path) -> Path:
    """The archive of a release in the folder; it is fetched when it is not there yet."""
    name = f"vllm-{release}.tar.gz"
    archive = folder / name
    if not archive.exists():
        page = index().rstrip("/") + "/vllm/"
        links = map(html.unescape, re.findall(r'href="([^"]+)"', _read(page).decode()))
        link = next((link for link in links if urllib.parse.unquote(link).split("#")[0].endswith(name)), None)
        if link is None:
            raise FetchError(f"the index has no {name}")
        folder.mkdir(parents=True, exist_ok=True)
        part = archive.with_suffix(".part")
        part.write_bytes(_read(urllib.parse.urljoin(page, link)))
        part.replace(archive)
    return archive


def _read(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            content: bytes = answer.read()
    except (urllib.error.URLError, TimeoutError) as error:
        raise FetchError(f"{urllib.parse.urlsplit(address).path}: {error}") from error
    return content


if __name__ == "__main__":
    for wanted in sys.argv[2:]:
        print(fetch(wanted, Path(sys.argv[1])))
