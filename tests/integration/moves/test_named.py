"""Each named fault of the page, on a real host: the run ends as the page says, and so does what serves then."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.harness import Inventory, service
from tests.integration.moves.named import BIG_IMAGE, FAULTS, HOLDER, OTHER_IMAGE, Stage
from tests.integration.moves.scene import GUEST, STATE, Scene
from tests.oracle.legal import assert_legal

HOST = "gpu2"
PAGE = Path(__file__).parents[3] / "docs/runbooks/faults.md"
_ROW = re.compile(r"^\| ([^|]+) \| (committed|rolled back|aborted|rollback failed|no run) \| (new|old|nothing)[^|]*\|")


def rows():
    """The rows of the page: the fault, how its run ends, what serves then."""
    part = PAGE.read_text(encoding="utf-8").partition("## Named faults\n")[2].partition("\n## ")[0]
    return [match.groups() for line in part.splitlines() if (match := _ROW.match(line))]


def test_every_named_fault_has_its_row():
    assert [name for name, _ends, _serves in rows()] == list(FAULTS)


@pytest.fixture(scope="module")
def stage(tmp_path_factory, lab):
    """The host with its service; both images are locked."""
    services = {
        "chat": service(),
        "other": service(image=OTHER_IMAGE, port=8001),
        "big": service(image=BIG_IMAGE, port=8002),
    }
    inventory = Inventory.make(tmp_path_factory.mktemp("named"), services, hosts=(HOST,))
    locked = inventory.play("lock")
    assert locked.rc == 0, locked.text
    scene = Scene.make(lab[HOST], inventory)
    lab[HOST].run(f"cat > {HOLDER} <<'END'\n{(GUEST / 'holder.py').read_text()}END")
    yield Stage(scene, inventory)
    scene.close()


@pytest.mark.parametrize(("name", "ends", "serves"), rows())
def test_a_named_fault_ends_as_the_page_says(name, ends, serves, stage, lab):
    assert lab[HOST] is stage.host
    inject, words = FAULTS[name]
    stage.scene.serves()
    old, opened = stage.scene.link("current"), stage.lines()
    told = inject(stage)
    records = stage.records()
    ran = records[opened:]
    assert [word for word in words if word not in " ".join(told.text.split())] == [], told.text
    assert (told.rc == 0) == (ends == "committed"), told.text
    if ends == "no run":
        assert len(records) >= opened and (not ran or ran[-1]["state"] == "committed"), ran
    else:
        assert records[-1]["state"] == ends.replace(" ", "_"), ran[-3:]
    current = stage.scene.links()[0]
    if serves == "nothing":
        assert not stage.scene.active
    elif serves == "new":
        assert stage.scene.active and stage.scene.links() == (current, current) != (old, old)
    else:
        before = next((each for each in reversed(ran) if each["state"] == "committed"), {"release": old})["release"]
        assert stage.scene.active and stage.scene.links() == (before, before)
    assert_legal(stage.host.infra)
    assert stage.host.run(f"ls {STATE}/starts") and "Traceback" not in told.text
