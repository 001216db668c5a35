# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a process was doing: the milestones of a start, and what the frames of a traceback tell of an out-of-memory.

Private to the collection.
"""

from __future__ import annotations

import re

# In the order of a start; a later one that comes after an error shows that the start survived the error.
MILESTONES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("engine", re.compile(r"Initializing an? (?:V[01] )?LLM engine")),
    ("loading", re.compile(r"Starting to load model")),
    ("weights", re.compile(r"Loading (?:model )?weights took")),
    ("loaded", re.compile(r"Model loading took")),
    (
        "compiling",
        re.compile(r"Dynamo bytecode transform time|Using cache directory: .*torch_compile|Compiling a graph"),
    ),
    ("compiled", re.compile(r"torch\.compile (?:takes|took)")),
    ("sized", re.compile(r"KV cache size:|# (?:GPU|CPU|cuda|\w+) blocks:|Maximum concurrency for")),
    (
        "capturing",
        re.compile(r"Capturing .*(?:CUDA|cuda) ?graph|Capturing the model|Profiling CUDA graph|Capturing cudagraphs"),
    ),
    ("captured", re.compile(r"Graph capturing finished")),
    ("initialised", re.compile(r"init engine \(")),
    ("opening", re.compile(r"Starting vLLM (?:API )?server|Started server process")),
)
RANK = {name: rank for rank, (name, _pattern) in enumerate(MILESTONES)}

WEIGHTS, PROFILE, CAPTURE, WARMUP, WAKEUP = (
    "oom_weights",
    "oom_profile",
    "oom_graph_capture",
    "oom_warmup",
    "oom_wakeup",
)
_AROUND = "around"
_FRAMES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (WAKEUP, re.compile(r"wake_?up|cumem_allocator|create_and_map")),
    (
        WARMUP,
        re.compile(
            r"warming up (?:sampler|pooler)|_dummy_(?:sampler|pooler)_run|kernel_warmup|flashinfer_autotune"
            r"|warm_up_sampler"
        ),
    ),
    (
        CAPTURE,
        re.compile(
            r"capture_model|capture_end|capture_begin|_capture_cudagraphs|graph_capture\b|CUDAGraph\b"
            r"|cudagraph_capture|_warmup_and_capture"
        ),
    ),
    (
        PROFILE,
        re.compile(
            r"profile_run|determine_available_memory|determine_num_available_blocks|profile_num_available|InductorError"
            r"|autotun|_inductor|memory_profiling"
        ),
    ),
    (
        WEIGHTS,
        re.compile(
            r"load_model\b|load_weights|initialize_model|create_weights|process_weights_after_loading|_load_model"
            r"|linear weights"
            r"|make_layers|ModelWeightParameter|Failed to load model|model_loader|weight_loader|repack"
        ),
    ),
)
# What surrounds another phase tells only where no frame inside tells more.
_SURROUNDS = re.compile(r"initialize_from_config|compile_or_warm_up_model")


def of_frames(before: str | None, text: str) -> str | None:
    """The phase that a traceback shows after one more of its lines: graphs are captured inside other phases too."""
    ranks = [slug for slug, _pattern in _FRAMES]
    found = next((slug for slug, pattern in _FRAMES if pattern.search(text)), None)
    if found is None:
        return before or (_AROUND if _SURROUNDS.search(text) else None)
    if before is None or before == _AROUND or ranks.index(found) < ranks.index(before):
        return found
    return before


def oom_slug(frames: str | None, name: str | None) -> str:
    """Which out-of-memory it is: by the frames of its traceback, else by the last milestone."""
    if frames == _AROUND:
        return WARMUP
    if frames is not None:
        return frames
    if name == "capturing":
        return CAPTURE
    rank = RANK.get(name or "", -1)
    if rank >= RANK["sized"]:
        return WARMUP
    return PROFILE if rank >= RANK["loaded"] else WEIGHTS


_ANY = re.compile("|".join(pattern.pattern for _name, pattern in MILESTONES))


def milestone(text: str) -> str | None:
    """The milestone that a line shows, or None."""
    if not _ANY.search(text):
        return None
    return next((name for name, pattern in MILESTONES if pattern.search(text)), None)
