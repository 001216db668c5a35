# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The keys of a service: the one table that the parser, the documentation and the role's argument_specs share.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STARTED, STOPPED, ABSENT = "started", "stopped", "absent"
MIN_VERSION = "0.11.1"

_ACCEPTS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
    "time": (str, int),
    "size": (str,),
    "gpus": (str, int, list),
}
_ANSIBLE_TYPES = {"time": "raw", "size": "str", "gpus": "raw"}
_WORDS = {
    "str": "text (in quotes, if YAML reads it as something else)",
    "int": "a whole number, without quotes",
    "float": "a number, without quotes",
    "bool": "true or false, without quotes",
    "list": "a list",
    "dict": "a map",
    "time": "a time such as 90s or 2m",
    "size": "a size such as 16g",
    "gpus": "all, none, a count, or a list of indices or UUIDs",
}


@dataclass(frozen=True)
class Key:
    """One key: what it takes, what it is when nobody says it, what it means."""

    name: str
    type: str
    doc: str
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()
    elements: str | None = None
    options: tuple[Key, ...] = ()

    def accepts(self, value: object) -> bool:
        """Whether the value has this key's type; true is no number, whatever Python says."""
        kinds = _ACCEPTS[self.type]
        return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))

    @property
    def allowed(self) -> str:
        """What may stand here, in words."""
        return "one of " + ", ".join(self.choices) if self.choices else _WORDS[self.type]


GOLDEN_KEYS = (
    Key("prompt", "str", "The text that is completed."),
    Key("messages", "list", "Maps of C(role) and C(content), asked as a chat instead.", (), elements="dict"),
    Key("max_tokens", "int", "How many tokens are asked for.", 32),
    Key("contains", "str", "What the answer has to contain."),
    Key("pattern", "str", "A regular expression that has to be found in the answer."),
    Key("expect", "str", "An answer to compare with; less of it than the share is a warning."),
    Key("share", "float", "The least share of equal tokens, in their order.", 0.8),
)
NOTIFY_KEYS = (
    Key(
        "command",
        "list",
        "A program on the host and its arguments; it gets one JSON object on its standard input.",
        (),
        elements="str",
    ),
    Key("webhook", "str", "An address that gets the same JSON object with POST. No login in it."),
)
GATE_KEYS = (
    Key("deadline", "time", "How long a start may take in all; V(auto) lets the log's progress decide.", "auto"),
    Key("silence", "time", "How long a start may go without any progress in its log.", "120s"),
    Key(
        "progress_deadline",
        "time",
        "How long a whole change may take until it is committed; V(auto) leaves it to the deadlines of its parts.",
        "auto",
    ),
    Key("soak", "time", "How long the server must stay healthy before the start counts.", "60s"),
    Key("kv_floor_tokens", "int", "Fewest KV-cache tokens that the server must have room for."),
    Key(
        "golden_prompts",
        "list",
        "Prompts that are asked at temperature 0, and what their answers have to be. Garbage is an error for each.",
        (),
        elements="dict",
        options=GOLDEN_KEYS,
    ),
    Key("warmup", "int", "How many requests warm the server up before it counts as started.", 1),
)
DRAIN_KEYS = (Key("cap", "time", "How long a stop waits for the requests in flight, at most.", "120s"),)
MOUNT_KEYS = (
    Key("source", "str", "Absolute path on the host.", required=True),
    Key("target", "str", "Absolute path in the container.", required=True),
    Key("read_only", "bool", "Whether the container may only read it.", True),
)

SERVICE_KEYS = (
    Key(
        "image",
        "str",
        "The image, as V(name:tag). Its digest comes from C(vllm.lock.yml); V(latest) and digests are refused.",
        required=True,
    ),
    Key("model", "str", "A Hugging Face id, or an absolute path on the host.", required=True),
    Key("revision", "str", "The commit of a Hugging Face model: 40 hexadecimal digits. Not for a path."),
    Key("port", "int", "The TCP port that the server listens on.", required=True),
    Key("bind", "str", "The address of the host that the server listens on.", "127.0.0.1"),
    Key(
        "exposed_without_key",
        "bool",
        "Set it to serve beyond loopback with no API key. Without it, a O(bind) that is not loopback needs "
        "V(VLLM_API_KEY) in C(vllm_secrets).",
        False,
    ),
    Key(
        "gpus",
        "gpus",
        "V(all), V(none) (the CPU build), a count (the first GPUs of the host), or a list of indices or UUIDs.",
        "all",
    ),
    Key("gpus_shared", "bool", "Set it on every service that is meant to share GPUs with another one.", False),
    Key(
        "config",
        "dict",
        "Any option of C(vllm serve) by its own name, nested as vLLM nests it; V(true), V(false), numbers, lists and "
        "maps as YAML has them, V(null) leaves an option out.",
        {},
    ),
    Key("env", "dict", "Environment of the container: texts only, and no secrets.", {}),
    Key("shm_size", "size", "Size of C(/dev/shm) in the container.", "16g"),
    Key("version", "str", "The vLLM release in the image; needed only when the tag does not say it."),
    Key("gate", "dict", "What a start must prove before it counts.", {}, options=GATE_KEYS),
    Key(
        "notify",
        "dict",
        "Who is told by the host of a failed gate, of a change that went back, and of one that could not.",
        {},
        options=NOTIFY_KEYS,
    ),
    Key("drain", "dict", "How a server is brought to a stop.", {}, options=DRAIN_KEYS),
    Key(
        "state",
        "str",
        "Whether the service runs, is kept stopped, or is removed.",
        STARTED,
        choices=(STARTED, STOPPED, ABSENT),
    ),
    Key("mounts", "list", "Paths of the host to show to the container.", (), elements="dict", options=MOUNT_KEYS),
    Key("ulimits", "dict", "Limits by name: a number, or V(soft:hard) in quotes.", {}),
    Key("devices", "list", "Devices other than GPUs, as Docker names them.", (), elements="str"),
    Key("network", "str", "V(bridge), V(host), or the name of a Docker network that exists.", "bridge"),
    Key("user", "str", "The user in the container as V(uid) or V(uid:gid), in quotes; null is the image's own."),
    Key("docker_args", "list", "Further words for C(docker run) that no other key says.", (), elements="str"),
    Key("after", "list", "Systemd units that must be up first: an NFS mount, say.", (), elements="str"),
)


def by_name(keys: tuple[Key, ...]) -> dict[str, Key]:
    """The keys of a table by their names."""
    return {key.name: key for key in keys}


def options_spec(keys: tuple[Key, ...] = SERVICE_KEYS) -> dict[str, dict[str, Any]]:
    """The table as Ansible's argument_specs write it, for a test that compares the two."""
    return {key.name: _option(key) for key in keys}


def _option(key: Key) -> dict[str, Any]:
    option: dict[str, Any] = {"type": _ANSIBLE_TYPES.get(key.type, key.type), "description": key.doc}
    if key.required:
        option["required"] = True
    elif key.default is not None:
        option["default"] = list(key.default) if isinstance(key.default, tuple) else key.default
    if key.choices:
        option["choices"] = list(key.choices)
    if key.elements:
        option["elements"] = key.elements
    if key.options:
        option["options"] = options_spec(key.options)
    return option
