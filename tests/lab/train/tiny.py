"""A random two-layer llama with a byte tokenizer that has all 255 labels; small decision files."""

from __future__ import annotations

from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from thisthat.checkpoint.safetensors_weights import write_model
from thisthat.checkpoint.shapes import expected_shapes
from thisthat.items.files import write_items
from thisthat.items.item import Item

BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
PAIRS = [a + b for a in ascii_uppercase[:9] for b in ascii_uppercase]


def tokenizer() -> Tokenizer:
    vocabulary = {token: number for number, token in enumerate([*BYTES, *PAIRS])}
    made = Tokenizer(models.BPE(vocabulary, [(pair[0], pair[1]) for pair in PAIRS]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    return made


def config(**changes: Any) -> dict[str, Any]:
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": len(BYTES) + len(PAIRS),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "max_position_embeddings": 1024,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        **changes,
    }


def write_checkpoint(folder: Path, **changes: Any) -> Path:
    random = np.random.default_rng(0)
    weights = {
        name: np.ones(shape, dtype=np.float32)
        if len(shape) == 1
        else (0.15 * random.standard_normal(shape)).astype(np.float32)
        for name, shape in expected_shapes(config(**changes)).items()
    }
    write_model(folder, weights, config(**changes), tokenizer())
    return folder


COLOURS = ("red", "green", "blue")


def colour_items(count: int, seed: int = 0, split: str = "train") -> list[Item]:
    """Three questions about a state that states the answer: easy, but not for a random model."""
    random = np.random.default_rng(seed)
    items = []
    for number in range(count):
        colour = int(random.integers(3))
        size = int(random.integers(3))
        state = f"{COLOURS[colour]} {size} n{seed}-{number // 3}"
        kind = number % 3
        if kind == 0:
            question, options, answer = "Which colour?", COLOURS, colour
            items.append(_item("colour", "choice", state, question, options, answer, split))
        elif kind == 1:
            items.append(
                _item("red", "boolean", state, "Red?", ("no", "yes"), int(colour == 0), split)
            )
        else:
            items.append(
                _item("size", "score", state, "How big?", ("small", "mid", "big"), size, split)
            )
    return items


def _item(
    family: str,
    kind: Any,
    state: str,
    question: str,
    options: tuple[str, ...],
    answer: int,
    split: str,
) -> Item:
    return Item(
        source="tiny",
        family=family,
        kind=kind,
        state=state,
        question=question,
        options=tuple((option, None) for option in options),
        answer=answer,
        split=split,
    )


def write_colours(path: Path, count: int, seed: int = 0) -> Path:
    write_items(path, colour_items(count, seed))
    return path


def run_table(folder: Path, **changes: Any) -> dict[str, Any]:
    """Settings of a run that takes a second on a CPU; ``changes`` replace top-level keys."""
    return {
        "name": "tiny",
        "output": "run",
        "seed": 7,
        "device": "cpu",
        "model": {"initial": str(folder / "model")},
        "data": {"longest": 160, "tokens_per_batch": 960, "chunk_rows": 32, "shapes": 4},
        "optimiser": {"rate": 3e-3},
        "schedule": {"steps": 6, "warm_up_steps": 2},
        "watch": {"report_every": 2},
        "sources": [{"name": "colours", "file": "colours.jsonl"}],
        **changes,
    }
