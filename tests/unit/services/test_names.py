# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A name is good on the controller and on the host alike."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.errors import ToolError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.service_args import paths_of
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.parse import parse_services
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.problems import ServicesError


def test_a_name_that_a_file_of_the_host_has_is_refused(service):
    with pytest.raises(ServicesError, match="another name than boot, which this collection needs itself"):
        parse_services({"boot": service()})
    with pytest.raises(ToolError, match="'boot' is no name of a service: expected another name than boot"):
        paths_of("boot")


def test_a_name_of_the_inventory_is_one_on_the_host(service):
    parse_services({"my_chat-2": service()})
    assert paths_of("my_chat-2").unit == "vllm-my_chat-2.service"
