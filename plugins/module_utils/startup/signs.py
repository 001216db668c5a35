# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The signs in a log that are neither figures nor causes: headers, readiness, stops, deaths, consequences.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# A start begins with one of these; which of them there are depends on the release.
VERSION = re.compile(r"vLLM (?:API )?server version v?(?P<api>[\w.+]+)|\u2588  version v?(?P<banner>[\w.+]+)")
ENGINE = re.compile(r"Initializing an? (?:(?P<generation>V[01]) )?LLM engine (?:\(v(?P<version>[^)\s]+)\)|with config)")
CONFIG_MODEL = re.compile(r"with config: model=(?P<quote>['\"])(?P<model>.*?)(?P=quote)[,\s]")
# Without the banner (JSON logging, VLLM_DISABLE_LOG_LOGO) one line says both.
BANNER_MODEL = re.compile(r"(?:\u2588  model +|vLLM server version \S+, serving model )(?P<model>\S.*?)\s*$")
ARGUMENTS = "non-default args: "
NAMESPACE = re.compile(r"\bargs: Namespace\(")
NAMESPACE_MODEL = re.compile(r"\b(?P<key>model_tag|model)=(?P<quote>['\"])(?P<model>.*?)(?P=quote)[,)]")

COMPLETE = "Application startup complete"
SERVED = re.compile(
    r"Uvicorn running on (?:http|unix|socket)"
    r"|\b(?:GET|POST|PUT|DELETE|HEAD|OPTIONS) /\S* HTTP/[\d.]+\S*?\"(?:\S*?m)? (?:\S*?m)?200\b"
)
# The server's words at an orderly end.
STOP = re.compile(
    r"^(?:Shutting down\b|Shutdown initiated|Waiting for application shutdown|Application shutdown complete"
    r"|Finished server process)"
    r"|Shutting down FastAPI HTTP server|\[shutdown\] (?:API server|EngineCore|MPClient)"
    r"|Gracefully stopping http server"
)
SIGTERM = re.compile(
    r"SIGTERM|KeyboardInterrupt: terminated|MQLLMEngine terminated|[Rr]eceived signal:? 15\b|signal=15\b"
)
SIGINT = re.compile(r"\bSIGINT\b|signal=2\b|[Rr]eceived signal:? 2\b|^\^C")
# A mere wait for children, and what is sent to them, say nothing of who stopped the server.
OWN_SIGNAL = re.compile(
    r"sending SIG|send(?:ing)? signal|Executor:|expected termination|Process manager|signal\.SIG"
    r"|SIGTERM received, but|\bhandler\b"
)
INTERRUPT = re.compile(r"^KeyboardInterrupt(?:\b(?!: terminated)|$)")
KILLED = re.compile(r"^(?:.*?(?:line \d+:|\]\+?)\s+\d* ?)?Killed(?:\s|$)")
# The engine is dead although the server was ready; who says it may be the last to know.
DEATH = re.compile(
    r"EngineDeadError|encountered a fatal error|died unexpectedly|exited unexpectedly"
    r"|Background loop (?:is stopped|has errored)|[Ee]ngine (?:background task|loop) (?:failed|is dead"
    r"|is not running)|EngineCore (?:hit|encountered) an"
    r"|watchdog thread terminated|terminate called|Worker failed with error|Segmentation fault|^Killed\b"
    r"|Fatal Python error"
    r"|Executor failed|ActorDiedError|WorkerCrashedError|[Ee]ngine process \(pid \d+\) died|MQLLMEngine is already dead"
)
# One process on the end of another: the cause stands elsewhere, or nowhere.
CONSEQUENCE = re.compile(
    r"Engine core initialization failed|Engine process failed to start|initialization failed due to an exception"
    r"|[Ff]ailed core proc|See (?:root cause|stack trace)|See the stack trace|see the stack trace|EngineDeadError"
    r"|Background loop|died unexpectedly|exited unexpectedly|Worker failed with error|Got fatal signal"
    r"|died, exit code|Engine loop is"
    r"|EngineGenerateError|Timed out (?:waiting|after)|RPCProcess died|Executor failed|ActorDiedError"
    r"|CancelledError|SystemExit|BrokenPipeError|EOFError"
    r"|ConnectionResetError|WorkerCrashedError|ChildFailedError|RayTaskError|leaked (?:semaphore|shared_memory)"
    r"|TCPStore|recvValue failed"
    r"|[Ee]ngine process \(pid \d+\) died|MQLLMEngine is already dead"
)
# Where a line stands alone there is no above.
POINTER = re.compile(
    r"See (?:root cause above|(?:the )?stack trace(?: \(above\))? for (?:the )?root cause(?: issue)?)\.?\s*"
)
# A process is gone, and what others say afterwards comes of that.
GONE = re.compile(r"died unexpectedly|exited unexpectedly")
# The start has failed, whatever else is said.
FATAL = re.compile(
    r"(?:EngineCore|WorkerProc|Engine|Worker) (?:failed to start|hit an exception|process failed to start)"
    r"|Engine core initialization failed"
    r"|Engine process failed to start|Got fatal signal|WorkerProc initialization failed"
    r"|[Ee]xception in worker \S+ while processing method"
    r"|^usage: vllm|died unexpectedly|exited unexpectedly|terminate called|Fatal Python error"
    r"|OCI runtime create failed|Error response from daemon"
    r"|EngineCore encountered a fatal error|watchdog thread terminated|Worker exiting|died, exit code"
)
# The server has given up, whatever those of its processes still do that outlive it.
GIVEN_UP = re.compile(r"^\w+Error: Engine (?:core initialization failed|process failed to start)")
EXCEPTION = re.compile(
    r"^(?:\d+: )?(?P<name>(?:[A-Za-z_]\w*\.)*(?:[A-Za-z_]\w*)?(?:Error|Exception|Interrupt|Failed|Failure"
    r"|OutOfResources|Unsupported|Timeout|Exit|Abort(?:ed)?|Fault|NotFound|Expired|Denied|Mismatch)"
    r"|(?:[a-z_]\w*\.)+(?:[a-z]*error|timeout))(?::\s|\s*$)"  # struct.error, zlib.error, socket.gaierror
    r"|^\s*Value error, "
)
# Docker refuses to start the container: its client says so, and ends.
OF_DOCKER = re.compile(r"^(?:docker: |Error response from daemon|nvidia-container-cli: |OCI runtime )")
# Where an exception that no list knows came from.
ROOMS = {
    "tokenizer_error": re.compile(
        r"tokenization_|sentencepiece|get_tokenizer|cached_tokenizer|AutoTokenizer|tokenizer\.Load"
    ),
    "weights_corrupt": re.compile(r"parse_safetensors_file_metadata|_read_safetensors_metadata"),
    "weights_mismatch": re.compile(r"\bload_weights\b|weight_loader\b|weight_utils\.py"),
    "compile_error": re.compile(r"torch/_inductor/|torch/_dynamo/"),
}
TRACEBACK = "Traceback (most recent call last)"
# What the engine's own processes are called; the others serve requests, and write their clients' mistakes as errors.
OF_THE_ENGINE = re.compile(r"EngineCore|Worker|VLLM|Proc|ray::|^/")
RECOVERED = re.compile(
    r"Error retrieving|[Rr]etry|falling back|[Ff]all ?back|ignor(?:ed|ing)|will be (?:skipped|disabled)"
    r"|Failed to import from vllm\._C|Exception in ASGI|[Ee]rror in preprocessing"
)
# A list of what it might have been proves nothing.
GUESS = re.compile(
    r"potential root causes|[Cc]ommon causes|most common reasons|may be due to|might be caused|could be caused"
    r"|this might be"
    r"|possibl[ey] (?:cause|reason|because)"
)
_MARKS = (("stop", STOP), ("killed", KILLED), ("fatal", FATAL), ("death", DEATH))


def of(text: str) -> Iterator[str]:
    """The names of what a line shows of the fate of a start."""
    if COMPLETE in text:
        yield "complete"
    yield from (name for name, pattern in _MARKS if pattern.search(text))
    own = OWN_SIGNAL.search(text)
    if SIGTERM.search(text) and not own:
        yield "sigterm"
    elif (SIGINT.search(text) and not own) or INTERRUPT.search(text):
        yield "sigint"


def room_of(frame: str) -> str | None:
    """What an unknown exception is about whose traceback has such a line, or None."""
    return next((slug for slug, pattern in ROOMS.items() if pattern.search(frame)), None)
