# SPDX-License-Identifier: Apache-2.0
"""Run the test lanes, and say at the end what ran, what failed and what could not run.

`lanes.py` runs all but those that run by name only, `lanes.py lint unit` runs these, `lanes.py --list` names them. The
light lanes run beside the lab and the lanes on its hosts. A lane that fails does not stop the others. The last line
sums everything up: tests of the pytest steps, and one for each step without pytest; a lane that could not run counts as
skipped and is named.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import bootstrap
from bootstrap import BUILD, OLDER_VENV, REPO, TREE, VENV

RESULTS = BUILD / "lanes"
UTILS = "ansible_collections.gpuhosts.vllm.plugins.module_utils"
STARTED = time.monotonic()
PRINTING = threading.Lock()
# The lab is made, and the benches are run, by the newest core only.
CONTROLLER_ONLY = tuple(f"--ignore=tests/unit/{each}" for each in ("bench", "lab", "standin"))
RUNNING: set[subprocess.Popen[str]] = set()


@dataclass(frozen=True)
class Step:
    """One command of a lane; a pytest step is counted by its tests, every other one counts as one."""

    name: str
    command: list[str]
    cwd: Path = REPO
    env: dict[str, str] = field(default_factory=dict)
    pytest: bool = False


@dataclass(frozen=True)
class Lane:
    """A group of steps with a time limit; `obstacle` says why it cannot run here, if it cannot."""

    name: str
    about: str
    steps: Callable[[], list[Step]]
    limit: int = 600
    needs_lab: bool = False
    by_name: bool = False  # runs only when it is named: all together would take longer than a test run may
    other_hosts: bool = False  # shares no host with the lane before it: the two may run at once
    obstacle: Callable[[], str | None] = lambda: None


@dataclass
class Result:
    """What a lane came to."""

    lane: str
    seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    not_run: str | None = None


def tool(name: str) -> str:
    """Name a program of the environment."""
    return str(VENV / "bin" / name)


def pytest_step(name: str, *paths: str, python: Path = VENV / "bin" / "python") -> Step:
    """Run pytest with the collection importable; skips are printed with their reasons."""
    report = RESULTS / f"{name}.xml"
    command = [str(python), "-m", "pytest", "-rs", "--durations=5", f"--junitxml={report}", *paths]
    return Step(name, command, env={"PYTHONPATH": f"{TREE}{os.pathsep}{REPO}"}, pytest=True)


def lint_steps() -> list[Step]:
    """Everything that reads code without running it."""
    mypy = [tool("mypy"), "--config-file", str(REPO / "pyproject.toml"), "-p", UTILS]
    return [
        Step("ruff check", [tool("ruff"), "check", "."]),
        Step("ruff format", [tool("ruff"), "format", "--check", "."]),
        Step("yamllint", [tool("yamllint"), "--strict", "."]),
        Step("ansible-lint", [tool("ansible-lint"), "--offline", "--strict", "--profile", "production"]),
        Step("mypy", mypy, cwd=TREE, env={"MYPYPATH": str(TREE)}),
    ]


def docs_steps() -> list[Step]:
    """The changelog's fragments, and the documentation of plugins and roles."""
    checks = ["--plugin-docs", "--validate-collection-refs", "self", "--disallow-unknown-collection-refs"]
    return [
        Step("changelog fragments", [tool("antsibull-changelog"), "lint"]),
        Step("collection docs", [tool("antsibull-docs"), "lint-collection-docs", *checks, "--skip-rstcheck", "."]),
    ]


def sanity_step(name: str, folder: Path, *options: str) -> Step:
    """ansible-test sanity in a copied tree, with no ignore file."""
    script = str(REPO / "tests" / "run" / "sanity.py")
    flags = ["--venv", "--color", "no", *options]
    return Step(name, [tool("python"), script, "--bin", str(folder / "bin"), "sanity", *flags])


def older_core_steps() -> list[Step]:
    """Units and sanity on the oldest ansible-core that the collection allows; style was judged by the newest one."""
    style = [word for test in ("pep8", "pylint", "yamllint") for word in ("--skip-test", test)]
    return [
        pytest_step("older-core-unit", "tests/unit", *CONTROLLER_ONLY, python=OLDER_VENV / "bin" / "python"),
        sanity_step("sanity, older core", OLDER_VENV, *style),
    ]


def lab_steps() -> list[Step]:
    """The hosts, the registry, the images and the model that integration and molecule run on."""
    return [Step("lab up", [tool("python"), "-m", "tests.lab", "up", "--hosts", "all"])]


def no_archives() -> str | None:
    """Why the source distributions cannot be had here: they are fetched once, then kept in the build folder."""
    fetch = [tool("python"), str(REPO / "tools" / "fetch_sdist.py"), str(BUILD / "sdists"), "0.8.5"]
    done = subprocess.run(fetch, check=False, capture_output=True, text=True)
    why = done.stderr.strip().splitlines()[-1:] or ["it says nothing"]
    return None if done.returncode == 0 else f"the package index gives no archive: {why[0]}"


def molecule_steps() -> list[Step]:
    """One step a scenario."""
    scenarios = sorted(path.parent.name for path in REPO.glob("molecule/*/molecule.yml"))
    names = [name for name in scenarios if name != "default"]
    return [Step(f"molecule {name}", [tool("molecule"), "test", "--scenario-name", name]) for name in names]


LANES = (
    Lane("lint", "ruff, yamllint, ansible-lint, mypy", lint_steps),
    Lane("unit", "tests of single parts, and of the repository's own rules", lambda: [
        pytest_step("unit", "tests/unit"), pytest_step("repo", "tests/repo")
    ]),
    Lane("docs", "changelog fragments, plugin and role documentation", docs_steps),
    Lane("package", "the built tarball: contents, installation", lambda: [pytest_step("package", "tests/package")]),
    Lane("facts", "what is known of vLLM's releases, against the sources of four", lambda: [
        pytest_step("facts", "tests/facts")
    ], obstacle=no_archives),
    Lane("sanity", "ansible-test sanity", lambda: [sanity_step("sanity", VENV)], limit=1500),
    Lane("older-core", "units and sanity on the oldest ansible-core", older_core_steps, limit=1800,
         obstacle=bootstrap.older_core_venv),
    Lane("lab", "build or reuse the test hosts", lab_steps, limit=2400),
    Lane("gpu1", "playbooks on the lab's host gpu1, stand-in engine", lambda: [
        pytest_step("gpu1", "tests/integration/gpu1")
    ], limit=3600, needs_lab=True),
    Lane("gpu2", "playbooks on the other hosts of the lab, stand-in engine", lambda: [
        pytest_step("gpu2", "tests/integration/gpu2")
    ], limit=3600, needs_lab=True, other_hosts=True),
    Lane("molecule", "role scenarios on the lab's hosts", molecule_steps, limit=1200, needs_lab=True, other_hosts=True),
    Lane("waves", "an upgrade of five hosts in waves, on hosts that it makes, stand-in engine", lambda: [
        pytest_step("waves", "tests/integration/waves")
    ], by_name=True, limit=900, needs_lab=True, other_hosts=True),
    Lane("changes", "rollback, rotation, freeze, and the console blocks of their runbooks, stand-in engine", lambda: [
        pytest_step("changes", "tests/integration/changes")
    ], by_name=True, limit=1800, needs_lab=True),
    Lane("moves", "the fault page: every move of every kind of run cut, every named fault, stand-in engine", lambda: [
        pytest_step("moves", "tests/integration/moves")
    ], by_name=True, limit=5400, needs_lab=True),
    Lane("replace", "the real engine is upgraded, goes back from what is broken, and is rolled back", lambda: [
        pytest_step("replace", "-s", "tests/integration/replace")
    ], by_name=True, limit=1800, needs_lab=True),
    Lane("engine", "the real engine, with nothing beside it that would falsify its times", lambda: [
        pytest_step("engine", "-s", "tests/integration/engine")
    ], limit=3000, needs_lab=True),
)  # fmt: skip


def say(lane: str, text: str) -> None:
    """Print one line of a lane, whole, since two lanes may print at once."""
    with PRINTING:
        print(f"{time.monotonic() - STARTED:7.1f} {lane:11} | {text}", flush=True)


def environment(extra: dict[str, str]) -> dict[str, str]:
    """What every step runs in: the environment's tools first, real Pythons, no colours, the collection's tree."""
    fixed = {
        "PATH": bootstrap.search_path(),
        "ANSIBLE_COLLECTIONS_PATH": str(TREE),
        "ANSIBLE_NOCOLOR": "1",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
    }
    return {**os.environ, **fixed, **extra}


def run_step(lane: Lane, step: Step, deadline: float) -> int:
    """Run one command, its lines printed as they come, ended with all its children at the lane's time limit."""
    process = subprocess.Popen(
        step.command, cwd=step.cwd, env=environment(step.env), text=True, errors="replace", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    RUNNING.add(process)
    reader = threading.Thread(target=relay, args=(lane.name, process), daemon=True)
    reader.start()
    try:
        return process.wait(timeout=max(1.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        say(lane.name, f"{step.name}: ended at the lane's limit of {lane.limit} s")
        stop(process)
        return 124
    finally:
        RUNNING.discard(process)
        reader.join(timeout=5)  # a daemon started by the step may hold the pipe open: do not wait for it


def relay(lane: str, process: subprocess.Popen[str]) -> None:
    """Pass a command's lines on."""
    for line in process.stdout or ():
        say(lane, line.rstrip())


def stop(process: subprocess.Popen[str]) -> None:
    """End a command and what it started."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(timeout=20)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def count(step: Step, code: int, result: Result) -> None:
    """Add a finished step to its lane's result."""
    report = RESULTS / f"{step.name}.xml"
    if step.pytest and report.exists():
        suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
        total, failures, errors, skipped = (
            sum(int(suite.get(key, 0)) for suite in suites) for key in ("tests", "failures", "errors", "skipped")
        )
        bad = failures + errors
        result.passed += total - bad - skipped
        result.skipped += skipped
        # pytest may also fail as a whole (nothing collected, killed at the limit): that is a failure of its own.
        bad = max(bad, 1) if code else bad
    else:
        bad = 1 if code else 0
        result.passed += 1 - bad
    result.failed += bad
    if code or bad:
        result.failures.append(f"{step.name} (exit code {code}){''.join(failed_tests(report) if step.pytest else [])}")


def failed_tests(report: Path) -> list[str]:
    """Name the tests that failed, each with the first line of why: the end of a long run has to say it again."""
    if not report.exists():
        return []
    cases = ElementTree.parse(report).getroot().iter("testcase")
    failed = ((case, fault) for case in cases for fault in case if fault.tag in ("failure", "error"))
    return [
        f"\n  {case.get('name')}: {(fault.get('message') or fault.tag).splitlines()[0][:300]}" for case, fault in failed
    ]


def run_lane(lane: Lane) -> Result:
    """Run all steps of a lane, also after one that failed."""
    result = Result(lane.name)
    begin = time.monotonic()
    say(lane.name, f"begins: {lane.about}")
    try:
        result.not_run = lane.obstacle()
    except (bootstrap.CannotSetUp, subprocess.CalledProcessError) as problem:
        result.not_run = str(problem)
    for step in [] if result.not_run else lane.steps():
        if step.pytest:
            (RESULTS / f"{step.name}.xml").unlink(missing_ok=True)
        say(lane.name, "$ " + " ".join(step.command).replace(str(REPO) + "/", ""))
        count(step, run_step(lane, step, begin + lane.limit), result)
    if not result.not_run and result.passed + result.failed + result.skipped == 0:
        result.not_run = "it has no steps"
    result.seconds = time.monotonic() - begin
    return finish(result)


def finish(result: Result) -> Result:
    """Count a lane that did not run as one skipped, and say how the lane ended."""
    if result.not_run:
        result.skipped = 1
        say(result.lane, f"NOT RUN: {result.not_run}")
    verdict = "failed: " + "; ".join(result.failures) if result.failures else "ends"
    say(result.lane, f"{verdict} after {result.seconds:.1f} s")
    return result


def run_lanes(lanes: list[Lane]) -> list[Result]:
    """Run the lab beside the light lanes, then what needs the lab; lanes on other hosts beside those on gpu1.

    What needs the lab does not wait for the light lanes, since most of it is waiting; only what has the machine to
    itself comes after all others.
    """
    results: dict[str, Result] = {}
    lab = beside([lane for lane in lanes if lane.name == "lab"], results)
    light = beside([lane for lane in lanes if not lane.needs_lab and lane.name != "lab"], results)
    lab.join()
    others = beside([lane for lane in lanes if lane.other_hosts], results)
    run_each([lane for lane in lanes if lane.needs_lab and lane.name == "gpu1"], results)
    others.join()
    light.join()
    run_each([lane for lane in lanes if lane.needs_lab and not lane.other_hosts and lane.name != "gpu1"], results)
    return [results[lane.name] for lane in lanes]


def beside(lanes: list[Lane], results: dict[str, Result]) -> threading.Thread:
    """Run lanes one after another in a thread of their own."""
    thread = threading.Thread(target=run_each, args=(lanes, results))
    thread.start()
    return thread


def run_each(lanes: list[Lane], results: dict[str, Result]) -> None:
    """Run lanes one after another; without a lab, what needs it is not run."""
    for lane in lanes:
        if lane.needs_lab and "lab" in results and results["lab"].failed:
            results[lane.name] = finish(Result(lane.name, not_run="the lab is not up, see its lane"))
        else:
            results[lane.name] = run_lane(lane)


def summary(results: list[Result]) -> str:
    """Say it all in a table; the closing line comes last."""
    rows = [f"{'lane':12} {'seconds':>8} {'passed':>7} {'failed':>7} {'skipped':>8}"]
    rows += [f"{r.lane:12} {r.seconds:8.1f} {r.passed:7} {r.failed:7} {r.skipped:8}" for r in results]
    rows += [f"not run: {r.lane}: {r.not_run}" for r in results if r.not_run]
    rows += [f"failed: {r.lane}: {failure}" for r in results for failure in r.failures]
    rows.append(f"total {time.monotonic() - STARTED:.0f} s")
    sums = {name: sum(getattr(r, name) for r in results) for name in ("passed", "failed", "skipped")}
    rows.append("{passed} passed, {failed} failed, {skipped} skipped".format(**sums))
    return "\n".join(rows)


def choose(names: list[str], with_lab: bool) -> list[Lane]:
    """Pick the lanes that were named, or all; what needs the lab brings the lab."""
    known = {lane.name: lane for lane in LANES}
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise SystemExit(f"unknown lane {', '.join(unknown)}; there are: {', '.join(known)}")
    wanted = set(names or (name for name, lane in known.items() if not lane.by_name))
    if with_lab and any(known[name].needs_lab for name in wanted):
        wanted.add("lab")
    return [lane for lane in LANES if lane.name in wanted]


def main() -> int:
    """Run what was asked for; exit code 1 when anything failed, or nothing ran."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lanes", nargs="*", metavar="LANE")
    parser.add_argument("--list", action="store_true", help="name the lanes and stop")
    parser.add_argument("--lab-is-up", action="store_true", help="do not build the lab for the lanes that need it")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{lane.name:12} {lane.about}{' (by name only)' if lane.by_name else ''}" for lane in LANES))
        return 0
    RESULTS.mkdir(parents=True, exist_ok=True)
    try:
        results = run_lanes(choose(options.lanes, not options.lab_is_up))
    except KeyboardInterrupt:
        for process in list(RUNNING):
            stop(process)
        print("interrupted", file=sys.stderr)
        return 130
    print(summary(results), flush=True)
    return 1 if any(r.failed for r in results) or not any(r.passed for r in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
