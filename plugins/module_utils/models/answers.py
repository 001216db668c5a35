# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a hub's refusal means, and what to do about it.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from ..host.refusal import Refusal, refusal

# Kinds that the program in the image reports, by the name of huggingface_hub's exception.
_EXCEPTIONS = {
    "GatedRepoError": HTTPStatus.FORBIDDEN,
    "RepositoryNotFoundError": HTTPStatus.NOT_FOUND,
    "RevisionNotFoundError": HTTPStatus.NOT_FOUND,
    "EntryNotFoundError": HTTPStatus.NOT_FOUND,
}


@dataclass(frozen=True)
class Asked:
    """What was asked of which hub, for which subject, and if a token was shown."""

    subject: str
    endpoint: str
    repository: str
    revision: str
    has_token: bool


def hub_refusal(asked: Asked, status: int, said: str) -> Refusal:
    """Make the refusal for an HTTP status; 0 means that the hub could not be asked."""
    subject, endpoint, repository = asked.subject, asked.endpoint, asked.repository
    page = f"{endpoint}/{repository}"
    if status == 0:
        return refusal(
            "hub_unreachable",
            subject,
            f"{endpoint} cannot be reached ({said})",
            f"from the host try: curl -v {endpoint}; set vllm_hf_endpoint to a mirror, or copy the model to the host"
            " and give its path as model:",
        )
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        what = "refuses this token" if asked.has_token else "wants a token"
        return refusal(
            "hub_auth",
            subject,
            f"{endpoint} {what} for {repository} (HTTP {status})",
            f"accept the licence on {page} with the account of the token, and set HF_TOKEN in vllm_secrets;"
            " a repository that does not exist looks the same",
        )
    if status == HTTPStatus.NOT_FOUND:
        return refusal(
            "hub_not_found",
            subject,
            f"{endpoint} has no repository {repository} with the revision {asked.revision} ({said})",
            f"compare model: and revision: with {page}/commits/main",
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return refusal(
            "hub_limit",
            subject,
            f"{endpoint} answers that there are too many requests",
            "wait and run again (what is here is kept), set HF_TOKEN, or use a mirror",
        )
    return refusal("hub_answer", subject, f"{endpoint} answers HTTP {status} ({said})", f"look at {page}")


def status_of(exception: str, status: int | None) -> int:
    """The HTTP status behind an exception of huggingface_hub; 0 when there was no answer."""
    return int(status if status else _EXCEPTIONS.get(exception, 0))
