# SPDX-License-Identifier: Apache-2.0
"""What everything in the lab is called, and where it is: the one place for names, addresses and labels."""

from __future__ import annotations

from dataclasses import dataclass

LABEL = "io.gpuhosts.vllm.lab"
LABEL_RECIPE = f"{LABEL}.recipe"
LABEL_KIND = f"{LABEL}.kind"
LABEL_NAME = f"{LABEL}.name"
LABEL_ADDRESS = f"{LABEL}.address"

PREFIX = "gpuhosts-lab"
NETWORK = PREFIX
SUBNET = "10.212.0.0/24"
GATEWAY = "10.212.0.1"
INNER_BRIDGE = "10.213.0.1/24"

REGISTRY_PORT = 5000
PRIVATE_PORT = 5443
HUB_PORT = 8080

TINY_MODEL = "lab/tiny-llama"
GATED_MODEL = "lab/gated-llama"
MODEL_PATH = "/srv/models/tiny-llama"
MODEL_REVISION = "5eed000000000000000000000000000020260101"
HUB_TOKEN = "hf_lab_reader_token"
PRIVATE_USER = "lab"
PRIVATE_PASSWORD = "lab-registry-password"  # guards nothing but the lab's own registry

DEBIAN_13 = "debian13"
DEBIAN_13_BARE = "debian13-bare"
DEBIAN_12 = "debian12"
HOST_KINDS = (DEBIAN_13, DEBIAN_13_BARE, DEBIAN_12)


@dataclass(frozen=True)
class Place:
    """A container of the lab: a host or a server, under the name that the lab's command line uses."""

    name: str
    address: str
    kind: str

    @property
    def container(self) -> str:
        return f"{PREFIX}-{self.name}"

    @property
    def volume(self) -> str:
        """Where the Docker of a host keeps its images, or a registry its blobs: outlives the container."""
        return f"{PREFIX}-{self.name}"


HOSTS = (
    Place("gpu1", "10.212.0.11", DEBIAN_13),
    Place("gpu2", "10.212.0.12", DEBIAN_13),
    Place("bare1", "10.212.0.13", DEBIAN_13_BARE),
    Place("old1", "10.212.0.14", DEBIAN_12),
)
REGISTRY = Place("registry", "10.212.0.2", "registry")
PRIVATE = Place("private", "10.212.0.3", "private")
HUB = Place("hub", "10.212.0.4", "hub")
SERVERS = (REGISTRY, PRIVATE, HUB)

FIRST_EXTRA, LAST_EXTRA = 20, 99  # last numbers of the addresses that `hosts-new` hands out


def host_named(name: str) -> Place | None:
    """The host of the standing set with that name."""
    return next((host for host in HOSTS if host.name == name), None)


def free_address(taken: set[str]) -> str | None:
    """The first address for an extra host that nothing in the lab has."""
    candidates = (f"10.212.0.{last}" for last in range(FIRST_EXTRA, LAST_EXTRA + 1))
    return next((address for address in candidates if address not in taken), None)
