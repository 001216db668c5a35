# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The modules of one source distribution, read once."""

from __future__ import annotations

import ast
import re
import tarfile
from pathlib import Path

PARSER = re.compile(r"(config/.*|config|engine/arg_utils|entrypoints/(?:.*/)?cli_args|entrypoints/cli/serve)\.py$")
_TYPES = re.compile(
    r"^\w+\s*(?::[^=\n]+)?= Literal\[|^class \w+\(.*Enum"
    r"|^[A-Z0-9_]+(?:: \w+(?:\[\w+\])?)? = [\d\[]",
    re.MULTILINE,
)
_METRIC = re.compile(r"""["']vllm:\w|Offloading(?:Gauge|Counter|Histogram)Metadata\(""")
_TESTS = re.compile(r"(^|/)(tests?|benchmarks?|models)/")


class Archive:
    """Paths are below ``vllm/``: ``parser`` defines the options, ``types`` may define their choices."""

    def __init__(self, archive: Path) -> None:
        """Read the texts that can matter and parse them."""
        self.parser: dict[str, ast.Module] = {}
        self.types: dict[str, ast.Module] = {}
        self.metrics: dict[str, ast.Module] = {}
        self.variables: ast.Module | None = None
        with tarfile.open(archive) as tar:
            for member in tar:
                match = re.match(r"[^/]+/vllm/(.*\.py)$", member.name)
                file = tar.extractfile(member) if match and member.isfile() else None
                if match and file:
                    self._keep(match.group(1), file.read().decode())

    def _keep(self, path: str, text: str) -> None:
        if path == "envs.py":
            self.variables = ast.parse(text)
        if PARSER.match(path):
            self.parser[path] = ast.parse(text)
        elif _TYPES.search(text) and not _TESTS.search(path):
            self.types[path] = ast.parse(text)
        if _METRIC.search(text) and not _TESTS.search(path):
            self.metrics[path] = ast.parse(text)
