"""How a checkpoint is taught on this machine: which weights move, how fast, for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from thisthat.checkpoint import Checkpoint
from thisthat.items.item import Item
from thisthat.prompt.builder import PromptBuilder
from thisthat_lab.train.beside import layers_of, layers_read
from thisthat_lab.train.config import Model, Run, parse_run
from thisthat_lab.train.data.augment import plain_sheet
from thisthat_lab.train.data.rows import TrainingRow, build_row
from thisthat_lab.train.model.backbone import PLAIN_FAMILIES, blank_trunk

TRAINED, HELD_OUT = "train.jsonl", "held_out.jsonl"
LONGEST = 2048
_TOKENS = 2048
_PASSES, _LEAST_STEPS = 3, 40
_RANK = 16
_BYTES_PER_WEIGHT, _BYTES_PER_TRAINED = 2, 22
"""In bfloat16; beside it gradients, and in float32 gradients, masters, two moments, origins."""
_ROOM_BYTES = 6 << 30
"""What layers keep of a batch without checkpointing, and to work in; about."""


@dataclass(frozen=True)
class Way:
    """Settings that suit the machine. Only layers above those that heads read are trained.

    A checkpoint that runs in int8 is trained with rounding where that is known; else a GPU trains
    adapters of ``rank``, whose small change leaves rounded weights as good as they were.
    ``not_int8`` says why what is taught cannot run in int8 although its parent does. A GPU short
    of memory takes the way of recipes/two-billion-16gb.toml.
    """

    model: dict[str, Any]
    optimiser: dict[str, Any]
    rank: int | None = None
    not_int8: str | None = None

    def run(
        self, work: Path, parent: Checkpoint, rows: Sequence[Item], minutes: float | None
    ) -> Run:
        """The run over the rows, which are in ``work`` beside those held out."""
        table = {
            "name": "taught",
            "output": ".",
            "model": self.model,
            "data": {
                "longest": LONGEST,
                "tokens_per_batch": _TOKENS,
                "shapes": 12,
                "pack": self.rank is not None,
            },
            "optimiser": self.optimiser,
            "schedule": {**self._budget(parent, rows, minutes), "cool_down": 0.8},
            # Half of the rows keep the declared order: it is the one that will be asked.
            "augment": {
                "shuffle": 0.5,
                "abstain_offer": 0.0,
                "distractors": 0.0,
                "swap_state": 0.0,
            },
            "objective": {"cross_entropy": 0.7},
            "watch": {"report_every": 10},
            "sources": [{"name": "rows", "file": TRAINED}],
            "never_train_on": [HELD_OUT],
        }
        return parse_run(table, work, "teach")

    def _budget(
        self, parent: Checkpoint, rows: Sequence[Item], minutes: float | None
    ) -> dict[str, Any]:
        """Some passes over the rows: with more of them it knows the rows by heart."""
        if minutes is not None:
            return {"minutes": minutes, "warm_up_steps": 5}
        builder = PromptBuilder(parent.encode, parent.prompt)
        made = (plain_row(row, builder, "") for row in rows)
        tokens = _PASSES * sum(len(row) for row in made if row is not None)
        return {"tokens": max(tokens, _LEAST_STEPS * _TOKENS), "warm_up_steps": 5}


def plain_row(item: Item, builder: PromptBuilder, where: str) -> TrainingRow | None:
    """The item as it is asked; None where it is too long to train on."""
    return build_row(plain_sheet([item]), [item], builder, LONGEST, where, [False])


def way_of(parent: Checkpoint) -> Way:
    """The way for this checkpoint on this machine."""
    eight_bit = parent.has_byte_weights and _rounds(parent)
    first = layers_read(parent)
    last = {"train": "last", "last_layers": layers_of(parent) - first}
    model: dict[str, Any] = {"initial": parent.ref, "eight_bit": eight_bit}
    reason = None
    if parent.has_byte_weights and not eight_bit:
        family = parent.config.get("model_type")
        reason = f"training with rounding is not known for {family} layers like these"
    gentle = {"rate": 2e-4, "pull": 0.05}
    if not torch.cuda.is_available():
        return Way(model | last, gentle, not_int8=reason)
    model["dtype"] = "bfloat16"
    if reason is not None and parent.config.get("model_type") in PLAIN_FAMILIES:
        adapters = {"train": "lora", "rank": _RANK, "adapt_from": first}
        return Way(model | adapters, {"rate": 5e-4}, rank=_RANK)
    if eight_bit or _fits(parent, first, torch.cuda.mem_get_info()[0]):
        return Way(model | last, gentle, not_int8=reason)
    slow = {"name": "adamw-8bit", "rate": 5e-5}
    return Way(model | last | {"checkpointing": True}, slow, not_int8=reason)


def _rounds(parent: Checkpoint) -> bool:
    """Whether its layers can be trained with rounding: plain llama layers alone."""
    config = parent.config
    plain = config.get("model_type") == "llama" and config.get("hidden_act", "silu") == "silu"
    return plain and not config.get("attention_bias")


def _fits(parent: Checkpoint, first: int, free_bytes: int) -> bool:
    """Whether weights, and what training the layers from ``first`` on keeps of them, fit."""
    trunk = blank_trunk(parent.config, Model(), torch.device("meta"), packed=False)
    weights: int = sum(parameter.numel() for parameter in trunk.parameters())
    trained: int = sum(
        parameter.numel() for layer in trunk.layers[first:] for parameter in layer.parameters()
    )
    needed = _BYTES_PER_WEIGHT * weights + _BYTES_PER_TRAINED * trained
    return needed + _ROOM_BYTES <= free_bytes
