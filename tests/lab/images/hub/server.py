# SPDX-License-Identifier: Apache-2.0
"""A stand-in of the Hugging Face hub: as much of its API as huggingface_hub's snapshot_download asks for.

It serves /models/tiny-llama as lab/tiny-llama at one fixed revision, and as lab/gated-llama to who brings the token.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

MODELS = Path(os.environ.get("HUB_MODELS", "/models/tiny-llama"))
TOKEN = os.environ.get("HUB_TOKEN", "")
OPEN, GATED = "lab/tiny-llama", "lab/gated-llama"
REVISION = "5eed000000000000000000000000000020260101"
LFS_SUFFIXES = (".safetensors", ".bin")

_INFO = re.compile(r"^/api/models/(?P<repo>[^/]+/[^/]+)(?:/revision/(?P<revision>[^/]+))?$")
_TREE = re.compile(r"^/api/models/(?P<repo>[^/]+/[^/]+)/tree/(?P<revision>[^/]+)(?:/(?P<path>.*))?$")
_FILE = re.compile(r"^/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)$")


def git_blob_id(content: bytes) -> str:
    """What git calls a file: the hub's ETag of a small file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def entry(path: Path) -> dict[str, object]:
    """A file as the hub's tree lists it; weights are kept in LFS and known by their sha256."""
    content = path.read_bytes()
    made: dict[str, object] = {"type": "file", "path": path.name, "size": len(content), "oid": git_blob_id(content)}
    if path.suffix in LFS_SUFFIXES:
        digest = hashlib.sha256(content).hexdigest()
        made["lfs"] = {"oid": digest, "sha256": digest, "size": len(content), "pointerSize": 134}
    return made


def files() -> list[Path]:
    return sorted(path for path in MODELS.glob("*") if path.is_file())


class Handler(BaseHTTPRequestHandler):
    """GET and HEAD; everything else is refused by the base class."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        for pattern, answer in ((_TREE, self._tree), (_INFO, self._info), (_FILE, self._file)):
            found = pattern.match(path)
            if found:
                if self._may(found["repo"], found.groupdict().get("revision")):
                    answer(found)
                return
        self._problem(404, "EntryNotFound", f"no such page: {path}")

    def _may(self, repo: str, revision: str | None) -> bool:
        """Whether the repository, the revision and the caller are right; answers when they are not."""
        sent = self.headers.get("Authorization", "")
        if repo not in (OPEN, GATED):
            self._problem(404 if sent else 401, "RepoNotFound", "Repository not found")
        elif repo == GATED and not sent:
            self._problem(401, "GatedRepo", f"Access to model {repo} is restricted. You must be authenticated.")
        elif repo == GATED and sent != f"Bearer {TOKEN}":
            self._problem(403, "GatedRepo", f"Access to model {repo} is restricted and you are not in the list.")
        elif revision not in (None, "main", REVISION):
            self._problem(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        else:
            return True
        return False

    def _info(self, found: re.Match[str]) -> None:
        repo = found["repo"]
        siblings = [self._sibling(entry(path)) for path in files()]
        value = {"id": repo, "modelId": repo, "sha": REVISION, "private": False, "disabled": False, "tags": []}
        self._json({**value, "gated": "manual" if repo == GATED else False, "siblings": siblings, "downloads": 0})

    @staticmethod
    def _sibling(made: dict[str, object]) -> dict[str, object]:
        """A file as the hub lists it with a repository (`blobs=true`)."""
        lfs = {"lfs": made["lfs"]} if "lfs" in made else {}
        return {"rfilename": made["path"], "size": made["size"], "blobId": made["oid"], **lfs}

    def _tree(self, found: re.Match[str]) -> None:
        self._json([] if found["path"] else [entry(path) for path in files()])

    def _file(self, found: re.Match[str]) -> None:
        path = next((path for path in files() if path.name == found["path"]), None)
        if path is None:
            self._problem(404, "EntryNotFound", f"Entry not found: {found['path']}")
            return
        content = path.read_bytes()
        what = entry(path)
        lfs = what.get("lfs")
        etag = lfs["sha256"] if isinstance(lfs, dict) else str(what["oid"])
        self._send(200, content, "application/octet-stream", {"ETag": f'"{etag}"', **self._linked(lfs, etag, content)})

    @staticmethod
    def _linked(lfs: object, etag: str, content: bytes) -> dict[str, str]:
        return {"X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(content))} if lfs else {}

    def _json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), "application/json; charset=utf-8", {})

    def _problem(self, status: int, code: str, text: str) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": text}
        self._send(status, json.dumps({"error": text}).encode(), "application/json", headers)

    def _send(self, status: int, content: bytes, kind: str, more: dict[str, str]) -> None:
        part, status, ranged = self._part(status, content)
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(part)), "X-Repo-Commit": REVISION, **ranged, **more}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(part)

    def _part(self, status: int, content: bytes) -> tuple[bytes, int, dict[str, str]]:
        """The asked range of a file, so that a cut download can go on."""
        asked = re.match(r"^bytes=(\d+)-(\d*)$", self.headers.get("Range", ""))
        if status != 200 or not asked:
            return content, status, {"Accept-Ranges": "bytes"}
        first, last = int(asked[1]), int(asked[2] or len(content) - 1)
        last = min(last, len(content) - 1)
        return content[first : last + 1], 206, {"Content-Range": f"bytes {first}-{last}/{len(content)}"}

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        sys.stderr.write(f"{self.address_string()} {format % args}\n")


def main() -> None:
    port = int(os.environ.get("HUB_PORT", "8080"))
    ThreadingHTTPServer(("0.0.0.0", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
