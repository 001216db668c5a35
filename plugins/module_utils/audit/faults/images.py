# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Images that move, and what is changed in them at start.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...findings import ERROR, WARNING
from ..case import Case
from ..rules.saying import Said, case_rule
from .shown import SEEN, text

_SED = re.compile(r"\bsed\s+(?:-\S+\s+)*-\S*i[^\n;&|]*(?:site-packages|dist-packages|/vllm/|entrypoint)[^\n;&|]*")
_PIP = re.compile(r"\b(?:uv\s+)?pip3?\s+install\s+([^\n;&|]*)")


@case_rule("latest_tag", WARNING, "https://docs.docker.com/reference/cli/docker/image/pull/")
def _latest(case: Case) -> Iterator[Said]:
    shown = case.subject.container
    image = (shown.image if shown else None) or ""
    tag = image.rsplit("/", 1)[-1].partition(":")[2]
    if not image or "@" in image or "$" in image or image.startswith("sha256:"):
        return
    if tag in {"", "latest", "nightly"} and not re.fullmatch(r"[0-9a-f]{12,64}", image):
        yield Said(
            image,
            f"{image} is another image tomorrow: a restart or a second host may run another vLLM",
            "name a release, best with its digest: vllm/vllm-openai:vX.Y.Z@sha256:...",
            observed=tag or "no tag",
        )


@case_rule(
    "entrypoint_repeated_in_command", ERROR, "the images' ENTRYPOINT: api_server to 0.11.0, vllm serve since 0.11.1"
)
def _repeated(case: Case) -> Iterator[Said]:
    shown, words = case.subject.container, case.subject.command or ()
    if shown is None or shown.entrypoint is not None or "vllm-openai" not in (shown.image or ""):
        return
    repeated = words[:2] == ("vllm", "serve") or (
        words[:1] != () and words[0] in {"python", "python3"} and "api_server" in " ".join(words[:4])
    )
    if repeated:
        yield Said(
            " ".join(words[:3]),
            f"the image's entry point starts the server already: {' '.join(words[:2])} becomes its arguments",
            "give only what follows it, or set the entry point, too",
        )


@case_rule("patches_entrypoint_with_sed", WARNING, SEEN)
def _sed(case: Case) -> Iterator[Said]:
    if _SED.search(text(case)):
        yield Said(
            "sed -i",
            "installed code is edited at each start: with the next image the pattern may match nothing, or more",
            "build an image with the change, or take a release that has it",
        )


@case_rule("unpinned_pip_install_at_start", WARNING, SEEN)
def _pip(case: Case) -> Iterator[Said]:
    for words in _PIP.findall(text(case)):
        names = [word.strip("'\"") for word in words.split() if not word.startswith("-")]
        loose = [
            name for name in names if "==" not in name and "@" not in name and not name.endswith((".whl", ".txt", "."))
        ]
        if loose and not re.search(r"(^|\s)(-r|-c|--requirement|--constraint|--require-hashes)\b", words):
            yield Said(
                loose[0],
                f"each start installs whatever {loose[0]} is that day, and fails without a network",
                "build an image that has it, with a version: NAME==X.Y.Z",
            )
            return


RULES = (_latest, _repeated, _sed, _pip)
