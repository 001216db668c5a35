# SPDX-License-Identifier: Apache-2.0
"""The two lanes of `up` both need the registries: one of them makes a server, the other finds it."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

from tests.lab import servers


def test_two_lanes_that_want_the_registry_at_once_make_it_once(monkeypatch):
    made, inside = [], []

    def start(_client, place, _image, **_options):
        inside.append(place.name)
        assert len(inside) == 1, "two lanes are making the same server"
        if not made:
            time.sleep(0.2)
            made.append(place.name)
        inside.remove(place.name)

    monkeypatch.setattr(servers, "_start", start)
    monkeypatch.setattr(servers.hosts, "network", lambda _client: None)
    monkeypatch.setattr(servers, "registry_image", lambda _client, _source: "image")
    monkeypatch.setattr(servers, "registry", lambda: SimpleNamespace(wait=lambda: None))
    problems = []

    def lane():
        try:
            servers.ensure_registry(None, None)
        except AssertionError as problem:
            problems.append(problem)

    lanes = [threading.Thread(target=lane) for _each in range(2)]
    for each in lanes:
        each.start()
    for each in lanes:
        each.join()
    assert (made, problems) == (["registry"], [])
