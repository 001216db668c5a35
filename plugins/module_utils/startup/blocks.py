# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Cut a text of any size into lines worth a look: memory does not grow with the text, and most of it is only searched.

A stream of bytes may be split anywhere. Carriage returns end lines like newlines do (progress bars), NUL bytes are left
out, what is not UTF-8 is replaced, a line without end is cut. Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Callable, Union

Source = Union[str, bytes, Iterable[str], Iterable[bytes]]

BLOCK = 1 << 18
MAX_LINE = 1 << 16

# A line with none of these words says nothing about a start. To look for each is faster than one pattern of them all.
WORTH = (
    b"rror", b"ERROR", b"xception", b"CRITICAL", b"Traceback", b"Interrupt", b"Killed", b"SIG", b"signal", b"ailed",
    b"ailure", b"died", b"exited", b"terminat", b"egmentation", b"took ", b"takes ", b"KV Cache", b"KV cache",
    b"Maximum concurrency", b" blocks: ", b"apturing", b"LLM engine", b"version ", b"Namespace(", b"model   ",
    b"Starting ", b"Started ", b"Dynamo", b"torch_compile", b"Compiling", b"startup complete", b"running on",
    b" HTTP/", b"hutting", b"hutdown", b"server process", b"stopping", b"No space left", b"no space left", b"quota",
    b"/dev/shm", b"unsatisfied", b"too old", b"forward compat", b"placement group", b"exceeds",
    b"does not allocate", b"NCCL", b"illegal", b"assert", b"invalid", b"not supported", b"unsupported", b"in use",
    b"usage: ", b"chat template", b"chat_template", b"watchdog", b"not available", b"fatal", b'File "', b"self.",
    b"_run", b"load_model", b"capture", b"profile", b"warm", b"wake", b"memory", b"^C", b"Fault", b"fault",
    b"Unsupported", b"OutOf", b"oom", b"OOM", b"divisible", b"Expired", b"Cannot", b"cannot", b"NRT", b"nrt_",
    b"UR_RESULT", b"HSA_", b"PTX", b"docker:", b"nvidia-container",
)  # fmt: skip
# Of lines like these the first ones say all that they have to say; a server prints them by the million.
_BARS = (b"it/s]", b"s/it]")
_ANSWERED = re.compile(rb'" [24]\d\d(?: [A-Z][\w ]*)?$')
_LOAD = b"Avg prompt throughput: "
_ENOUGH = 64
_ANOTHER = re.compile(rb"LLM engine|version |default args|Namespace\(")
# Long after the server is ready only these can change what is said of the start: its end, and the next start.
SETTLED = (
    b"EngineDeadError",
    b"died unexpectedly",
    b"encountered a fatal error",
    b"Shutting down",
    b"[shutdown] ",
    b"KeyboardInterrupt",
    b"Segmentation fault",
    b"terminate called",
    b"Background loop",
    b"LLM engine (v",
    b"server version ",
    "\u2588  version ".encode(),
    b"Killed",
    b"out of memory",
    b"chat_template",
    b"chat template",
)
# The last bytes of what a server prints most: answered requests. Throughput ends with a share.
_ROUTINE = {b" 200 OK", b"Request", b"t Found", b"horized", b" Entity"}


def pieces(source: Source) -> Iterator[bytes]:
    """The text as bytes; strings of an iterable are lines, bytes of an iterable are any part of a stream."""
    if isinstance(source, str):
        source = [source.encode("utf-8", "replace")]
    elif isinstance(source, (bytes, bytearray)):
        source = [bytes(source)]
    for piece in source:
        if isinstance(piece, str):
            yield (piece if piece.endswith("\n") else piece + "\n").encode("utf-8", "replace")
        else:
            yield bytes(piece)


def blocks(source: Source) -> Iterator[bytes]:
    """Whole lines, about BLOCK bytes of them at a time; the last block may end without a newline.

    The cuts depend on the text only, not on how it came in pieces.
    """
    rest = b""
    for window in _windows(source):
        data = rest + _plain(window)
        end = data.rfind(b"\n") + 1
        rest = data[end:] if end else data[:MAX_LINE]  # of an endless line only the begin is kept
        if end:
            yield data[:end]
    if rest:
        yield rest


def _windows(source: Source) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for piece in pieces(source):
        held.append(piece)
        size += len(piece)
        if size < BLOCK:
            continue
        data = b"".join(held)
        whole = size - size % BLOCK
        yield from (data[start : start + BLOCK] for start in range(0, whole, BLOCK))
        held, size = [data[whole:]], size - whole
    yield b"".join(held)


def _plain(data: bytes) -> bytes:
    if b"\0" in data:
        data = data.replace(b"\0", b"")
    return data.replace(b"\r", b"\n") if b"\r" in data else data


class Lines:
    """Hand over the lines of a block that are worth a look, with their offsets in the text."""

    def __init__(self, take: Callable[[bytes, int], None], settled: Callable[[int], bool]) -> None:
        self.offset = 0
        self._seen: dict[str, int] = {}
        self._take = take
        self._settled = settled
        self._before = b""

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        skipped = b""
        if not self._settled(self.offset):
            self._search(block, self.offset)
        elif _tells_of_an_end(block):
            # what ended the engine stands before the words that it is dead
            self._search(self._before, self.offset - len(self._before))
            self._search(block, self.offset)
        else:
            skipped = block
        self._before = skipped
        self.offset += len(block)

    def _search(self, block: bytes, offset: int) -> None:
        block = _without_bars(block)
        for begin in _worth(block):
            end = block.find(b"\n", begin)
            line = block[begin : min(end if end >= 0 else len(block), begin + MAX_LINE)]
            if not self._dull(line):
                self._take(line, offset + begin)

    def _dull(self, line: bytes) -> bool:
        """Whether enough of such lines were handed over since the last header of a start."""
        kind = _dull_kind(line)
        if kind is None:
            if _ANOTHER.search(line):
                self._seen.clear()
            return False
        self._seen[kind] = self._seen.get(kind, 0) + 1
        return self._seen[kind] > _ENOUGH


def _without_bars(block: bytes) -> bytes:
    """A download is bars by the thousand; those of the capture tell of a phase, and stay."""
    if sum(block.count(end) for end in _BARS) <= _ENOUGH:
        return block
    lines = block.split(b"\n")
    return b"\n".join([line for line in lines if line[-5:] not in _BARS or b"apturing" in line])


def _worth(block: bytes) -> list[int]:
    """Where the lines begin that hold one of the words, in their order."""
    found = set()
    for word in WORTH:
        at = block.find(word)
        while at >= 0:
            found.add(block.rfind(b"\n", 0, at) + 1)
            end = block.find(b"\n", at)
            at = block.find(word, end) if end >= 0 else -1
    return sorted(found)


def _tells_of_an_end(block: bytes) -> bool:
    """Whether one of SETTLED is in it. To leave out most lines first is cheaper, unless they are very short."""
    if block.count(b"\n") * 40 < len(block):
        lines = block.split(b"\n")
        block = b"\n".join([line for line in lines if line[-7:] not in _ROUTINE and line[-1:] != b"%"])
    return any(word in block for word in SETTLED)


def _dull_kind(line: bytes) -> str | None:
    """Which of the lines it is that say nothing new; told by their ends, since most lines are looked at here."""
    end = line[-48:].rstrip()
    if end.endswith(_BARS):
        return "bar"
    if b'" ' in end and _ANSWERED.search(end):
        return "answer"
    return "load" if _LOAD in line else None
