# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What is audited, in one form: a service definition, a map, a command line, a compose file and a unit all become this.

A part that the subject does not have is None, and no rule speaks of it; a part that is there and empty is judged.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SERVICE, MAP, SERVE, DOCKER_RUN, COMPOSE, UNIT = "service", "map", "serve", "docker run", "compose", "unit"
PROMETHEUS_RULES, GRAFANA_DASHBOARD = "prometheus rules", "grafana dashboard"
OURS = "gpuhosts"  # the runner of a service of this collection


@dataclass(frozen=True)
class Publish:
    """One published port: the address of the host it is bound to (empty: all of them), both ports as written."""

    address: str
    host_port: str
    container_port: str

    @property
    def is_loopback(self) -> bool:
        """Whether only the host itself reaches it."""
        return self.address in {"127.0.0.1", "::1", "[::1]", "localhost"} or self.address.startswith("127.")


@dataclass(frozen=True)
class Container:
    """How the container is run; None is "not said", which is Docker's default, unless the field says otherwise.

    Sizes are bytes, times are seconds. ``runner`` is who runs it: ``docker run``, ``compose``, ``gpuhosts``.
    ``image`` is None for a subject that only describes the container (``shm_size`` of a map).
    """

    runner: str
    image: str | None = None
    entrypoint: tuple[str, ...] | None = None
    shm_bytes: int | None = None
    ipc: str | None = None
    network: str | None = None
    publishes: tuple[Publish, ...] = ()
    user: str | None = None
    restart: str | None = None
    remove: bool = False
    memory_bytes: int | None = None
    gpus: str | None = None
    mounts: tuple[str, ...] = ()
    env_files: tuple[str, ...] = ()
    secret_env: tuple[str, ...] = ()
    security_opts: tuple[str, ...] = ()
    ulimits: tuple[str, ...] = ()
    log_options: tuple[str, ...] = ()
    stop_seconds: float | None = None
    has_healthcheck: bool | None = None
    start_period_seconds: float | None = None
    tensor_parallel_size: int | None = None


@dataclass(frozen=True)
class HostFacts:
    """What is known of the machine: driver, GPU, its compute capability, the memory of one and their number."""

    driver: str | None = None
    gpu: str | None = None
    compute_capability: str | None = None
    gpu_memory_bytes: int | None = None
    gpu_count: int | None = None


@dataclass(frozen=True)
class UnitFile:
    """A systemd unit: (section, key, value) in their order; keys of a ``unit`` map have no section ('')."""

    entries: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)

    def all(self, key: str, section: str | None = None) -> tuple[str, ...]:
        """Every value of a key, in one section or in any."""
        return tuple(
            value for place, name, value in self.entries if name == key and (place == "" or section in {None, place})
        )

    def last(self, key: str, section: str | None = None) -> str | None:
        """The value that counts, or None."""
        return next(reversed(self.all(key, section)), None)


@dataclass(frozen=True)
class Problem:
    """What could not be read of the subject: where, and what was expected there. It becomes a finding."""

    where: str
    message: str
    expected: str | None = None


@dataclass(frozen=True)
class Expression:
    """One PromQL expression and where it stands (``group vllm alert CacheFull``, ``panel 4 KV cache``)."""

    where: str
    text: str


@dataclass(frozen=True)
class Subject:
    """One thing to audit.

    ``words`` are the words after ``vllm serve`` (the model, then options), also for a subject whose image wants
    another entry point; ``command`` are the words as they are given to the image's own entry point, where the subject
    says them that way. ``previous_words`` are the words that ran before, where the subject knows (``from_args``).
    ``env`` is what the engine sees. ``host_bind`` is the address on which the server is reached from outside the
    container, where that is known. ``shell_text`` is text that a shell runs (``bash -c``, ExecStartPre), for the
    rules that read such text. ``model`` is the model as it is named, ``revision`` its commit.
    What may hold a secret is not shown when a subject is printed.
    ``expressions`` are those of a rule file or a dashboard, ``recorded`` the names that its own rules record.
    """

    kind: str
    name: str
    words: tuple[str, ...] | None = field(default=None, repr=False)
    command: tuple[str, ...] | None = field(default=None, repr=False)
    previous_words: tuple[str, ...] | None = field(default=None, repr=False)
    env: Mapping[str, str] | None = field(default=None, repr=False)
    container: Container | None = None
    host: HostFacts | None = None
    host_bind: str | None = None
    unit: UnitFile | None = None
    alert_expr: str | None = None
    expressions: tuple[Expression, ...] = ()
    recorded: tuple[str, ...] = ()
    log_regex: str | None = None
    shell_text: tuple[str, ...] = field(default=(), repr=False)
    compose_version_key: str | None = None
    raw_text: str | None = field(default=None, repr=False)
    has_key: bool | None = None
    exposed_without_key: bool = False
    problems: tuple[Problem, ...] = field(default=())
