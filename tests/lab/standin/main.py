# SPDX-License-Identifier: Apache-2.0
"""The stand-in engine: `vllm serve MODEL ...` for tests, written with the standard library only.

It is not vLLM and computes nothing. It exists so that faults of an engine can be made on purpose and quickly; it says
"stand-in engine" in its first log line. What it imitates is in the README, with the figures of the real engine.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import time
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from .behaviour import Behaviour, death_seconds, read_behaviour
from .engine import cache_key, engine_main, start_process, starts_so_far, worker_main
from .help import help_text
from .logs import Log, banner
from .options import non_defaults, read_options
from .refusals import dead_engine
from .server import Server, State

_DEFAULT_LENGTH = 2048


def die(log: Log, error: str, code: int) -> int:
    """End the server process with a traceback."""
    log.plain(f'Traceback (most recent call last):\n  File "/usr/local/bin/vllm", line 8, in <module>\n{error}')
    return code


def model_length(options: dict[str, Any]) -> int:
    """The longest request: what was asked, else what the model's own configuration says."""
    if options.get("max_model_len"):
        return int(options["max_model_len"])
    config = Path(options["model"]) / "config.json"
    if not config.is_file():
        return _DEFAULT_LENGTH
    return int(json.loads(config.read_text(encoding="utf-8")).get("max_position_embeddings", _DEFAULT_LENGTH))


def is_eager(options: dict[str, Any]) -> bool:
    """Whether nothing is compiled."""
    mode = (options.get("compilation_config") or {}).get("mode")
    return bool(options.get("enforce_eager")) or mode in (0, "none", "NONE")


def early_failure(behaviour: Behaviour, options: dict[str, Any], fails: bool) -> str | None:
    """The error of a start that ends before an engine process exists."""
    if fails and behaviour.exit_at == "config":
        return behaviour.error or "ValueError: stand-in engine was told to fail"
    model = options["model"]
    if model.startswith("/") and not (Path(model) / "config.json").is_file():
        return f"ValueError: Invalid repository ID or local directory specified: '{model}'."
    return None


class Life:
    """The server process after its port is bound: start the engine, open the port, end in the right way."""

    def __init__(self, server: Server, state: State, fails: bool) -> None:
        self.server = server
        self.state = state
        self.behaviour = state.behaviour
        self.fails = fails
        self.ready = False
        # Not an Event: a handler that comes while its own thread waits for one would wait for itself.
        self.asked_to_stop = False
        signal.signal(signal.SIGTERM, self.on_term)
        signal.signal(signal.SIGINT, self.on_term)

    def on_term(self, *_: object) -> None:
        """A request to stop; during the load it is lost, as with the real engine."""
        term = self.behaviour.term
        if term == "never" and not self.ready:
            os._exit(143)
        if term != "always" and self.ready:
            self.asked_to_stop = True

    def run(self) -> int:
        """From the start of the engine process to the exit status."""
        resource_tracker.ensure_running()  # the real server has this child too, and it outlives a SIGTERM
        reader, writer = os.pipe()
        told = {
            "model": self.state.options["model"],
            "cache": cache_key(self.state.options),
            "max_model_len": self.state.max_len,
            "workers": self.state.options.get("tensor_parallel_size", 1),
            "eager": is_eager(self.state.options),
            "fails": self.fails,
        }
        engine = start_process("VLLM::EngineCore", "engine-core", json.dumps(told), str(writer), keep=(writer,))
        os.close(writer)
        with os.fdopen(reader, encoding="ascii") as told_back:
            needed = told_back.readline()
        if not needed:
            engine.wait()
            return self.engine_never_came()
        self.state.needed = json.loads(needed)
        try:
            self.open()
        except OSError as error:  # somebody else was quicker to listen on the port
            engine.kill()
            return die(self.state.log, f"OSError: [Errno {error.errno}] {error.strerror}", 1)
        return self.serve(engine)

    def engine_never_came(self) -> int:
        """The consequence, in the server process, of an engine process that ended while it loaded, however it did."""
        time.sleep(death_seconds(self.behaviour, ready=False))
        text = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
        return die(self.state.log, text, self.behaviour.exit_code)

    def open(self) -> None:
        """Open the port and say so."""
        log, options = self.state.log, self.state.options
        tasks = "['embed']" if self.state.pooling else "['generate']"
        log.vllm("entry.py:136", f"Supported tasks: {tasks}")
        address = f"http://{options.get('host') or '0.0.0.0'}:{options.get('port', 8000)}"
        count = "API server 0" if log.version < (0, 18) else "server"
        log.vllm("entry.py:140", f"Starting vLLM {count} on {address}")
        log.plain(f"INFO:     Started server process [{os.getpid()}]\nINFO:     Waiting for application startup.")
        self.server.server_activate()
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        self.ready = True
        log.plain("INFO:     Application startup complete.")

    def serve(self, engine: Any) -> int:
        """Serve until a stop, a crash or the death of the engine process."""
        if self.behaviour.noise_at == "serving":
            self.state.log.noise(self.behaviour.noise, self.behaviour.noise_seconds, self.behaviour.noise_width)
        limit = self.behaviour.crash_after
        end = None if limit is None else time.monotonic() + limit
        while not self.asked_to_stop:
            time.sleep(0.1)
            if engine.poll() is not None:
                return self.engine_died()
            if end is not None and time.monotonic() >= end:
                self.state.log.vllm("core.py:1260", "EngineCore encountered a fatal error.", "ERROR")
                engine.kill()
                return self.behaviour.crash_code
        return self.orderly_stop(engine)

    def engine_died(self) -> int:
        """vLLM ends with status 0 when its engine dies after ready: when it is asked, or when its watchdog looks."""
        log = self.state.log
        text = "[shutdown] MPClient: engine core exited unexpectedly; starting cleanup"
        log.vllm("core_client.py:817", text, "WARNING")
        text = "vllm.v1.engine.exceptions.EngineDeadError: " + dead_engine()["error"]["message"]
        trace = f"AsyncLLM output_handler failed.\nTraceback (most recent call last):\n{text}"
        log.vllm("async_llm.py:906", trace, "ERROR")
        self.state.engine_dead.set()
        end = time.monotonic() + death_seconds(self.behaviour, ready=True)
        while time.monotonic() < end and not (self.state.asked_dead_engine.wait(0.1) or self.asked_to_stop):
            pass
        self.close()
        time.sleep(self.behaviour.stop_seconds)
        log.plain("INFO:     Shutting down\nINFO:     Waiting for application shutdown.")
        log.plain("INFO:     Application shutdown complete.\nINFO:     Finished server process [1]")
        return 0

    def close(self) -> None:
        """Take no more connections; those that there are go on."""
        self.server.shutdown()
        self.server.server_close()

    def orderly_stop(self, engine: Any) -> int:
        """End as told by SIGTERM: wait for running requests if --shutdown-timeout says so, then leave."""
        self.close()
        log, patience = self.state.log, float(self.state.options.get("shutdown_timeout", 0))
        log.vllm("core_client.py:770", f"[shutdown] MPClient: start timeout={patience:g}s")
        log.vllm("core.py:1454", "[shutdown] EngineCore: trigger received signal=SIGTERM")
        end = time.monotonic() + patience
        while self.state.counters.running and time.monotonic() < end:
            time.sleep(0.05)
        log.vllm(
            "core.py:1645", f"[shutdown] EngineCore: aborting in-flight requests count={self.state.counters.running}"
        )
        engine.terminate()
        time.sleep(self.behaviour.stop_seconds)
        log.plain("INFO:     Shutting down\nINFO:     Waiting for application shutdown.")
        log.plain("INFO:     Application shutdown complete.\nINFO:     Finished server process [1]")
        return 0


def serve(argv: list[str]) -> int:
    """`vllm serve`: read the options, bind the port, load, serve."""
    behaviour = read_behaviour()
    log = Log("APIServer", behaviour.version)
    if any(word == "-h" or word.partition("=")[0] == "--help" for word in argv):
        sys.stdout.write(help_text(log.version))
        return 0
    options = read_options(argv, log.version)
    fails = bool(behaviour.exit_at) and starts_so_far() <= (behaviour.fail_starts or sys.maxsize)
    if fails and behaviour.exit_at == "arguments":
        sys.stderr.write(f"vllm serve: error: {behaviour.error or 'unrecognized arguments: --stand-in'}\n")
        return 2
    banner(log, behaviour.version, options["model"], non_defaults(options, log.version))
    api_key = (options.get("api_key") or [os.environ.get("VLLM_API_KEY", "")])[0]
    state = State(options, behaviour, log, model_length(options), api_key)
    host, port = options.get("host") or "0.0.0.0", options.get("port", 8000)
    try:
        if behaviour.port_taken:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        server = Server(host, port, state)
    except OSError as error:
        return die(log, f"OSError: [Errno {error.errno}] {error.strerror}", 1)
    failure = early_failure(behaviour, options, fails)
    if failure is not None:
        return die(log, failure, behaviour.exit_code)
    log.vllm("model.py:733", "Resolved architecture: LlamaForCausalLM")
    log.vllm("model.py:2152", f"Using max model len {state.max_len}")
    return Life(server, state, fails).run()


def main(argv: list[str]) -> int:
    """Take the words of the command line."""
    if argv[:1] == ["engine-core"]:
        return engine_main(argv[1], argv[2])
    if argv[:1] == ["worker"]:
        return worker_main(argv[1])
    if argv[:1] in (["--version"], ["-v"]):
        sys.stdout.write(read_behaviour().version + "\n")
        return 0
    if argv[:1] != ["serve"]:
        sys.stderr.write("usage: vllm [-h] [-v] {chat,complete,serve,bench,collect-env,run-batch} ...\n")
        return 2
    return serve(argv[1:])
