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
from thisthat_lab.train.config import Model, Run, parse_run
from thisthat_lab.train.data.augment import plain_sheet
from thisthat_lab.train.data.rows import build_row
from thisthat_lab.train.model.backbone import PLAIN_FAMILIES, blank_trunk

EVALUATION = "your rows"
TRAINED, HELD_OUT = "train.jsonl", "held_out.jsonl"
MINUTES = 8.0
_PASSES = 3
_RANK = 16
_LONGEST = 2048
_BYTES_PER_WEIGHT = 24
"""bfloat16 weights and gradients; in float32 gradients, masters, two moments, origins."""
_ROOM_BYTES = 6 << 30
"""What layers keep of 8,192 tokens without checkpointing, about."""


@dataclass(frozen=True)
class Way:
    """Settings that suit the machine: everything on a GPU, the last layers on a CPU.

    A checkpoint that runs in int8 is trained with rounding where that is known; else a GPU trains
    adapters of ``rank``, whose small change leaves the rounded weights as good as they were. They
    take some passes over the rows, everything else takes minutes. ``not_int8`` says why what is
    taught cannot run in int8 although its parent does. A GPU short of memory takes the way of
    recipes/two-billion-16gb.toml.
    """

    model: dict[str, Any]
    optimiser: dict[str, Any]
    tokens: int
    rank: int | None = None
    not_int8: str | None = None

    def run(
        self,
        work: Path,
        parent: Checkpoint,
        rows: Sequence[Item],
        held_out: int,
        minutes: float | None,
    ) -> Run:
        """The run over the rows in ``work``, which also holds that many rows held out."""
        table = {
            "name": "taught",
            "output": ".",
            "model": self.model,
            "data": {
                "longest": _LONGEST,
                "tokens_per_batch": self.tokens,
                "shapes": 12,
                "pack": self.rank is not None,
            },
            "optimiser": self.optimiser,
            "schedule": self._schedule(parent, rows, minutes),
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
            "evaluations": [{"name": EVALUATION, "file": HELD_OUT, "rows": held_out}]
            if held_out
            else [],
        }
        return parse_run(table, work, "teach")

    def _schedule(
        self, parent: Checkpoint, rows: Sequence[Item], minutes: float | None
    ) -> dict[str, Any]:
        if self.rank is None or minutes is not None:
            return {"minutes": minutes or MINUTES, "warm_up_steps": 5, "cool_down": 0.6}
        builder = PromptBuilder(parent.encode, parent.prompt)
        made = (
            build_row(plain_sheet([row]), [row], builder, _LONGEST, "rows", [False]) for row in rows
        )
        tokens = sum(len(row) for row in made if row is not None)
        return {"tokens": max(1, _PASSES * tokens), "warm_up_steps": 5, "cool_down": 0.8}


def way_of(parent: Checkpoint) -> Way:
    """The way for this checkpoint on this machine."""
    eight_bit = parent.has_byte_weights and _rounds(parent)
    model: dict[str, Any] = {"initial": parent.ref, "eight_bit": eight_bit}
    gentle = {"rate": 5e-5, "pull": 0.05}
    reason = None
    if parent.has_byte_weights and not eight_bit:
        family = parent.config.get("model_type")
        reason = f"training with rounding is not known for {family} layers like these"
    if not torch.cuda.is_available():
        last = {"train": "last", "last_layers": _last_layers(parent)}
        return Way(model | last, gentle | {"rate": 4e-4}, 2048, not_int8=reason)
    model["dtype"] = "bfloat16"
    if reason is not None and parent.config.get("model_type") in PLAIN_FAMILIES:
        return Way(model | {"train": "lora", "rank": _RANK}, {"rate": 2e-4}, 2048, rank=_RANK)
    model["train"] = "all"
    if eight_bit or _fits(parent, torch.cuda.mem_get_info()[0]):
        return Way(model, gentle, 8192, not_int8=reason)
    slow = {"name": "adamw-8bit", "rate": 1e-5}
    return Way(model | {"checkpointing": True}, slow, 4096, not_int8=reason)


def _rounds(parent: Checkpoint) -> bool:
    """Whether its layers can be trained with rounding: plain llama layers alone."""
    config = parent.config
    plain = config.get("model_type") == "llama" and config.get("hidden_act", "silu") == "silu"
    return plain and not config.get("attention_bias")


def _fits(parent: Checkpoint, free_bytes: int) -> bool:
    """Whether weights, masters, moments and what they are pulled to fit, with room to work."""
    trunk = blank_trunk(parent.config, Model(), torch.device("meta"), packed=False)
    weights: int = sum(parameter.numel() for parameter in trunk.parameters())
    return weights * _BYTES_PER_WEIGHT + _ROOM_BYTES <= free_bytes


def _last_layers(parent: Checkpoint) -> int:
    config = parent.config
    layers = config.get("num_hidden_layers") or config["text_config"]["num_hidden_layers"]
    return max(1, int(layers) // 4)
