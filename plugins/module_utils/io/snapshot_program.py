# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Runs inside the image of a service, as a program of its own: fetch a snapshot with the image's huggingface_hub.

It reads ``/gpuhosts/in/request.json`` and ``/gpuhosts/secret/token``, and writes ``/gpuhosts/out/result.json``; it is
sent to the host as text, so it imports nothing of the collection.
Private to the collection.
"""

from __future__ import annotations

import glob
import hashlib
import importlib
import json
from pathlib import Path
from typing import Any

CHUNK = 1 << 22
SHA1_LENGTH = 40


def main(root: str = "/gpuhosts") -> int:
    """Fetch, prove, and leave the result where the host finds it; the exit status is 0 only when all is proven."""
    base = Path(root)
    request = json.loads((base / "in/request.json").read_text(encoding="utf-8"))
    token_file = base / "secret/token"
    token = token_file.read_text(encoding="utf-8").strip() if token_file.exists() else None
    out = base / "out"
    result = fetch(request, token, base / "hf/hub", out)
    write(out / "result.json", result)
    return 1 if result.get("error") else 0


def fetch(request: dict[str, Any], token: str | None, cache: Path, out: Path) -> dict[str, Any]:
    """Download and prove the files of the request; an error is part of the result."""
    try:
        hub = importlib.import_module("huggingface_hub")
    except ImportError as error:
        return {"error": {"exception": "ImportError", "status": None, "message": str(error)}}
    try:
        folder = hub.snapshot_download(
            request["repository"],
            revision=request["revision"],
            cache_dir=str(cache),
            # Without a token nothing that lies in the cache or the image is sent.
            token=token or False,
            allow_patterns=[glob.escape(name) for name in request["files"]],
        )
    except Exception as error:
        answer = getattr(error, "response", None)
        status = getattr(answer, "status_code", None)
        return {"error": {"exception": type(error).__name__, "status": status, "message": first_line(str(error))}}
    return prove(Path(folder), request["files"], out)


def prove(folder: Path, names: dict[str, Any], out: Path) -> dict[str, Any]:
    """Compute the hash of every file and compare it with the name of its blob, and with what the hub said."""
    files, done = [], 0
    for name, expected in sorted(names.items()):
        blob = (folder / name).resolve()
        if not blob.is_file():
            return {"error": {"exception": "Missing", "status": None, "message": f"{name} was not fetched"}}
        size = blob.stat().st_size
        write(out / "proving.json", {"file": name, "bytes": done})
        computed = digest_of(blob, size, blob.name)
        if computed != blob.name or (expected and computed != expected):
            wanted = expected or blob.name
            # A wrong blob would be taken for right by every later download.
            blob.unlink()
            message = f"{name} has the hash {computed} and should have {wanted}; it was removed"
            return {"error": {"exception": "Damaged", "status": None, "message": message}}
        files.append({"path": name, "size": size, "digest": computed})
        done += size
    return {"folder": folder.name, "files": files}


def digest_of(path: Path, size: int, like: str) -> str:
    """The SHA-256 of a file, or git's SHA-1 where the blob's name is one."""
    if len(like) == SHA1_LENGTH:
        state = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    else:
        state = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            state.update(chunk)
    return state.hexdigest()


def first_line(text: str) -> str:
    """The first line that says something; the library puts advice after it."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")


def write(path: Path, data: dict[str, Any]) -> None:
    """Replace a file in one step."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(data), encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    raise SystemExit(main())
