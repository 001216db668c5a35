# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read the facts of one release of vLLM from its source distribution, and merge them into tools/facts.

    python tools/fetch_sdist.py .build/sdists 0.34.0
    python tools/derive_facts.py .build/sdists/vllm-0.34.0.tar.gz            # merges it
    python tools/generate_tables.py                                          # after the difference was reviewed
    python tools/derive_facts.py --check .build/sdists/vllm-0.33.0.tar.gz    # names what differs; exit status 1

Nothing of vLLM is run or imported: sources are read by their syntax trees. What people judged (instead, notes, hidden)
is left as it is; an entry that is gone needs an ``instead``, and a test asks for it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from derived import metrics, options, variables
from derived.archive import Archive
from derived.merge import Merge, at, release_key

FACTS = HERE / "facts"
KINDS = ("options", "variables", "metrics")


def derive(archive: Path) -> dict[str, dict[str, Any]]:
    """Every option, variable and metric of one release."""
    source = Archive(archive)
    return {"options": options.read(source), "variables": variables.read(source), "metrics": metrics.read(source)}


def facts() -> dict[str, Any]:
    """The facts as they stand, by file."""
    return {kind: yaml.safe_load((FACTS / f"{kind}.yml").read_text(encoding="utf-8")) for kind in KINDS}


def differences(found: dict[str, dict[str, Any]], table: dict[str, Any], release: str) -> Iterator[str]:
    """One line for each thing that the source and the facts do not both say of a release."""
    order = list(table["options"]["releases"])
    for kind in KINDS:
        known = {name: at(fact, release, order) for name, fact in table[kind][kind].items()}
        here = {name: fact for name, fact in known.items() if fact is not None}
        yield from (f"{kind} {name}: only in the source" for name in sorted(found[kind].keys() - here.keys()))
        yield from (f"{kind} {name}: only in the facts" for name in sorted(here.keys() - found[kind].keys()))
        for name in sorted(here.keys() & found[kind].keys()):
            for key, value in found[kind][name].items():
                if key != "source" and not _same(here[name].get(key), value, key):
                    yield f"{kind} {name} {key}: the source says {value!r}, the facts {here[name].get(key)!r}"


def unmarked(deprecated: set[str], table: dict[str, Any], release: str) -> set[str]:
    """Options whose text says that they are deprecated and which the facts do not know as such in this release."""
    known = table["options"]["options"]
    marked = {name for name, fact in known.items() if "deprecated" in fact}
    late = {name for name in marked if release_key(known[name]["deprecated"]["since"]) > release_key(release)}
    return deprecated - (marked - late)


def _same(known: Any, found: Any, key: str) -> bool:
    """The order of choices does not matter."""
    return known == found or (key == "choices" and set(known or ()) == set(found or ()))


def main(arguments: list[str]) -> int:
    """Merge one release, or check it."""
    parser = argparse.ArgumentParser(description="Read the facts of a release of vLLM from its source distribution.")
    parser.add_argument("--check", action="store_true", help="only say where the facts differ; write nothing")
    parser.add_argument("archive", type=Path, help="vllm-<version>.tar.gz")
    given = parser.parse_args(arguments)
    release = given.archive.name.removeprefix("vllm-").removesuffix(".tar.gz")
    found, table = derive(given.archive), facts()
    if given.check:
        lines = list(differences(found, table, release))
        print("\n".join(lines) or f"{release}: the facts are what the source says")
        return 1 if lines else 0
    merge = Merge(table, release)
    for name in sorted(unmarked(options.deprecated(Archive(given.archive)), table, release)):
        print(f"{name}: its text says that it is deprecated, the facts do not; add `deprecated`")
    for kind in KINDS:
        merge.add(kind, found[kind])
        merge.write(kind, FACTS / f"{kind}.yml")
    print(f"{release} is in tools/facts: review the difference, then run tools/generate_tables.py")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
