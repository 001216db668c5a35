# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Step 6: why two servers answer differently: generation config, seed, parsers, template, mode of logprobs.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import ERROR, INFO, WARNING, Finding
from ..versions import Version
from .case import Case
from .model import SOURCE, Section, facts, unread_of

SOURCES = ("model", "release", "environment")
_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_new_tokens")
# The seed was None by default in these, so that every start answered otherwise.
_SEEDLESS = (Version(0, 8), Version(0, 12))
_PARSERS = (
    "tool-call-parser",
    "enable-auto-tool-choice",
    "reasoning-parser",
    "tool-parser-plugin",
    "reasoning-parser-plugin",
    "tool-strict-level",
)
_TEMPLATES = (
    "chat-template",
    "chat-template-content-format",
    "default-chat-template-kwargs",
    "trust-request-chat-template",
    "response-role",
)


def section(case: Case) -> Section:
    """The section."""
    options, model = case.options, case.model
    given = bool(case.args)
    config = model.generation_config if model else None
    sampled = {name: config[name] for name in _SAMPLING if name in config} if config else None
    rows = facts(
        ("generation config", options.get("generation-config", "auto (default)") if given else None, "release.json"),
        ("its overrides", options.get("override-generation-config"), "release.json"),
        ("sampling defaults of the model", sampled, "generation_config.json"),
        ("seed", options.get("seed", _default_seed(case)) if given else None, "release.json"),
        ("batch invariance", case.variable("VLLM_BATCH_INVARIANT"), "environment"),
        ("parsers", {name: options[name] for name in _PARSERS if name in options}, "release.json"),
        ("chat template", {name: options[name] for name in _TEMPLATES if name in options}, "release.json"),
        ("template of the model", _template(case), "tokenizer_config.json, chat_template.jinja"),
        ("mode of logprobs", options.get("logprobs-mode", "raw_logprobs (default)") if given else None, "release.json"),
        ("model folder", model.folder if model else None, "release.json"),
    )
    findings = tuple([*_sampling(case), *_seed(case), *_tools(case), *_chat(case), *_logprobs(case)])
    title = "6. Drift: generation config, seed, parser, template and logprob mode"
    return Section("drift", title, rows, findings, unread_of(case.unread, SOURCES))


def _default_seed(case: Case) -> str | None:
    version = case.version
    if version is None:
        return None
    return "none (default)" if _SEEDLESS[0] <= version < _SEEDLESS[1] else "0 (default)"


def _template(case: Case) -> str | None:
    if case.model is None or not case.model.tokenizer:
        return None
    return "yes" if case.model.chat_template else "none"


def _sampling(case: Case) -> Iterator[Finding]:
    config = case.model.generation_config if case.model else None
    if not config or case.options.get("generation-config", "auto") != "auto":
        return
    moved = {name: config[name] for name in _SAMPLING if name in config}
    if moved:
        yield Finding(
            "generation_config_of_model",
            INFO,
            f"{case.service} generation_config.json",
            "requests that do not say otherwise are sampled with the model's own defaults",
            observed=moved,
            remedy="to compare with other servers give these in the request, or set generation-config: vllm",
            source=SOURCE,
        )


def _seed(case: Case) -> Iterator[Finding]:
    if case.args and "seed" not in case.options and (_default_seed(case) or "").startswith("none"):
        yield Finding(
            "seed_random",
            WARNING,
            f"{case.service} config.seed",
            f"vLLM {case.version} takes a random seed at every start where none is given",
            expected="a number",
            observed=None,
            remedy="set seed: 0",
            source=SOURCE,
        )


def _tools(case: Case) -> Iterator[Finding]:
    options = case.options
    auto, parser = options.get("enable-auto-tool-choice") is True, options.get("tool-call-parser")
    if auto and not parser:
        yield Finding(
            "tool_parser_missing",
            ERROR,
            f"{case.service} config.tool-call-parser",
            "enable-auto-tool-choice needs a parser, and vLLM refuses to start without one",
            remedy="set tool-call-parser to the one of the model",
            source=SOURCE,
        )
    elif parser and not auto:
        yield Finding(
            "tool_parser_unused",
            WARNING,
            f"{case.service} config.tool-call-parser",
            f"{parser} is not used for tool_choice: auto while enable-auto-tool-choice is off",
            remedy="set enable-auto-tool-choice: true",
            source=SOURCE,
        )


def _chat(case: Case) -> Iterator[Finding]:
    model, pooling = case.model, case.gate.get("runner") == "pooling"
    if model is None or not model.tokenizer or pooling:
        return
    if not model.chat_template and "chat-template" not in case.options:
        yield Finding(
            "no_chat_template",
            WARNING,
            f"{case.service} {model.folder}",
            "the model has no chat template and none was given: requests to /v1/chat/completions fail",
            remedy="set chat-template to a file of a mount, or ask /v1/completions",
            source="docs/runbooks/diagnoses/chat_template_missing.md",
        )


def _logprobs(case: Case) -> Iterator[Finding]:
    mode = case.options.get("logprobs-mode")
    if mode and mode != "raw_logprobs":
        yield Finding(
            "logprobs_mode",
            INFO,
            f"{case.service} config.logprobs-mode",
            f"logprobs are {mode}; other servers give raw_logprobs unless told",
            expected="raw_logprobs",
            observed=mode,
            remedy="compare only servers of one mode",
            source=SOURCE,
        )
