# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0

from __future__ import annotations


class ModuleDocFragment:
    # What an inventory says about image registries.
    DOCUMENTATION = r"""
options:
  registry:
    description: How to reach image registries.
    type: dict
    default: {}
    suboptions:
      mirror:
        description: URL of a mirror for images of Docker Hub. It is asked first, as Docker does.
        type: str
      insecure:
        description: Registries, as C(host) or C(host:port), that speak plain HTTP.
        type: list
        elements: str
        default: []
      server:
        description:
          - The registry, as C(host) or C(host:port), that O(registry.username) and O(registry.ca_cert) are for.
          - Docker Hub when it is left out.
        type: str
      username:
        description: The name to log in with. It is shown to O(registry.server) only.
        type: str
      password:
        description: The password or access token that goes with O(registry.username).
        type: str
      ca_cert:
        description: The certificate authority that signed the registry's certificate, as PEM text.
        type: str
      proxy:
        description: URL of the proxy through which registries are reached. It may not hold a password.
        type: str
      no_proxy:
        description: Names that are reached without the proxy, with all names below them.
        type: list
        elements: str
        default: []
"""
