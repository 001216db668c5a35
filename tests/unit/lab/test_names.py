# SPDX-License-Identifier: Apache-2.0
"""The lab's names and addresses."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
import yaml

from tests.lab import names

REPO = Path(__file__).resolve().parents[3]


def test_every_place_has_its_own_address_in_the_labs_network() -> None:
    places = (*names.HOSTS, *names.SERVERS)
    network = ipaddress.ip_network(names.SUBNET)
    assert len({place.address for place in places}) == len(places)
    assert all(ipaddress.ip_address(place.address) in network for place in places)


def test_inner_bridges_and_the_network_do_not_overlap() -> None:
    inner = ipaddress.ip_interface(names.INNER_BRIDGE).network
    assert not inner.overlaps(ipaddress.ip_network(names.SUBNET))


def test_extra_hosts_get_the_first_free_address() -> None:
    assert names.free_address(set()) == "10.212.0.20"
    assert names.free_address({"10.212.0.20", "10.212.0.21"}) == "10.212.0.22"
    assert names.free_address({f"10.212.0.{last}" for last in range(20, 100)}) is None


@pytest.mark.parametrize("place", names.HOSTS, ids=lambda place: place.name)
def test_the_inventory_has_each_host_at_its_address(place: names.Place) -> None:
    inventory = yaml.safe_load((REPO / "inventories" / "lab" / "hosts.yml").read_text(encoding="utf-8"))
    hosts = {
        name: values
        for group in inventory["all"]["children"].values()
        for name, values in group.get("hosts", {}).items()
    }
    assert hosts[place.name]["ansible_host"] == place.address
