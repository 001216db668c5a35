# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Write the files that start an engine: ``run`` for the host, ``entry`` for the container, ``args`` for people.

The options are computed once, so that the probe of the preflight asks Docker for what the start will ask.
Private to the collection.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from .paths import LABEL_PROBE, LABEL_RELEASE, LABEL_SERVICE, Paths
from .record import ReleaseRecord

Group = tuple[str, ...]

SECRETS_TARGET = "/run/gpuhosts/secrets"
ENTRY_TARGET = "/gpuhosts/entry"
HUB_TARGET = "/gpuhosts/hf"
COMPILE_TARGET = "/gpuhosts/compile"

_ENTRY = f"""\
#!/bin/sh
# Runs inside the container: takes the secrets from the mounted file, so that no command line and no inspect shows them.
set -eu
set -a
. {SECRETS_TARGET}
set +a
exec vllm serve "$@"
"""

_PROBE = """\
fail() { echo "uid $(id -u) $1" >&2; exit 3; }
[ -r "$1" ] || fail "cannot read the entry script"
[ -w "$2" ] || fail "cannot write to the compile cache $2"
[ -r "$3" ] || fail "cannot read the Hugging Face cache $3"
shift 3
for path in "$@"; do [ -r "$path" ] || fail "cannot read $path"; done
"""


def device_options(gpus: Any, request: str) -> list[Group]:
    """Ask Docker for the GPUs: by CDI names (``cdi``), by the toolkit's own option (``gpus``), or not at all."""
    if gpus == "none" or request == "none":
        return []
    if request == "cdi":
        return [("--device", f"nvidia.com/gpu={name}") for name in _cdi_names(gpus)]
    if isinstance(gpus, (list, tuple)):
        return [("--gpus", '"device=' + ",".join(str(name) for name in gpus) + '"')]
    return [("--gpus", str(gpus))]


def run_options(record: ReleaseRecord) -> list[Group]:
    """All options of the service's ``docker run``, one tuple of words each, in the order in which they are written."""
    paths = Paths(record.service)
    return [
        ("--name", paths.container),
        ("--pull", "never"),
        ("--cidfile", str(paths.cid)),
        ("--label", f"{LABEL_SERVICE}={record.service}"),
        ("--label", f"{LABEL_RELEASE}={record.id}"),
        # The client has to be attached to something, or it would not wait for the end. What it gets goes nowhere (see
        # the end of the file): the log is Docker's, stored once and bounded. Docker's own words go to the other stream.
        ("--attach", "stdout"),
        ("--log-driver", "json-file"),
        ("--log-opt", "max-size=50m"),
        ("--log-opt", "max-file=3"),
        *_network_options(record),
        *_publish_options(record),
        *_container_options(record),
    ]


def probe_command(record: ReleaseRecord, name: str) -> list[str]:
    """A throw-away container with the same devices, mounts, network, user and limits that only looks and ends."""
    options: list[Group] = [
        ("--rm",),
        ("--name", name),
        ("--pull", "never"),
        ("--label", f"{LABEL_PROBE}={record.service}"),
        *_network_options(record),
        *_container_options(record),
    ]
    readable = [SECRETS_TARGET, *(str(mount["target"]) for mount in _user_mounts(record))]
    words = [record.host.image_id, "-c", _PROBE, "probe", ENTRY_TARGET, COMPILE_TARGET, HUB_TARGET, *readable]
    return ["docker", "run", *_flat(options), "--entrypoint", "/bin/sh", *words]


def render_run(record: ReleaseRecord) -> str:
    """The ``run`` file: readable, one option a line, ending in the engine's own arguments."""
    groups: list[Group] = [*run_options(record), ("--entrypoint", "/bin/sh"), (record.host.image_id,), (ENTRY_TARGET,)]
    lines = [_line(group) for group in [*groups, *argument_groups(record.content["args"])]]
    image = f"{record.content['image']}:{record.content['tag']}"
    head = (
        "#!/bin/sh\n"
        f"# Release {record.id} of the vLLM service {record.service}: {image}.\n"
        "# Written by gpuhosts.vllm and never edited: change the inventory instead.\n"
        f"# What the engine prints is kept by Docker: docker logs -f {Paths(record.service).container}\n"
        "set -eu\n"
    )
    return head + " \\\n  ".join(["exec docker run", *lines, ">/dev/null"]) + "\n"


def render_entry() -> str:
    """The ``entry`` file: the same for all releases, kept in each so that a release is complete."""
    return _ENTRY


def render_args(record: ReleaseRecord) -> str:
    """The ``args`` file: what follows ``vllm serve``, one option a line, quoted for a shell."""
    return "".join(_line(group) + "\n" for group in argument_groups(record.content["args"]))


def argument_groups(args: Iterable[str]) -> list[Group]:
    """Put each option and its values on a line of their own: a word that begins with ``--`` begins a line."""
    groups: list[list[str]] = []
    for word in args:
        if groups and groups[-1][0].startswith("--") and not word.startswith("--"):
            groups[-1].append(word)
        else:
            groups.append([word])
    return [tuple(group) for group in groups]


def _cdi_names(gpus: Any) -> list[str]:
    if isinstance(gpus, int):
        return [str(index) for index in range(gpus)]
    if isinstance(gpus, (list, tuple)):
        return [str(name) for name in gpus]
    return [str(gpus)]


def _network_options(record: ReleaseRecord) -> list[Group]:
    return [("--network", str(record.content["network"]))]


def _publish_options(record: ReleaseRecord) -> list[Group]:
    if record.content["network"] == "host":
        return []
    bind, port = record.content["bind"], record.content["port"]
    address = f"[{bind}]" if ":" in bind else bind
    return [("--publish", f"{address}:{port}:{port}")]


def _container_options(record: ReleaseRecord) -> list[Group]:
    content = record.content
    options: list[Group] = [("--init",), ("--shm-size", str(content["shm_size"]))]
    options += device_options(content["gpus"], record.host.device_request)
    options += [("--device", str(device)) for device in content["devices"]]
    options += [("--user", str(content["user"]))] if content["user"] is not None else []
    options += [("--ulimit", f"{name}={limit}") for name, limit in sorted(content["ulimits"].items())]
    options += [("--env", f"{name}={value}") for name, value in sorted(content["env"].items())]
    options += _mount_options(record)
    options += argument_groups(content["docker_args"])
    return options


def _mount_options(record: ReleaseRecord) -> list[Group]:
    paths = Paths(record.service)
    host = record.host
    # The secrets are mounted also when there are none: the first one counts from the next start, without a new release.
    return [
        _mount(str(paths.hub_cache), HUB_TARGET),
        _mount(str(paths.compile_cache(host.image_id, host.uid)), COMPILE_TARGET),
        _mount(str(paths.release(record.id) / "entry"), ENTRY_TARGET, read_only=True),
        _mount(str(paths.secrets), SECRETS_TARGET, read_only=True),
        *(_mount(mount["source"], mount["target"], read_only=mount["read_only"]) for mount in _user_mounts(record)),
    ]


def _user_mounts(record: ReleaseRecord) -> list[dict[str, Any]]:
    """The mounts of the definition, and a model that is a path, read-only where the host has it."""
    mounts = [dict(mount) for mount in record.content["mounts"]]
    model = record.content["model"]
    if model["kind"] == "path" and model["name"] not in [mount["target"] for mount in mounts]:
        mounts.insert(0, {"source": model["name"], "target": model["name"], "read_only": True})
    return mounts


def _mount(source: str, target: str, *, read_only: bool = False) -> Group:
    fields = ["type=bind", f"source={source}", f"target={target}", *(["readonly"] if read_only else [])]
    return ("--mount", ",".join(_csv_field(field) for field in fields))


def _csv_field(field: str) -> str:
    if "," not in field and '"' not in field:
        return field
    return '"' + field.replace('"', '""') + '"'


def _line(group: Sequence[str]) -> str:
    return " ".join(shlex.quote(word) for word in group)


def _flat(groups: Iterable[Group]) -> list[str]:
    return [word for group in groups for word in group]
