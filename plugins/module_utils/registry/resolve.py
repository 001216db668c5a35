# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a reference means: the questions to a registry, and what its answers say.

Asking itself is the caller's: `get` is a function from URL and headers to an answer.

Private to the collection.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Callable

from ..findings import WARNING, Finding
from ..host.refusal import Refusal, refusal
from .challenge import Challenge, basic_header, parse_challenge
from .manifest import ACCEPT, children_of, compressed_bytes, is_index, platform_text, read_manifest
from .reference import Reference
from .settings import Endpoint, RegistrySettings, endpoints_for


@dataclass(frozen=True)
class Answer:
    """What a server said; status 0 means that it could not be asked, and ``error`` says why."""

    status: int
    headers: dict[str, str]
    body: bytes
    error: str = ""


Get = Callable[[str, dict[str, str]], Answer]


@dataclass(frozen=True)
class Resolved:
    """What a reference means: an index with its images by platform, or (index_digest is None) a single image."""

    index_digest: str | None
    manifest_digest: str
    platforms: dict[str, dict[str, Any]]
    source: str


def resolve(reference: Reference, settings: RegistrySettings, get: Get) -> Resolved:
    """Say which digest ``reference`` means, with each platform's compressed size; a Refusal says why not."""
    refusals: list[Refusal] = []
    for endpoint in endpoints_for(reference.server, settings):
        try:
            return _Session(endpoint, reference, settings, get).resolve()
        except Refusal as stopped:
            refusals.append(stopped)
    # The last place asked is the one that counts; what the mirror said before is part of the story.
    last = refusals[-1].finding
    story = "; ".join(each.finding.message for each in refusals)
    # A missing manifest that one registry is sure about says more than a registry that cannot be reached.
    kinds = [each.finding.id for each in refusals]
    kind = "image_not_found" if "image_not_found" in kinds else last.id
    remedy = next(each.finding.remedy for each in reversed(refusals) if each.finding.id == kind)
    raise refusal(kind, last.subject, story, remedy or "")


def judge_resolved(reference: Reference, resolved: Resolved) -> list[Finding]:
    """A single image can be pinned by nobody who has hosts of two platforms: say so."""
    if resolved.index_digest is not None:
        return []
    platform = next(iter(resolved.platforms))
    return [
        Finding(
            "image_single_manifest",
            WARNING,
            f"image {reference.text}",
            f"this is a single manifest for {platform}, not an index",
            expected="an index with one image for each platform",
            observed=resolved.manifest_digest,
            remedy="push it behind an index: docker manifest create, then docker manifest push",
        )
    ]


class _Session:
    """One endpoint asked about one reference; keeps the authorization between the questions."""

    def __init__(self, endpoint: Endpoint, reference: Reference, settings: RegistrySettings, get: Get) -> None:
        self._endpoint = endpoint
        self._reference = reference
        self._settings = settings
        self._get = get
        self._headers: dict[str, str] = {"Accept": ACCEPT}

    def resolve(self) -> Resolved:
        answer = self._manifest(self._reference.wanted)
        manifest = self._read(answer)
        digest = self._digest(answer)
        if is_index(answer.headers.get("content-type", ""), manifest):
            children = {
                child.platform: {"digest": child.digest, "compressed_bytes": self._bytes_of(child.digest)}
                for child in children_of(manifest)
            }
            return Resolved(digest, digest, children, self._endpoint.label)
        platform = self._platform_of(manifest)
        single = {platform: {"digest": digest, "compressed_bytes": compressed_bytes(manifest)}}
        return Resolved(None, digest, single, self._endpoint.label)

    def _read(self, answer: Answer) -> dict[str, Any]:
        try:
            return read_manifest(answer.body)
        except ValueError as error:
            raise self._refuse(
                "registry_answer",
                f"{self._endpoint.label} did not answer with a manifest ({error})",
                "check that the address is a registry's, not a web page's or a proxy's",
            ) from error

    def _digest(self, answer: Answer) -> str:
        """The digest of what came, computed: what the header says is only a claim."""
        computed = "sha256:" + hashlib.sha256(answer.body).hexdigest()
        claimed = self._reference.digest or answer.headers.get("docker-content-digest") or computed
        if claimed != computed:
            raise self._refuse(
                "image_digest_wrong",
                f"{self._endpoint.label} sent a manifest of digest {computed}, and {claimed} was asked or announced",
                "do not use this registry before somebody knows why its answers do not match",
            )
        return computed

    def _bytes_of(self, digest: str) -> int | None:
        return compressed_bytes(self._read(self._manifest(digest)))

    def _platform_of(self, manifest: dict[str, Any]) -> str:
        config = manifest.get("config")
        digest = config.get("digest") if isinstance(config, dict) else None
        answer = self._call(f"blobs/{digest}") if digest else None
        try:
            return (
                platform_text(json.loads(answer.body)) if answer and answer.status == HTTPStatus.OK else "linux/unknown"
            )
        except ValueError:
            return "linux/unknown"

    def _manifest(self, wanted: str) -> Answer:
        answer = self._call(f"manifests/{wanted}")
        if answer.status == HTTPStatus.UNAUTHORIZED:
            self._authorize(parse_challenge(answer.headers.get("www-authenticate", "")))
            answer = self._call(f"manifests/{wanted}")
        if answer.status != HTTPStatus.OK:
            raise self._explain(answer, wanted)
        return answer

    def _call(self, route: str) -> Answer:
        return self._get(f"{self._endpoint.base}/v2/{self._reference.path}/{route}", self._headers)

    def _authorize(self, challenge: Challenge) -> None:
        login = self._settings.login_for(self._endpoint.server)
        basic = {"Authorization": basic_header(*login)} if login else {}
        if challenge.scheme == "basic":
            self._headers.update(basic)
        elif challenge.scheme == "bearer" and challenge.realm:
            if basic and not challenge.realm.startswith("https:") and not self._endpoint.base.startswith("http:"):
                raise self._refuse(
                    "registry_auth",
                    f"{self._endpoint.label} wants the login sent unencrypted to {challenge.realm}",
                    "have the registry's owner set an https token address",
                )
            answer = self._get(challenge.token_url(self._reference.path), basic)
            self._headers["Authorization"] = "Bearer " + self._token(answer, challenge)

    def _token(self, answer: Answer, challenge: Challenge) -> str:
        try:
            data = json.loads(answer.body) if answer.status == HTTPStatus.OK else {}
        except ValueError:
            data = {}
        token = data.get("token") or data.get("access_token")
        if not token:
            said = answer.error or f"HTTP {answer.status}"
            raise self._refuse(
                "registry_unreachable" if not answer.status else "registry_auth",
                f"{self._endpoint.label} sends us for a token to {challenge.realm}, which answers: {said}",
                "check vllm_registry.username and vllm_registry.password, and that the host can reach that address",
            )
        return str(token)

    def _explain(self, answer: Answer, wanted: str) -> Refusal:
        label = self._endpoint.label
        if answer.status == 0 and "certificate" in answer.error:
            return self._refuse(
                "registry_ca",
                f"the certificate of {label} is not trusted ({answer.error})",
                f"set vllm_registry.server to {self._endpoint.server} and ca_cert to the CA that signed it",
            )
        if answer.status == 0:
            return self._refuse(
                "registry_unreachable",
                f"{label} cannot be reached: {answer.error}",
                f"from the host try: curl -v {self._endpoint.base}/v2/ (vllm_registry has mirror, proxy and ca_cert)",
            )
        if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            known = self._settings.login_for(self._endpoint.server) is not None
            return self._refuse(
                "registry_auth",
                f"{label} refuses {'this login' if known else 'to answer without a login'} (HTTP {answer.status})",
                f"set vllm_registry.server to {self._endpoint.server} with its username and password",
            )
        if answer.status == HTTPStatus.NOT_FOUND:
            return self._refuse(
                "image_not_found",
                f"{label} has no {wanted} of {self._reference.familiar}",
                "check image: in the inventory; for a digest that is gone, resolve the tag again: "
                "ansible-playbook gpuhosts.vllm.lock -e vllm_relock=NAME:TAG",
            )
        advice = (
            "wait and try again, or use a mirror"
            if answer.status == HTTPStatus.TOO_MANY_REQUESTS
            else "ask the registry's owner"
        )
        return self._refuse("registry_answer", f"{label} answers HTTP {answer.status}", advice)

    def _refuse(self, kind: str, message: str, remedy: str) -> Refusal:
        return refusal(kind, f"image {self._reference.text}", message, remedy)
