# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the collection says to Docker and to vLLM by itself, so that nobody says it twice.

Private to the collection.
"""

from __future__ import annotations

OWNED_ENV = {
    "HF_HOME": "/gpuhosts/hf",
    "VLLM_CACHE_ROOT": "/gpuhosts/compile/vllm",
    "TRITON_CACHE_DIR": "/gpuhosts/compile/triton",
    "TORCHINDUCTOR_CACHE_DIR": "/gpuhosts/compile/inductor",
    "FLASHINFER_WORKSPACE_BASE": "/gpuhosts/compile/flashinfer",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
}
# Variables that would undo what the collection arranges, and the key that says the same.
REFUSED_ENV = {
    **dict.fromkeys(OWNED_ENV, "nothing here: the collection sets it, its caches and its offline mode depend on it"),
    **dict.fromkeys(
        ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE"),
        "nothing here: the collection mounts the cache that holds the model",
    ),
    "NVIDIA_VISIBLE_DEVICES": "the service's key gpus",
    "HF_ENDPOINT": "vllm_hf_endpoint: only the fetch of a model asks the hub, a server never does",
}
_TLS = (
    "nothing here: the gate and the health check speak plain HTTP to the server; TLS belongs to what is in front of it"
)
REFUSED_OPTIONS = {
    "model": "the service's key model",
    "model-tag": "the service's key model",
    "host": "the service's key bind",
    "port": "the service's key port",
    "revision": "the service's key revision",
    "api-key": "VLLM_API_KEY in vllm_secrets: on the command line everybody on the host reads it",
    "hf-token": "HF_TOKEN in vllm_secrets: on the command line everybody on the host reads it",
    "config": "its options here, each by its own name",
    "download-dir": "nothing here: the collection mounts the cache that holds the model",
    "uds": "the service's keys bind and port: the gate speaks TCP",
    "headless": "nothing here: a server without HTTP cannot prove that it serves",
    "grpc": "nothing here: a server without HTTP cannot prove that it serves",
    **dict.fromkeys(
        ("ssl-keyfile", "ssl-certfile", "ssl-ca-certs", "ssl-cert-reqs", "ssl-ciphers", "enable-ssl-refresh"), _TLS
    ),
}
# Folders of the container that the collection fills, and folders of the host that are its own.
OWNED_TARGETS = ("/gpuhosts", "/run/gpuhosts", "/dev/shm")
OWNED_SOURCES = ("/etc/gpuhosts-vllm", "/var/lib/gpuhosts-vllm", "/run/gpuhosts-vllm", "/var/cache/gpuhosts-vllm")
