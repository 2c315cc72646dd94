"""Stand-ins for published checkpoints: tiny random models under the names of the real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from tests.engine import trees
from tests.lab.train import tiny

FLOCK, DECIDER = "this-that-model-1.0", "decider-2b"


def write_published(
    folder: Path, *, wrapped: bool = True, shards: int = 1, seed: int = 0, **files: Any
) -> Path:
    """A hybrid model of random weights; ``files`` are JSON files beside it, by stem.

    ``wrapped`` tensors stand under ``model.language_model`` with the text model's settings inside,
    as in a checkpoint that was split off a larger one; ``shards`` share them out with an index.
    """
    model = trees.random_model(
        "hybrid2",
        vocab_size=len(tiny.BYTES) + len(tiny.PAIRS),
        max_position_embeddings=65_536,
        tie_word_embeddings=True,
    )
    text = {**model.config.to_dict(), "dtype": "bfloat16"}
    prefix = "model.language_model." if wrapped else "model."
    noise = np.random.default_rng(seed)
    tensors = {}
    for name, tensor in model.state_dict().items():
        if name != "lm_head.weight":
            moved = 0.02 * seed * noise.standard_normal(tuple(tensor.shape))
            changed = tensor.numpy() + moved.astype(np.float32)
            tensors[name.replace("model.", prefix, 1)] = changed
    outer = {"model_type": "qwen3_5", "text_config": text, "tie_word_embeddings": True}
    folder.mkdir(parents=True)
    _write(folder / "config.json", outer if wrapped else text)
    tiny.tokenizer().save(str(folder / "tokenizer.json"))
    for stem, content in files.items():
        _write(folder / f"{stem}.json", content)
    names = sorted(tensors)
    if shards == 1:
        save_file(tensors, folder / "model.safetensors")
        return folder
    listed = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        save_file({name: tensors[name] for name in names[shard::shards]}, folder / file)
        listed |= dict.fromkeys(names[shard::shards], file)
    _write(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": listed})
    return folder


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content))
