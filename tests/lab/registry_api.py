# SPDX-License-Identifier: Apache-2.0
"""Put images into a registry over its HTTP API: layers go from disk to the registry, with no engine in between.

A push by an engine compresses gigabytes on one core, and makes no image index. This sends layers as they
are, and a real index.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

import requests

from .steps import LabError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INDEX_TYPES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFEST_TYPES = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
CREATED, ACCEPTED, OK, NOT_FOUND = 201, 202, 200, 404


def digest_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Registry:
    """One registry; `verify` is a CA file for TLS with an own CA."""

    def __init__(self, url: str, auth: tuple[str, str] | None = None, verify: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._session = requests.Session()
        self._session.trust_env = False  # the lab's network is never reached through a proxy
        self._session.auth = auth
        self._session.verify = verify or True

    def _ask(self, method: str, path: str, expected: tuple[int, ...], **more: Any) -> requests.Response:
        url = path if path.startswith("http") else self.url + path
        try:
            answer = self._session.request(method, url, timeout=600, **more)
        except requests.RequestException as error:
            message = f"the lab's registry {self.url} does not answer ({error}); run: python -m tests.lab up"
            raise LabError(message) from error
        if answer.status_code not in expected:
            message = f"the lab's registry {self.url} said {answer.status_code} to {method} {path}: {answer.text[:200]}"
            raise LabError(message)
        return answer

    def wait(self, seconds: float = 30.0) -> None:
        """Until it answers."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self._ask("GET", "/v2/", (OK,))
            except LabError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return

    def has(self, repository: str, digest: str) -> bool:
        return self._ask("HEAD", f"/v2/{repository}/blobs/{digest}", (OK, NOT_FOUND)).status_code == OK

    def put_stream(self, repository: str, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Upload what is not known beforehand; returns its digest and size."""
        hashed, size = hashlib.sha256(), 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for chunk in chunks:
                hashed.update(chunk)
                size += len(chunk)
                yield chunk

        began = self._ask("POST", f"/v2/{repository}/blobs/uploads/", (ACCEPTED,))
        kind = {"Content-Type": "application/octet-stream"}
        sent = self._ask("PATCH", began.headers["Location"], (ACCEPTED,), data=counted(), headers=kind)
        digest = "sha256:" + hashed.hexdigest()
        self._ask("PUT", sent.headers["Location"], (CREATED,), params={"digest": digest}, data=b"")
        return digest, size

    def put_bytes(self, repository: str, content: bytes) -> str:
        digest = digest_of(content)
        if not self.has(repository, digest):
            self.put_stream(repository, [content])
        return digest

    def mount(self, repository: str, digest: str, source: str) -> bool:
        """Give a blob of one repository to another one of the same registry, without sending it again."""
        answer = self._ask(
            "POST", f"/v2/{repository}/blobs/uploads/", (CREATED, ACCEPTED), params={"mount": digest, "from": source}
        )
        return answer.status_code == CREATED

    def put_manifest(self, repository: str, reference: str, content: bytes, media_type: str) -> str:
        self._ask(
            "PUT",
            f"/v2/{repository}/manifests/{reference}",
            (CREATED,),
            data=content,
            headers={"Content-Type": media_type},
        )
        return digest_of(content)

    def manifest(self, repository: str, reference: str) -> dict[str, Any] | None:
        """A manifest or index with its digest under `digest`, or nothing."""
        accept = {"Accept": ", ".join((*INDEX_TYPES, *MANIFEST_TYPES))}
        answer = self._ask("GET", f"/v2/{repository}/manifests/{reference}", (OK, NOT_FOUND), headers=accept)
        if answer.status_code == NOT_FOUND:
            return None
        return {**json.loads(answer.content), "digest": digest_of(answer.content)}

    def image(self, repository: str, reference: str) -> dict[str, Any]:
        """The image manifest behind a tag: of the first child when it is an index. Empty when there is none."""
        found = self.manifest(repository, reference)
        if found is not None and found.get("manifests"):
            found = self.manifest(repository, found["manifests"][0]["digest"])
        return found or {}

    def config(self, repository: str, reference: str) -> dict[str, Any]:
        """The configuration of that image. Empty when there is none."""
        found = self.image(repository, reference)
        if not found:
            return {}
        answer = self._ask("GET", f"/v2/{repository}/blobs/{found['config']['digest']}", (OK, NOT_FOUND))
        return dict(json.loads(answer.content)) if answer.status_code == OK else {}
