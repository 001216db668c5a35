# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Tell somebody outside that a gate failed, that a run went back, or that it could not: the hook of the service.

It runs beside the run, which never waits for it, and its failure is one line of the progress.

Private to the collection.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from typing import Any

from ..io.files import link_name
from ..io.notify_hook import call_command, call_url
from ..io.releases import read_gate
from ..release.notice import event_of, notice, notice_text
from ..release.redact import Redactor
from ..startup.lines import redact
from .keeping import redactor_of
from .steps import Context

SECONDS = 10.0


def notify(context: Context) -> threading.Thread | None:
    """Tell of the newest record when it is one that is told; gives the thread that does it.

    The program does not end before the thread does, which takes twice ``SECONDS`` at most.
    """
    try:
        event = event_of(context.records[-1])
        return _begin(context, event) if event else None
    except Exception as error:  # nothing that a hook needs may stop a run that goes back
        context.say(f"notify: nobody could be told: {type(error).__name__}")
        return None


def _begin(context: Context, event: str) -> threading.Thread | None:
    ways = _ways(context)
    if not ways:
        return None
    redactor = redactor_of(context.paths)
    data = notice(event, socket.gethostname(), context.paths.service, context.records)
    text = notice_text({key: _clean(value, redactor) for key, value in data.items()})
    telling = threading.Thread(target=_tell, args=(context, ways, text.encode(), redactor))
    telling.start()
    return telling


def _ways(context: Context) -> Mapping[str, Any]:
    """The hook of the release that the run is about; of the one that runs, where it is about none."""
    release = context.opening.release or link_name(context.paths.current)
    return read_gate(context.paths, release).notify if release else {}


def _tell(context: Context, ways: Mapping[str, Any], body: bytes, redactor: Redactor) -> None:
    """Both ways, one after the other; each that fails is a line."""
    calls = (("command", call_command), ("webhook", call_url))
    for name, call in calls:
        if not ways.get(name):
            continue
        try:
            failure = call(ways[name], body, SECONDS)
        except Exception as error:  # whatever it is, it is the hook's
            failure = f"unexpected {type(error).__name__}"
        if failure:
            context.say(f"notify: the {name} was not told: {_clean(failure, redactor)}; the run goes on")


def _clean(value: Any, redactor: Redactor) -> Any:
    return redact(redactor.line(value)) if isinstance(value, str) else value
