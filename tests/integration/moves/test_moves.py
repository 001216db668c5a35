"""Every legal move of every kind of run, cut on a real host: the run ends as the fault matrix of the docs says.

Nobody follows these runs: their controller is gone from the begin. The driver is killed, or the host rebooted or its
power cut, at a record of the journal that belongs to the move: the kill and the power cut come when the step is done
and not yet recorded, the reboot when its intent is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release import states
from tests.integration.harness import Inventory
from tests.integration.moves.scene import KEYS, UNIT, Scene
from tests.oracle.legal import assert_legal

HOST = "gpu2"
PAGE = (Path(__file__).parents[3] / "docs/runbooks/faults.md").read_text(encoding="utf-8")
TITLES = {"first_start": "First start", "change": "Upgrade", "rotate": "Rotation", "remove": "Removal"}
GONE, KILLED, REBOOT, POWER_CUT = "controller gone", "runner killed", "orderly reboot", "power cut"
COLUMNS = (GONE, KILLED, REBOOT, POWER_CUT)
FAILURES = (states.ABORTED, states.ROLLING_BACK, states.ROLLED_BACK, states.ROLLBACK_FAILED)
# What becomes of a run whose driver systemd does not start: whoever opened it says so, or dies before that.
NO_DRIVER = (states.STAGED, states.ABORTED)


def ends(kind: str, move: tuple[str, str], column: str) -> str:
    """How the run ends, as the page says it."""
    part = PAGE.partition(f"### {TITLES.get(kind, kind.capitalize())}\n")[2].partition("\n### ")[0]
    name = " → ".join(state.replace("_", " ") for state in move)
    (row,) = (line for line in part.splitlines() if line.startswith(f"| {name} |"))
    cell = row.strip("| ").split(" | ")[1 + COLUMNS.index(column)]
    before, _switched, after = cell.partition("; once `last_good` is the new one: ")
    cell = after if after and column == POWER_CUT else before  # the power goes when the pointer is switched
    return cell.replace(": ", ", ").rpartition(", ")[2].removeprefix("then ").replace(" ", "_")


def fails(kind: str, move: tuple[str, str]) -> dict[str, list[str]]:
    """The steps that fail, so that the move is made: once they are done, or instead of what they do."""
    state, after = move
    if after not in FAILURES or move == NO_DRIVER:
        return {"fail": [], "instead": []}
    failed = [state]
    if state == states.ROLLING_BACK:
        failed = [states.STARTING if states.STARTING in states.PATHS[kind] else states.STOPPED]
        failed += [states.ROLLING_BACK] if after == states.ROLLBACK_FAILED else []
    instead = {states.COMMITTED, states.ROLLING_BACK, states.ROLLBACK_FAILED} | (
        {states.STOPPED} if kind in (states.STOP, states.REMOVE) else set()  # the engine could not be stopped
    )
    told = {True: "instead", False: "fail"}
    return {told[key]: [each for each in failed if (each in instead) == key] for key in told}


def cut(move: tuple[str, str], column: str) -> dict[str, str] | None:
    """The record at which it is cut, on which side, and how."""
    state, after = move
    if column == GONE or move == NO_DRIVER:
        return None
    how = "kill" if column == KILLED else "wait"
    if after == states.ROLLED_BACK:
        after = state  # on its way back it is cut; the last record is no step
    elif after in FAILURES and (state != states.ROLLING_BACK or column == REBOOT):
        return {"state": state, "phase": "failed", "side": "after", "how": how}
    if column == REBOOT:
        return {"state": after, "phase": "intent", "side": "after", "how": how}
    return {"state": after, "phase": "done", "side": "before", "how": how}


def cells() -> list[tuple[str, tuple[str, str], str]]:
    """All of them; a run that goes well to its end is one cell of the first column, not one a move."""
    found = []
    for kind in states.PATHS:
        moves = states.legal_moves(kind)
        whole = moves[0]
        found += [
            (kind, move, column)
            for move in moves
            for column in COLUMNS
            if column != GONE or move == whole or move[1] in FAILURES
        ]
    return found


def named(cell: tuple[str, tuple[str, str], str]) -> str:
    kind, move, column = cell
    return f"{kind}: {' to '.join(move)}, {column}".replace("_", " ")


@pytest.fixture(scope="module")
def scene(tmp_path_factory, lab, standin_lock):
    """The host with its service; the drivers on it can be cut."""
    inventory = Inventory.make(tmp_path_factory.mktemp("moves"), {}, hosts=(HOST,), lock=standin_lock)
    made = Scene.make(lab[HOST], inventory)
    yield made
    made.close()


def bring(scene: Scene, kind: str) -> None:
    """To where a run of this kind begins."""
    ready = {states.FIRST_START: scene.is_staged, states.START: scene.is_down}
    ready.get(kind, scene.serves)()


@pytest.mark.parametrize(("kind", "move", "column"), [pytest.param(*cell, id=named(cell)) for cell in cells()])
def test_a_run_that_is_cut_ends_as_the_matrix_says(kind, move, column, scene, lab):
    assert lab[HOST] is scene.host
    bring(scene, kind)
    begin = Begin.of(scene, kind)
    done = cut_run(scene, kind, move, column, begin)
    wanted = ends(kind, move, column)
    assert done["ended"] == wanted, done
    assert_legal(scene.host.infra)
    if wanted != states.COMMITTED:  # whoever looks is told why
        assert done["records"][-1][2] and done["records"][-1][2] in scene.host.run(
            "vllm-host status chat", check=False
        ), done
    left = {states.COMMITTED: committed, states.ROLLBACK_FAILED: gave_up}.get(wanted, went_back)
    left(scene, kind, begin)


@dataclass(frozen=True)
class Begin:
    """What there was before a run, and what the run is about."""

    links: tuple[str | None, str | None]
    active: bool
    key: str
    new_key: str
    target: str

    @classmethod
    def of(cls, scene: Scene, kind: str) -> Begin:
        """Look at the host."""
        links, key = scene.links(), scene.key()
        new_key = next(each for each in KEYS if each != key)
        to_other = kind in (states.CHANGE, states.ROLLBACK)
        target = scene.other() if to_other else links[0] or scene.releases[0]
        return cls(links, scene.active, key, new_key if kind == states.ROTATE else key, target)


def cut_run(scene: Scene, kind: str, move: tuple[str, str], column: str, begin: Begin) -> dict[str, Any]:
    """Open the run, let it be cut, and give how it ended."""
    at = cut(move, column)
    told = {"kind": kind, "release": begin.target, "cut": {**fails(kind, move), **({"at": at} if at else {})}}
    if kind == states.ROTATE:
        told["secrets"] = {"VLLM_API_KEY": begin.new_key}
    if move == NO_DRIVER:
        told["driver"] = "refused"
    done = scene.drive(**told)
    assert done["reached"] == (at is not None), done
    if column in (REBOOT, POWER_CUT):
        assert done["ended"] is None or move == NO_DRIVER, done
        scene.host.reboot() if column == REBOOT else scene.host.power_cut()
        done = scene.drive()
    return done


def committed(scene: Scene, kind: str, begin: Begin) -> None:
    """What the run was opened for is so."""
    if kind == states.REMOVE:
        assert (scene.links(), scene.host.run(f"ls {UNIT} || true")) == ((None, None), "")
    elif kind == states.STOP:
        assert (scene.links(), scene.active) == (begin.links, False)
    else:
        assert (scene.links(), scene.active) == ((begin.target, begin.target), True)
        assert [scene.opens(each) for each in KEYS] == [each == begin.new_key for each in KEYS]


def went_back(scene: Scene, kind: str, begin: Begin) -> None:
    """All is as before."""
    assert (scene.links(), scene.active) == (begin.links, begin.active), kind
    if scene.active:
        assert [scene.opens(each) for each in KEYS] == [each == begin.key for each in KEYS]


def gave_up(scene: Scene, kind: str, begin: Begin) -> None:
    """Nothing runs; a start leads to what was good."""
    assert not scene.active
    assert scene.link("current") in (begin.links[1], None), kind
