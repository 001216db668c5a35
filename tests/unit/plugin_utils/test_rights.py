# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Missing rights are told with the host's name; what is another trouble stays what it is."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.rights import as_root

VARS = {"inventory_hostname": "gpu1", "ansible_user": "ops"}


def raising(error):
    """A module call that ends like this."""

    def run_module():
        raise error

    return run_module


def test_a_result_passes():
    assert as_root(VARS, lambda: {"changed": True}) == {"changed": True}


@pytest.mark.parametrize(
    "error",
    [
        AnsibleError("Missing sudo password"),
        AnsibleConnectionFailure("Timeout (12s) waiting for privilege escalation prompt: "),
    ],
)
def test_who_does_not_become_root_fails_with_the_host_s_name(error):
    with pytest.raises(AnsibleActionFail, match=r"^gpu1: .*ops.*Next: "):
        as_root(VARS, raising(error))


@pytest.mark.parametrize("error", [AnsibleConnectionFailure("timed out"), AnsibleError("no such module")])
def test_other_errors_stay_what_they_are(error):
    with pytest.raises(type(error)) as caught:
        as_root(VARS, raising(error))
    assert caught.value is error


def test_what_sudo_printed_instead_of_an_answer_is_read():
    answer = {"failed": True, "module_stdout": "\r\nops is not in the sudoers file.\r\n", "module_stderr": "", "rc": 1}
    with pytest.raises(AnsibleActionFail, match="gpu1: ops may not become root"):
        as_root(VARS, lambda: answer)


def test_a_module_that_broke_for_another_reason_is_shown_as_it_is():
    answer = {"failed": True, "module_stdout": "Segmentation fault", "module_stderr": "", "rc": 139}
    assert as_root(VARS, lambda: answer) == answer


def test_a_module_that_ran_as_somebody_else_names_the_host():
    answer = {"failed": True, "not_root": True, "msg": "this ran as ops (uid 1000), expected root"}
    assert as_root(VARS, lambda: answer)["msg"].startswith("gpu1: this ran as ops")
