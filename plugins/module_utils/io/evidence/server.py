# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the server of a service answers to GET requests, and what the small files of its model say.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...diagnose.budget import LARGE, SMALL
from ...diagnose.case import Model
from ...diagnose.contents import DATA, TEXT
from ...health.answer import Answer, outcome
from ...health.judge import CHECKS, PATHS
from ...metrics.parse import parse_metrics
from ...release.paths import CACHE_ROOT, Paths
from ...release.service_state import ServiceState
from .. import models
from ..http import Requester
from ..peek import read_small, within
from ..serving import check_health
from .engine import own_secrets
from .reader import Reader, json_object

_SECONDS = 10.0
_MODEL_FILES = ("config.json", "generation_config.json", "tokenizer_config.json")
_TEMPLATES = ("chat_template.jinja", "chat_template.json")
_MODEL_FILE = 16 << 20


def read_server(reader: Reader, state: ServiceState | None, url: str, http: Requester) -> dict[str, Any]:
    """The answers of a service that runs."""
    if not url:
        return {}
    if state is None or not state.is_running:
        reader.unread["health"] = "not asked: the service does not run"
        return {}
    answers: dict[str, Answer] = {}

    def asking(address: str, **more: Any) -> Answer:
        answers[address[len(url) :]] = answer = http(address, **more)
        return answer

    key = own_secrets(reader).get("VLLM_API_KEY")
    report = reader.source("health", lambda: check_health(url, CHECKS, timeout=_SECONDS, api_key=key, http=asking))
    for check in CHECKS:
        answer = answers.get(PATHS[check])
        if answer is None or check == "load":  # most servers have no /load, and that is no fault
            continue
        if not answer.ok:
            reader.unread[check] = outcome(answer)
        limit = 2 * LARGE if check == "metrics" else SMALL
        reader.keep(f"server/{check}.txt", TEXT, answer.text, limit, f"GET {PATHS[check]}")
    listed = answers["/v1/models"].json() if "/v1/models" in answers else None
    cards = listed.get("data") if isinstance(listed, dict) else None
    page = answers.get(PATHS["metrics"])
    return {
        "metrics": parse_metrics(page.body) if page is not None and page.ok else None,
        "health": report.to_dict()["facts"] if report else {},
        "models": [card for card in cards if isinstance(card, dict)] if isinstance(cards, list) else [],
    }


def read_model(reader: Reader, content: Mapping[str, Any]) -> Model | None:
    """The small files of the model, where it is on this host."""
    asked = content.get("model")
    if not isinstance(asked, Mapping) or not asked.get("name"):
        return None
    return reader.source("model", lambda: _files(reader, content, asked))


def _files(reader: Reader, content: Mapping[str, Any], asked: Mapping[str, Any]) -> Model:
    folder, allowed = _folder(reader.paths, content, asked)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not on this host")
    found = {name: _file(reader, folder, name, allowed) for name in _MODEL_FILES if (folder / name).exists()}
    for name in ("config.json", "generation_config.json"):  # the tokenizer's is long, and all that counts of it is told
        reader.keep(f"model/{name}", DATA, found.get(name), SMALL, str(folder / name))
    tokenizer = found.get("tokenizer_config.json")
    return Model(
        folder=str(folder),
        generation_config=found.get("generation_config.json"),
        chat_template=any((folder / name).exists() for name in _TEMPLATES)
        or bool((tokenizer or {}).get("chat_template")),
        tokenizer=bool(tokenizer) or (folder / "tokenizer.json").exists(),
    )


def _file(reader: Reader, folder: Path, name: str, allowed: Path) -> dict[str, Any]:
    def read() -> dict[str, Any]:
        return json_object(read_small(within(folder, name, allowed), _MODEL_FILE))

    return reader.source(f"model file {name}", read) or {}


def _folder(paths: Paths, content: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[Path, Path]:
    """Where the model is on the host, and the folder that its links may not leave."""
    name = str(asked["name"])
    if asked.get("kind") == "path":
        mounts = content.get("mounts") or ()
        source = next((str(each["source"]) for each in mounts if each.get("target") == name), name)
        return Path(source), Path(source)
    cache = str(Path(paths.root) / CACHE_ROOT)
    manifest = models.proven(cache, name, str(asked.get("revision") or "main"))
    if manifest is None:
        raise ValueError(f"{name} at {asked.get('revision')} is not complete on this host")
    return models.snapshot_path(cache, manifest), models.repository_cache(cache, name)
