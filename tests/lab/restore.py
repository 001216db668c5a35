# SPDX-License-Identifier: Apache-2.0
"""Put a host back to what it was before a test, in seconds."""

from __future__ import annotations

import time
from pathlib import Path

from . import debian, engine, hosts, model, names
from .steps import LabError, say

RESET = Path(__file__).with_name("guest") / "reset.sh"


def reset(name: str, *, keep_images: bool = True, keep_caches: bool = False) -> None:
    """Remove all that a deployment left on a host; the images stay unless told. A bare host is made anew."""
    began = time.monotonic()
    client = engine.client()
    container = hosts.running(client, name)
    if container.labels[names.LABEL_KIND] == names.DEBIAN_13_BARE:
        place = names.Place(name, container.labels[names.LABEL_ADDRESS], names.DEBIAN_13_BARE)
        container.remove(force=True)
        hosts.up(client, (place,), debian.of_this_machine())
        model.place(hosts.running(client, name), name)
    else:
        words = {"KEEP_IMAGES": "yes" if keep_images else "no", "KEEP_CACHES": "yes" if keep_caches else "no"}
        code, output = container.exec_run(["/bin/sh", "-c", RESET.read_text(encoding="utf-8")], environment=words)
        if code != 0:
            said = " | ".join(output.decode(errors="replace").splitlines()[-3:])
            again = f"docker rm -f {container.name} && python -m tests.lab up --hosts {name}"
            message = f"host {name} could not be reset ({said}); make it anew: {again}"
            raise LabError(message)
    say(f"host {name}: reset in {time.monotonic() - began:.1f} s")
