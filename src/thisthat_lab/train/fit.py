"""Does a model of a given shape train on a given card? Real steps of a random model, under a cap.

Every means of fitting is also switched off on its own, to show which of them carries the load.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from thisthat_lab.train.config import Model, Objective, Optimiser, Run
from thisthat_lab.train.data.buckets import LABELS, Shape, TrainingBatch
from thisthat_lab.train.data.stream import feed_batch
from thisthat_lab.train.flops import flops_per_token, peak_flops
from thisthat_lab.train.memory import GIB, cap_memory, measured_peak, predict_memory
from thisthat_lab.train.model.backbone import random_backbone
from thisthat_lab.train.optimiser import Stepper
from thisthat_lab.train.step import take_step

_OPTIONS = 4


@dataclass(frozen=True, slots=True)
class Fit:
    """One trial: what was predicted and measured, or why it failed."""

    name: str
    predicted_bytes: int
    peak_bytes: int | None
    tokens_per_second: float | None
    flop_utilisation: float | None
    failed: str | None

    def line(self) -> str:
        """The trial for people."""
        predicted = f"predicted {self.predicted_bytes / GIB:.2f} GiB"
        if self.failed is not None:
            return f"{self.name}: does not fit ({self.failed}); {predicted}"
        measured = "" if self.peak_bytes is None else f", peak {self.peak_bytes / GIB:.2f} GiB"
        speed = f", {self.tokens_per_second or 0:,.0f} tokens/s"
        used = (
            "" if self.flop_utilisation is None else f", {self.flop_utilisation:.1%} of peak FLOPs"
        )
        return f"{self.name}: fits; {predicted}{measured}{speed}{used}"


def random_batch(shape: Shape, vocabulary: int, seed: int = 0) -> TrainingBatch:
    """A full batch of random tokens with one slot at the end of every row."""
    random = np.random.default_rng(seed)
    rows = np.arange(shape.rows)
    targets = np.zeros((shape.rows, LABELS), dtype=np.float32)
    targets[rows, random.integers(_OPTIONS, size=shape.rows)] = 1
    return TrainingBatch(
        tokens=random.integers(vocabulary, size=(shape.rows, shape.length)),
        row=rows,
        at=np.full(shape.rows, shape.length - 1),
        counts=np.full(shape.rows, _OPTIONS),
        targets=targets,
        weights=np.ones(shape.rows, dtype=np.float32),
        outcomes=np.full(shape.rows, -1),
        tags=("random/choice",) * shape.rows,
        wheres=tuple(f"random row {row}" for row in rows),
        tokens_used=shape.rows * shape.length,
    )


def try_fit(
    name: str, config: Mapping[str, Any], run: Run, shapes: list[Shape], steps: int = 5
) -> Fit:
    """Train a random model for a few steps on every shape under the run's cap."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    cap_memory(device, run.memory.cap_gib)
    predicted = 0
    try:
        backbone = random_backbone(config, run.model, device)
        backbone.train()
        predicted = predict_memory(backbone, run, shapes).peak
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        stepper = Stepper(backbone.trained(), run.optimiser)
        if run.model.compile != "off":
            backbone.compile_layers(dynamic=run.model.compile == "dynamic")
        vocabulary = backbone.trunk.config.vocab_size
        feds = [feed_batch(random_batch(shape, vocabulary), pin=False) for shape in shapes]
        seconds = 0.0
        for step in range(steps + 1):
            start = time.perf_counter()
            for fed in feds:
                take_step(backbone, stepper, [fed], 1e-5, Objective(), step, device)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            if step:  # the first round compiles
                seconds += time.perf_counter() - start
        speed = steps * sum(fed.batch.tokens_used for fed in feds) / seconds
        peak = peak_flops(device)
        used = None if peak is None else speed * flops_per_token(backbone) / peak
        return Fit(name, predicted, measured_peak(device), speed, used, None)
    except torch.OutOfMemoryError as error:
        return Fit(name, predicted, None, None, None, str(error).split(". ", 1)[0])
    finally:
        backbone = stepper = feds = None  # type: ignore[assignment]
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()


def every_means(config: Mapping[str, Any], run: Run, shapes: list[Shape]) -> list[Fit]:
    """The run as it is, then with 8-bit moments, checkpointing and buckets off, one at a time."""

    def changed(model: Model, optimiser: Optimiser) -> Run:
        return run.model_copy(update={"model": model, "optimiser": optimiser})

    plain_moments = run.optimiser.model_copy(update={"name": "adamw"})
    no_checkpointing = run.model.model_copy(update={"checkpointing": False})
    full = run.model.model_copy(update={"dtype": "float32"})
    largest = max(shapes, key=lambda shape: shape.length)
    unbucketed = [Shape(max(shape.rows for shape in shapes), largest.length)]
    return [
        try_fit("all means", config, run, shapes),
        try_fit("without 8-bit moments", config, changed(run.model, plain_moments), shapes),
        try_fit("without checkpointing", config, changed(no_checkpointing, run.optimiser), shapes),
        try_fit("without bfloat16", config, changed(full, plain_moments), shapes),
        try_fit("without buckets by tokens", config, run, unbucketed),
    ]
