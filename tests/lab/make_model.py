# SPDX-License-Identifier: Apache-2.0
"""Make the lab's model: a Llama of two layers with seeded weights and a byte-level BPE of 512 entries.

Runs inside the engine's image (it needs torch, transformers and tokenizers): make_model.py FOLDER. It says
nonsense, and that is enough to prove that tokens are generated. Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

SEED = 20260101
RECIPE = "recipe.sha256"  # the lab looks for it: the hash of this program
VOCABULARY = 512
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
TEXT = (
    "The host starts the server and the server loads the model. "
    "A release that serves is kept; a release that does not is rolled back. "
    "Tokens, caches, images, digests, units, logs and findings: 0123456789.\n"
)


def tokenizer(folder: Path) -> None:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator([TEXT] * 4, trainer)
    made.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": SPECIAL[0],
        "eos_token": SPECIAL[1],
        "pad_token": SPECIAL[1],
        "model_max_length": 4096,
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def weights(folder: Path) -> None:
    torch.manual_seed(SEED)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,  # heads of 64: the CPU build has no attention kernel for smaller ones than 32
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=4096,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def main() -> None:
    folder = Path(sys.argv[1])
    recipe = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    if not (folder / RECIPE).exists() or (folder / RECIPE).read_text(encoding="ascii") != recipe:
        for old in folder.iterdir():
            old.unlink()
        tokenizer(folder)
        weights(folder)
        (folder / RECIPE).write_text(recipe, encoding="ascii")
    for path in folder.iterdir():
        path.chmod(0o644)


if __name__ == "__main__":
    main()
