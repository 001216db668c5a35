"""The stand-in engine against the real one, 0.31.0 and 0.32.0: the same script, and the stand-in is never nicer.

Shapes are compared, not figures. Times have literal limits, measured where nothing else ran: the real engine may be
slower here, and the stand-in may not be quicker. Where the stand-in differs, the stand-in is wrong.
"""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.capacity import compare_capacity
from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.parse import parse_metrics
from tests.integration.conformance import LABEL, REAL, SCENARIOS, STANDIN, VERSIONS, Engine
from tests.integration.lab_host import LabHost
from tests.oracle.legal import assert_legal

HOST = "gpu2"
LIMIT = 3600.0  # for all that a test may have to wait for, on a busy machine

# The moments of a start in their order. The port is taken long before anybody listens on it.
ORDER = (
    "server",
    "bound",
    "engine process",
    "engine title",
    "worker title",
    "listening",
    "healthy",
    "listed",
)
KV_ERROR = "ValueError: To serve at least one request with the model's max seq len (512), "


@dataclass(frozen=True)
class End:
    """How a life has to end: its exit code, and the least seconds from the signal (or the error) to the end.

    Another least for the stand-in, which shall take what the real engine takes on a machine with time, not its best.
    """

    exit_code: int
    least: float
    standin: float


STATUSES = frozenset(range(100, 600))
# A killed engine process is found at once, and the server ends at the next look of its watchdog, every 5 s.
# The least seconds leave room for a machine that is quicker than any that was measured, and for clocks that are read by
# two programs: real ends took 0.36 to 0.5, 0.5 to 4.7, 0.7, 2.7 to 4.0 and 7.1 s.
ENDS = {
    "served": End(0, 0.1, standin=0.4),
    "engine_killed": End(0, 0.1, standin=4.8),
    "worker_killed": End(0, 0.1, standin=0.4),
    "server_killed": End(137, 0.0, standin=0.0),
    "engine_killed_while_loading": End(1, 0.5, standin=3.5),
    "server_killed_while_loading": End(137, 0.0, standin=0.0),
    "engine_fails": End(1, 1.0, standin=4.5),
}


@dataclass
class Lanes:
    """What was begun, by engine, version and scenario."""

    lives: dict[tuple[str, str, str], Future]
    seconds: dict[tuple[str, str, str], float]

    def life(self, kind, version, scenario):
        """Wait for a life, within a limit; its failure is the failure of the test that asks for it."""
        return self.lives[kind, version, scenario].result(LIMIT)

    def pair(self, version, scenario):
        """Give the real life and the stand-in's."""
        return self.life(REAL, version, scenario), self.life(STANDIN, version, scenario)


def cause(life):
    """Find the line of a log that names the error, and give the error itself."""
    line = next((line for line in life.log.splitlines() if KV_ERROR in line), "")
    return line[line.find(KV_ERROR) :]


def begin(lanes, host, which, workers, first_port):
    """Queue the scenarios of one engine of one version, one after the other."""
    kind, version = which

    def live(scenario, port):
        began = time.monotonic()
        engine = Engine.fetch(host, kind, version)
        told = {}
        if kind == STANDIN and scenario == "engine_fails":
            told = {"error": cause(lanes.life(REAL, version, scenario))}
        life = SCENARIOS[scenario](engine, port, **told)
        lanes.seconds[kind, version, scenario] = time.monotonic() - began
        return life

    for number, scenario in enumerate(SCENARIOS):
        lanes.lives[kind, version, scenario] = workers.submit(live, scenario, first_port + number)


@pytest.fixture(scope="module")
def lanes():
    """Run all engines side by side; at the end nothing of them is left on the host, whatever happened."""
    host = LabHost(HOST)
    host.reset()
    settings = json.loads(host.run("cat /etc/docker/daemon.json"))
    mirror = {**settings, "registry-mirrors": ["http://10.212.0.2:5000"]}
    host.run(f"cat > /etc/docker/daemon.json <<'E'\n{json.dumps(mirror)}\nE\nsystemctl reload docker")
    engines = [(kind, version) for kind in (REAL, STANDIN) for version in VERSIONS]
    began, pools = time.monotonic(), [ThreadPoolExecutor(1) for _engine in engines]
    made = Lanes({}, {})
    try:
        for place, (which, workers) in enumerate(zip(engines, pools, strict=True)):
            begin(made, host, which, workers, 8200 + 50 * place)
        yield made
    finally:
        for workers in pools:
            workers.shutdown(wait=False, cancel_futures=True)
        remove = f"docker ps --all --quiet --filter label={LABEL} | xargs --no-run-if-empty docker rm --force"
        host.run(remove, check=False)
        for workers in pools:
            workers.shutdown()
        host.run(f"{remove}; rm -rf /tmp/conformance-*", check=False)
        host.reset()
        print(f"\nconformance of {' and '.join(VERSIONS)} took {time.monotonic() - began:.0f} s in all")
    assert_legal(host.infra)


@pytest.fixture(params=VERSIONS)
def version(request):
    """Give each version."""
    return request.param


def test_a_start_goes_through_the_same_moments(lanes, version):
    for life in lanes.pair(version, "served"):
        assert set(life.moments) == set(ORDER)
        seconds = [life.moments[moment] for moment in ORDER]
        assert seconds == sorted(seconds), life.moments
        assert life.moments["listening"] - life.moments["bound"] > 0.5, life.moments
        assert life.health == ("refused", 200)


def shown(life):
    """Give the processes as `ps` shows them, each below its parent; numbers are not compared."""
    names = [each["comm"] for each in life.processes]
    return sorted(
        (
            "" if each["parent"] is None else names[each["parent"]],
            each["comm"],
            re.sub(r"\d+", "#", each["command"]),
        )
        for each in life.processes
    )


def test_processes_have_the_same_names_titles_and_parents(lanes, version):
    real, standin = lanes.pair(version, "served")
    assert ("vllm", "VLLM::EngineCor", "VLLM::EngineCore") in shown(real)
    assert ("VLLM::EngineCor", "VLLM::Worker", "VLLM::Worker") in shown(real)
    assert shown(standin) == shown(real)


def comparable(answer):
    """Give what has to be the same in an answer; of an error also its kind, what it is about and its code."""
    error = json.loads(answer.text).get("error") if answer.status >= 400 and answer.text else None
    about = {key: error[key] for key in ("type", "param", "code")} if isinstance(error, dict) else error
    return {"status": answer.status, "kind": answer.kind, "allow": answer.allow, "shape": answer.shape, "error": about}


def test_every_route_answers_in_the_same_shape(lanes, version):
    real, standin = lanes.pair(version, "served")
    assert real.answers["completion"].status == real.answers["chat"].status == 200
    assert real.answers["models without a key"].status == 401
    expected = {label: comparable(answer) for label, answer in real.answers.items()}
    observed = {label: comparable(answer) for label, answer in standin.answers.items()}
    wrong = {label: (expected[label], observed[label]) for label in expected if expected[label] != observed[label]}
    assert not wrong, json.dumps(wrong, indent=1)


def test_every_answer_says_the_version_and_the_name(lanes, version):
    for life in lanes.pair(version, "served"):
        assert json.loads(life.answers["version"].text) == {"version": version[1:]}
        assert [card["id"] for card in json.loads(life.answers["models"].text)["data"]] == ["chat"]
        assert json.loads(life.answers["completion"].text)["choices"][0]["finish_reason"] == "length"


def families(text):
    """Give the families of an exposition with their types."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))


def test_metrics_are_a_part_of_the_real_ones(lanes, version):
    real, standin = (life.answers["metrics"].text for life in lanes.pair(version, "served"))
    assert families(standin).items() <= families(real).items()
    read = [parse_metrics(text).to_dict() for text in (real, standin)]
    told = [{name: type(value) for name, value in each.items() if value not in (None, {}, [])} for each in read]
    assert told[1].items() <= told[0].items()
    assert {"prefix", "state", "model_name", "running", "waiting", "kv_cache_usage", "kv_cache_size_tokens"} <= set(
        told[1]
    )
    assert read[0]["state"] == read[1]["state"] == "idle"


def test_the_metrics_tell_the_capacity_that_the_log_tells(lanes, version):
    for life in lanes.pair(version, "served"):
        page = parse_metrics(life.answers["metrics"].text)
        assert page.kv_cache_size_tokens in life.report.kv_cache_tokens
        assert compare_capacity("chat", life.report, page) is None
        assert compare_capacity("chat", life.report, replace(page, kv_cache_size_tokens=1)) is not None


def test_logs_tell_the_same_facts(lanes, version):
    """But for what the real one complained of while it started well: that is this machine's, and a matter of load."""
    real, standin = (life.report for life in lanes.pair(version, "served"))
    told = [
        {name: bool(value) for name, value in report.to_dict().items() if name not in ("first_error_line", "evidence")}
        for report in (real, standin)
    ]
    assert told[0]["kv_cache_tokens_usable"] and told[0]["startup_complete"]
    assert told[1] == told[0], sorted(told[1].items() ^ told[0].items())
    assert real.non_default_args.keys() == standin.non_default_args.keys()
    assert real.vllm_version.partition("+")[0] == standin.vllm_version == version[1:]


def test_logs_go_through_the_same_stages(lanes, version):
    real, standin = lanes.pair(version, "served")
    assert real.stages[0] == "reading arguments" and real.stages[-1] == "ready" and len(real.stages) > 8
    assert standin.stages == real.stages, f"{standin.stages} is not {real.stages}"


def speakers(life):
    """Give the process that opens each stage of a stream, as the log names it; lines that are not vLLM's name none."""
    found = {}
    for line, stage in life.staged:
        name = re.match(r"\((\w+)(?:_DP\d+)? pid=\d+\) ", line)
        found.setdefault(stage, name.group(1) if name else None)
    return found


def test_the_same_process_tells_each_stage(lanes, version):
    real, standin = lanes.pair(version, "served")
    assert speakers(real)["ready"] is None and speakers(real)["weights loaded"] == "Worker"
    assert speakers(standin) == speakers(real), f"{speakers(standin)} is not {speakers(real)}"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_ends_the_same_and_no_sooner(lanes, version, scenario):
    real, standin = (life.ending for life in lanes.pair(version, scenario))
    end = ENDS[scenario]
    print(f"vLLM {version}, {scenario}: real {real.seconds:.1f} s, stand-in {standin.seconds:.1f} s")
    assert (real.exit_code, real.oom) == (standin.exit_code, standin.oom) == (end.exit_code, False)
    assert real.seconds >= end.least
    assert standin.seconds >= end.standin


def test_a_load_goes_on_past_a_sigterm(lanes, version):
    """The signal came when the engine process had its title; the start went on to the end of it."""
    for life in lanes.pair(version, "engine_killed"):
        assert set(life.moments) == set(ORDER)
        assert life.report.startup_complete


def test_a_server_that_stops_takes_no_connection_first(lanes, version):
    told = [life.ending.health for life in lanes.pair(version, "served")]
    assert not any(set(each) & STATUSES - {200} for each in told), told
    assert any(each[-1:] == ("refused",) for each in told), told  # it can end before the next look


def test_a_server_without_its_engine_says_so_until_it_ends(lanes, version):
    told = [set(life.ending.health) & STATUSES - {200} for life in lanes.pair(version, "engine_killed")]
    assert all(each <= {503} for each in told) and any(told)  # it can end before the next look


def test_a_request_to_a_dead_engine_is_an_error_and_ends_the_server(lanes, version):
    told = [set(life.ending.posted) & STATUSES for life in lanes.pair(version, "worker_killed")]
    assert all(each <= {500} for each in told) and any(told)  # it can end before the next look


def test_the_first_error_is_the_cause(lanes, version):
    for life in lanes.pair(version, "engine_fails"):
        assert KV_ERROR in life.report.first_error_line
        assert re.match(r"\(EngineCore pid=\d+\) ERROR ", life.report.first_error_line)
        assert "See root cause above" in life.log
        assert "sizing the KV cache" in life.stages and "engine ready" not in life.stages


def test_the_first_error_of_a_worker_that_died_names_it(lanes, version):
    for life in lanes.pair(version, "worker_killed"):
        assert "Worker proc VllmWorker-0 died unexpectedly" in life.report.first_error_line


def test_times_are_told(lanes):
    """Not a judgement: what the README's table was written from."""
    for (kind, version, scenario), future in lanes.lives.items():
        ending = future.result(LIMIT).ending
        took = lanes.seconds[kind, version, scenario]
        print(f"{kind} {version} {scenario}: {took:.0f} s, ended with {ending.exit_code} after {ending.seconds:.2f} s")
        assert took > 0
