# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the collection itself writes to a host, read as anybody's text: the audit warns of nothing in it."""

from __future__ import annotations

from pathlib import Path

import jinja2

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config
from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import one_line
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.runfile import render_run

ROOT = Path(__file__).parents[3]


def said(text: str) -> list[str]:
    """The warnings and errors."""
    return [one_line(each) for each in audit_config(text, "0.26.0").findings if each.severity != "info"]


def test_the_unit() -> None:
    source = (ROOT / "roles/vllm_server/templates/vllm.service.j2").read_text("utf-8")
    environment = jinja2.Environment(trim_blocks=True)
    environment.filters["comment"] = lambda text: f"# {text}"
    rendered = environment.from_string(source).render(
        ansible_managed="managed", __vllm_server_service={"name": "chat", "after": ["srv-models.mount"]}
    )
    assert "Requires=srv-models.mount" in rendered
    assert said(rendered) == []


def test_the_run_file(make_release) -> None:
    assert said(render_run(make_release())) == []
