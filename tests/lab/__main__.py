# SPDX-License-Identifier: Apache-2.0
"""The lab's command line: python -m tests.lab VERB, from the root of the project."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys

import docker

from . import debian, engine, engine_images, hosts, lab, model, names, restore, state
from .names import Place
from .steps import LabError, say


def chosen(text: str | None) -> tuple[Place, ...]:
    """The hosts that the command line names: gpu1 and gpu2 unless told."""
    if text == "all":
        return names.HOSTS
    wanted = (text or "gpu1,gpu2").split(",")
    found = [names.host_named(name) for name in wanted]
    if None in found:
        known = ", ".join(host.name for host in names.HOSTS)
        message = (
            f"--hosts {text}: the lab knows {known} and all; for another host run: python -m tests.lab hosts-new NAME"
        )
        raise LabError(message)
    return tuple(host for host in found if host)


def up(given: argparse.Namespace) -> None:
    engines = tuple(word for word in given.engine.split(",") if word != "none")
    versions = tuple(word.lstrip("v") for word in given.versions.split(","))
    unknown = {*engines, *versions} - {lab.REAL, lab.STANDIN, *engine_images.VERSIONS}
    if unknown:
        message = f"up: unknown {', '.join(sorted(unknown))}; see: python -m tests.lab up --help"
        raise LabError(message)
    lab.up(lab.Wish(chosen(given.hosts), engines, versions))


def hosts_new(given: argparse.Namespace) -> None:
    engine.ensure()
    place = hosts.new(engine.client(), given.name, given.kind, debian.of_this_machine())
    model.place(hosts.running(engine.client(), place.name), place.name)
    say(f"host {place.name} runs at {place.address}")


def reset(given: argparse.Namespace) -> None:
    for name in given.host:
        restore.reset(name, keep_images=not given.images)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.lab", description=(__doc__ or "").splitlines()[0])
    verbs = made.add_subparsers(required=True, metavar="VERB")
    one = verbs.add_parser("up", help="make and start what is not there: hosts, registries, hub, images, model")
    one.add_argument("--hosts", help="names with commas, or all (default gpu1,gpu2)")
    one.add_argument("--engine", default="real,standin", help="real, standin, both with a comma (the default) or none")
    one.add_argument("--versions", default=",".join(engine_images.VERSIONS), help="versions of the real engine")
    one.set_defaults(do=up, alone=True)
    one = verbs.add_parser("hosts-new", help="one more host at the first free address")
    one.add_argument("name")
    one.add_argument("--kind", choices=names.HOST_KINDS, default=names.DEBIAN_13)
    one.set_defaults(do=hosts_new, alone=True)
    one = verbs.add_parser("reset", help="put hosts back to what they were; keeps their images")
    one.add_argument("host", nargs="+")
    one.add_argument("--images", action="store_true", help="remove their images too")
    one.set_defaults(do=reset, alone=False)  # hosts do not share anything that this changes
    for verb, do, alone, text in (
        ("status", lab.status, False, "what there is"),
        ("down", lab.down, True, "stop hosts and servers, keep them"),
        ("clean", lab.clean, True, "remove all that the lab made, and the dockerd that it started"),
    ):
        verbs.add_parser(verb, help=text).set_defaults(do=lambda _given, do=do: do(), alone=alone)
    return made


def again_as_root() -> None:
    """debootstrap and the Docker socket need root. State and pip's settings stay the caller's."""
    if os.geteuid() == 0:
        return
    if shutil.which("sudo") is None:
        message = "the lab needs root and there is no sudo; run this as root, or: apt-get install sudo"
        raise LabError(message)
    state.folder()
    command = [*("sudo", "-E", f"GPUHOSTS_LAB_HOME={state.home()}", sys.executable, "-m", "tests.lab"), *sys.argv[1:]]
    os.execvp(command[0], command)


def main() -> int:
    given = parser().parse_args()
    try:
        again_as_root()
        with state.only_one() if given.alone else contextlib.nullcontext():
            given.do(given)
        state.give_back()
    except LabError as error:
        sys.stderr.write(f"lab: {error}\n")
        return 1
    except docker.errors.DockerException as error:
        sys.stderr.write(f"lab: Docker refused ({error}); see: docker info, then: python -m tests.lab status\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
