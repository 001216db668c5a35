# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a stopped release has let go of its port and of its GPUs; what is to be waited for, killed and named.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..gpu.holders import Holder

# A process whose container is gone was killed with it, or has escaped: it gets this long to be gone by itself.
KILL_AFTER = 5.0
# Whoever else took the port keeps it; Docker's own proxy is gone with its container.
PORT_WAIT = 5.0
# A driver that frees the memory of eight GPUs takes its time.
LONGEST = 60.0

# States of a process that has ended: its memory is freed, unless one of its threads hangs in the driver.
ENDED = ("Z", "X", "x")
_UNINTERRUPTIBLE = "D"
_SHOWN = 5


@dataclass(frozen=True)
class Seen:
    """A process as /proc has it; ``container`` is the id of the one that it is in."""

    pid: int
    name: str
    state: str
    owner: str = ""
    container: str = ""


@dataclass(frozen=True)
class Held:
    """What the old container was before the stop: its processes with the time of their begin, which a process that
    only has the same id does not have; and the port that ``release`` needs next."""

    bind: str = "127.0.0.1"
    port: int = 0
    needs_port: bool = False
    release: str = ""
    uses_gpus: bool = False
    gpus: frozenset[str] = frozenset()
    containers: tuple[str, ...] = ()
    processes: Mapping[int, int] = field(default_factory=dict)
    others: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Look:
    """What is there now: processes of the old container, who holds memory, who has the port.

    ``memory`` is None while nobody was asked; ``unknown`` says why nobody could say.
    """

    own: tuple[Seen, ...] = ()
    memory: tuple[Holder, ...] | None = None
    seen: Mapping[int, Seen] = field(default_factory=dict)
    port_taken: bool = False
    unknown: str = ""


@dataclass(frozen=True)
class Verdict:
    """What to do now; all is done when nothing is left."""

    left: tuple[Seen, ...] = ()
    kill: tuple[Seen, ...] = ()
    port: bool = False
    over: bool = False

    @property
    def settled(self) -> bool:
        """Whether nothing has to be waited for."""
        return not self.left and not self.port


def judge_release(held: Held, look: Look, seconds: float) -> Verdict:
    """What is left of the old container so many seconds after the stop, and what to do about it."""
    holds = {holder.pid for holder in look.memory or ()}
    left = tuple(each for each in look.own if each.state not in ENDED or each.pid in holds)
    port = look.port_taken and held.needs_port
    kill = tuple(each for each in left if each.state not in ENDED) if seconds >= KILL_AFTER else ()
    over = seconds >= LONGEST or (port and not left and seconds >= PORT_WAIT)
    return Verdict(left, kill, port, over)


def why_not_free(held: Held, look: Look, verdict: Verdict) -> str:
    """What of the old container is left at the end of all waiting; empty when it is only the port."""
    if not verdict.left:
        return ""
    stuck = any(each.state == _UNINTERRUPTIBLE or each.state in ENDED for each in verdict.left)
    text = f"of the old container is left after {LONGEST:.0f} s and SIGKILL: {_all(verdict.left, look)}"
    if stuck:
        return f"{text}; it hangs in the driver and cannot be killed: reboot required"
    return (
        f"{text}; look at it with: ps -o pid,stat,wchan:30,args -p {','.join(str(each.pid) for each in verdict.left)}"
    )


def strangers(held: Held, look: Look) -> tuple[str, ...]:
    """Who else holds memory of the service's GPUs: named, and nothing of ours to end."""
    own = {*held.processes, *(each.pid for each in look.own)}
    there = [holder for holder in look.memory or () if holder.pid not in own and holder.gpu in held.gpus]
    as_before = {True: " as before", False: " since the stop"}
    return tuple(
        f"{_named(look.seen.get(pid) or Seen(pid, 'a process', ''), look)} holds memory of its GPUs"
        f"{as_before[pid in held.others]}"
        for pid in list(dict.fromkeys(holder.pid for holder in there))[:_SHOWN]
    )


def freed(held: Held, look: Look, killed: Iterable[Seen]) -> str:
    """What a proven release of port and memory is called."""
    parts = [f"port {held.port} is {'taken by somebody else' if look.port_taken else 'free'}"] if held.port else []
    if look.unknown or held.uses_gpus:
        parts.append(look.unknown or "no process of it holds GPU memory")
    names = [f"{each.name} (pid {each.pid})" for each in killed]
    parts += [f"killed what had outlived its container: {', '.join(names)}"] if names else []
    return "; ".join((*parts, *strangers(held, look)))


def _all(left: Iterable[Seen], look: Look) -> str:
    return ", ".join(_named(each, look) for each in left)


def _named(each: Seen, look: Look) -> str:
    sizes = [holder.mib for holder in look.memory or () if holder.pid == each.pid]
    known = [size for size in sizes if size is not None]
    parts = [f"pid {each.pid}", f"{sum(known)} MiB" if known else "", f"user {each.owner}" if each.owner else ""]
    parts += [f"container {each.container[:12]}" if each.container else "", f"state {each.state}" if each.state else ""]
    return f"{each.name} ({', '.join(part for part in parts if part)})"
