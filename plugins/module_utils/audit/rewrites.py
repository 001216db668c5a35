# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The reviewed rewrites that are certain: what the parser of a release itself named, or what had no effect any more.

Whatever is inferred is not here: the proposal shows it as open and leaves it to a person.

Private to the collection.
"""

from __future__ import annotations

# The same values under another name.
RENAMED = {
    "--guided-decoding-backend": "--structured-outputs-config.backend",
    "--override-pooler-config": "--pooler-config",
    "--num-redundant-experts": "--eplb-config.num_redundant_experts",
    "--eplb-step-interval": "--eplb-config.step_interval",
    "--eplb-window-size": "--eplb-config.window_size",
    "--speculative-model": "--speculative-config.model",
    "--num-speculative-tokens": "--speculative-config.num_speculative_tokens",
    "--log-config-file": "--logging-config.pylogging_config_file",
}

# A switch that is now a value.
FIXED = {
    "--guided-decoding-disable-fallback": ("--structured-outputs-config.disable_fallback", "true"),
    "--guided-decoding-disable-any-whitespace": ("--structured-outputs-config.disable_any_whitespace", "true"),
    "--guided-decoding-disable-additional-properties": (
        "--structured-outputs-config.disable_additional_properties",
        "true",
    ),
    "--eplb-log-balancedness": ("--eplb-config.log_balancedness", "true"),
    "--disable-mm-preprocessor-cache": ("--mm-processor-cache-gb", "0"),
    "--enable-multimodal-encoder-data-parallel": ("--mm-encoder-tp-mode", "data"),
}

TASKS = {
    "embed": ("--runner", "pooling", "--convert", "embed"),
    "classify": ("--runner", "pooling", "--convert", "classify"),
    "generate": ("--runner", "generate"),
}

# Options that did nothing any more when they went, or that say what is so without them.
DROPPED = {
    "--device": "the device is that of the image's platform",
    "--enable-reasoning": "--reasoning-parser alone turns reasoning on",
    "--disable-log-requests": "requests are not logged unless --enable-log-requests asks for it",
    "--use-v2-block-manager": "it had no effect",
    "--tokenizer-pool-size": "it had no effect",
    "--tokenizer-pool-type": "it had no effect",
    "--tokenizer-pool-extra-config": "it had no effect",
    "--qlora-adapter-name-or-path": "it had no effect",
    "--swap-space": "only the V0 engine swapped",
    "--preemption-mode": "only the V0 engine had it; V1 always recomputes",
    "--scheduler-delay-factor": "only the V0 engine had it",
    "--disable-async-output-proc": "only the V0 engine had it",
    "--num-lookahead-slots": "only the V0 engine had it",
    "--num-scheduler-steps": "only the V0 engine had it",
    "--multi-step-stream-outputs": "only the V0 engine had it",
}

VARIABLES = {
    "VLLM_ATTENTION_BACKEND": "--attention-backend",
    "VLLM_FLASH_ATTN_VERSION": "--attention-config.flash_attn_version",
    "VLLM_ALL2ALL_BACKEND": "--all2all-backend",
    "VLLM_MM_HASHER_ALGORITHM": "--mm-hasher-algorithm",
    "VLLM_PREFIX_CACHE_RETENTION_INTERVAL": "--prefix-cache-retention-interval",
}
