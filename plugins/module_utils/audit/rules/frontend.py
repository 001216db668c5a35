# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The HTTP server: options that need another, options that exclude each other, names that are given twice.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config.command_line import CommandLine
from ...findings import ERROR, WARNING
from ...versions import Version
from ..case import Case
from .saying import Said, line_rule

_ARGUMENTS = "vllm/entrypoints/openai/cli_args.py (validate_parsed_serve_args) 0.9.2, 0.28.0; common/cli_args.py 0.33.0"
_ONE_VALUE = (
    "--served-model-name",
    "--host",
    "--port",
    "--max-model-len",
    "--max-num-seqs",
    "--tensor-parallel-size",
    "--pipeline-parallel-size",
    "--data-parallel-size",
    "--gpu-memory-utilization",
    "--quantization",
    "--kv-cache-dtype",
    "--dtype",
    "--lora-modules",
)


@line_rule("auto_tool_choice_without_parser", ERROR, _ARGUMENTS)
def _tools(case: Case, line: CommandLine) -> Iterator[Said]:
    if line.has("--enable-auto-tool-choice") and not line.has("--tool-call-parser"):
        yield Said(
            "--enable-auto-tool-choice",
            "automatic tool choice needs a parser for the model's calls: vLLM refuses to start",
            "add --tool-call-parser with the parser of this model",
            expected="--tool-call-parser",
        )


@line_rule(
    "ssl_key_without_certificate", ERROR, "uvicorn/config.py (load), which vLLM hands --ssl-keyfile to, 0.9.2 to 0.33.0"
)
def _ssl(case: Case, line: CommandLine) -> Iterator[Said]:
    if line.has("--ssl-keyfile") and not line.has("--ssl-certfile"):
        yield Said(
            "--ssl-keyfile",
            "a key without a certificate starts no TLS: the server fails when it opens the port",
            "add --ssl-certfile",
            expected="--ssl-certfile",
        )


@line_rule(
    "headless_with_api_servers",
    ERROR,
    "vllm/entrypoints/cli/serve.py 0.9.2, 0.14.1 (above 1), 0.18.0, 0.19.1, 0.33.0 (above 0)",
)
def _headless(case: Case, line: CommandLine) -> Iterator[Said]:
    servers = line.integer("--api-server-count")
    most = 0 if case.version >= Version(0, 18) else 1
    if line.has("--headless") and servers is not None and servers > most:
        yield Said(
            "--api-server-count",
            f"a headless node starts no API server, --api-server-count is {servers}: vLLM refuses to start",
            "leave it out on headless nodes",
            observed=servers,
        )


@line_rule(
    "per_request_metrics_without_statistics",
    ERROR,
    "vllm/entrypoints/common/cli_args.py (validate_parsed_serve_args) 0.33.0",
    since=Version(0, 33),
)
def _metrics(case: Case, line: CommandLine) -> Iterator[Said]:
    if line.has("--enable-per-request-metrics") and line.has("--disable-log-stats"):
        yield Said(
            "--enable-per-request-metrics",
            "metrics of single requests need the statistics that --disable-log-stats switches off: "
            "vLLM refuses to start",
            "leave --disable-log-stats out",
        )


@line_rule("option_given_twice", WARNING, "vllm/utils/argparse_utils.py (FlexibleArgumentParser) 0.19.1, 0.33.0")
def _twice(case: Case, line: CommandLine) -> Iterator[Said]:
    for name in _ONE_VALUE:
        given = [each.values for each in line.all(name)]
        if len(set(given)) > 1:
            written = " and ".join(" ".join(values) for values in given)
            yield Said(
                name,
                f"{name} is given {len(given)} times ({written}), and only the last one counts",
                "give it once" + (", with all names after it" if name in _LISTS else ""),
                observed=[list(values) for values in given],
            )


_LISTS = frozenset({"--served-model-name", "--lora-modules"})


@line_rule("served_name_repeated", WARNING, "vllm/entrypoints/openai/cli_args.py (--served-model-name) 0.9.2, 0.33.0")
def _names(case: Case, line: CommandLine) -> Iterator[Said]:
    given = line.last("--served-model-name")
    names = given.values if given else ()
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        yield Said(
            "--served-model-name",
            f"{', '.join(repeated)} is named twice: /v1/models lists it twice",
            "name each once",
            observed=list(names),
        )


RULES = (_tools, _ssl, _headless, _metrics, _twice, _names)
