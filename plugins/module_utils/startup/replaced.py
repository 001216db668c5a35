# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Options of ``vllm serve`` that are gone, the first release without them, and what took their place.

Read from vLLM's releases 0.8.0 to 0.33.0. Private to the collection.
"""

from __future__ import annotations

# option -> (gone since, what to write instead; empty: there is nothing to write)
REPLACED: dict[str, tuple[str, str]] = {
    "--enable-reasoning": ("0.10.0", "reasoning-parser alone"),
    "--disable-log-requests": ("0.17.0", "nothing: requests are not logged unless enable-log-requests is set"),
    "--task": ("0.13.0", "runner and convert"),
    "--swap-space": ("0.18.0", ""),
    "--device": ("0.10.0", "the image for the device"),
    "--guided-decoding-backend": ("0.11.0", "structured-outputs-config.backend"),
    "--guided-decoding-disable-fallback": ("0.11.0", "structured-outputs-config.disable_fallback"),
    "--guided-decoding-disable-any-whitespace": ("0.11.0", "structured-outputs-config.disable_any_whitespace"),
    "--rope-scaling": ("0.11.1", "hf-overrides.rope_parameters"),
    "--rope-theta": ("0.11.1", "hf-overrides.rope_parameters.rope_theta"),
    "--override-pooler-config": ("0.12.0", "pooler-config"),
    "--max-seq-len-to-capture": ("0.11.0", "max-cudagraph-capture-size, which counts the tokens of a batch"),
    "--cuda-graph-sizes": ("0.13.0", "cudagraph-capture-sizes"),
    "--disable-mm-preprocessor-cache": ("0.13.0", "mm-processor-cache-gb: 0"),
    "--enable-multimodal-encoder-data-parallel": ("0.13.0", "mm-encoder-tp-mode: data"),
    "--num-redundant-experts": ("0.12.0", "eplb-config.num_redundant_experts"),
    "--eplb-window-size": ("0.12.0", "eplb-config.window_size"),
    "--eplb-step-interval": ("0.12.0", "eplb-config.step_interval"),
    "--eplb-log-balancedness": ("0.12.0", "eplb-config.log_balancedness"),
    "--use-v2-block-manager": ("0.10.0", ""),
    "--num-scheduler-steps": ("0.10.1", ""),
    "--multi-step-stream-outputs": ("0.10.1", ""),
    "--scheduler-delay-factor": ("0.11.0", ""),
    "--preemption-mode": ("0.11.0", ""),
    "--num-lookahead-slots": ("0.12.0", ""),
    "--disable-async-output-proc": ("0.11.0", ""),
    "--disable-frontend-multiprocessing": ("0.19.0", ""),
    "--enable-prompt-adapter": ("0.10.2", ""),
    "--enable-lora-bias": ("0.11.1", ""),
    "--lora-extra-vocab-size": ("0.12.0", ""),
    "--long-lora-scaling-factors": ("0.10.0", ""),
    "--logits-processor-pattern": ("0.17.0", ""),
    "--calculate-kv-scales": ("0.28.0", ""),
    "--speculative-model": ("0.8.3", "speculative-config.model"),
    "--num-speculative-tokens": ("0.8.3", "speculative-config.num_speculative_tokens"),
    "--max-num-partial-prefills": ("0.27.0", ""),
    "--max-long-partial-prefills": ("0.27.0", ""),
}


def replacement(option: str) -> str | None:
    """What to do about an option that is gone; None for one that is not known as such."""
    known = REPLACED.get(option.replace("_", "-"))
    if known is None:
        return None
    since, instead = known
    return f"{option} is gone since {since}: " + (f"write {instead}" if instead else "take it out")
