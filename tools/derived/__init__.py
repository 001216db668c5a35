# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Readers of vLLM source distributions, by syntax trees."""
