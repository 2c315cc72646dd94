"""The trainer's own steps on rows of random tokens, timed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from thisthat_lab.train.config import Data, Model, Objective, Optimiser
from thisthat_lab.train.data.buckets import Shape, choose_lengths, shapes_for
from thisthat_lab.train.data.packs import packed_shapes
from thisthat_lab.train.data.rows import NO_OUTCOME, TrainingRow
from thisthat_lab.train.data.sources import Chunk
from thisthat_lab.train.data.stream import Fed, Position, feed, feed_batch
from thisthat_lab.train.fit import random_batch
from thisthat_lab.train.flops import flops_per_token, peak_flops
from thisthat_lab.train.memory import measured_peak
from thisthat_lab.train.model.backbone import random_backbone
from thisthat_lab.train.optimiser import Stepper
from thisthat_lab.train.prepare import SAMPLE_ROWS
from thisthat_lab.train.step import Trace, take_step

OPTIONS = 4
RATE = 1e-5
WARM = 5
"""Steps before any that count: kernels are compiled and memory is found in them."""

PROBES = 3
"""Steps from which the length of a segment is reckoned."""


@dataclass(frozen=True)
class RandomRows:
    """Chunks of rows of random tokens, all lengths equally likely, a slot at the end of each row.

    With ``opened`` half of every row is an open state, at its beginning or after a quarter. Index
    it with a chunk number.
    """

    vocabulary: int
    shortest: int
    longest: int
    seed: int
    opened: bool = False

    def __getitem__(self, chunk: int) -> Chunk:
        random = np.random.default_rng((self.seed, chunk))
        lengths = random.integers(self.shortest, self.longest + 1, size=Data().chunk_rows)
        return Chunk(tuple(self._row(random, int(length)) for length in lengths), 0, 0)

    def _row(self, random: np.random.Generator, length: int) -> TrainingRow:
        target = np.zeros(OPTIONS, dtype=np.float32)
        target[random.integers(OPTIONS)] = 1
        return TrainingRow(
            tokens=random.integers(self.vocabulary, size=length, dtype=np.int32),
            at=np.array([length - 1], dtype=np.int32),
            counts=np.array([OPTIONS], dtype=np.int32),
            targets=target,
            weights=np.ones(1, dtype=np.float32),
            outcomes=np.array([NO_OUTCOME], dtype=np.int32),
            tags=("random/choice",),
            where="a random row",
            opened=self._open_state(random, length),
        )

    def _open_state(self, random: np.random.Generator, length: int) -> NDArray[np.int32]:
        """Its first token, and how many it has."""
        if not self.opened:
            return np.zeros(2, dtype=np.int32)
        return np.array([random.integers(2) * length // 4, length // 2], dtype=np.int32)


@dataclass(frozen=True)
class Segment:
    """Some steps between two synchronisations; ``tokens`` without padding, ``places`` with it."""

    steps: int
    tokens: int
    places: int
    seconds: float


@dataclass(frozen=True)
class Timed:
    """What was measured of one optimiser and number of tokens a step."""

    segments: tuple[Segment, ...]
    flops_per_token: float
    peak_flops: float | None
    peak_bytes: int | None

    @property
    def tokens_per_second(self) -> float:
        """Over all segments, without padding."""
        return sum(s.tokens for s in self.segments) / sum(s.seconds for s in self.segments)

    @property
    def padding(self) -> float:
        """The share of places in a batch that hold no token."""
        return 1 - sum(s.tokens for s in self.segments) / sum(s.places for s in self.segments)

    @property
    def flop_utilisation(self) -> float | None:
        """The share of the device's peak, where that is known."""
        if self.peak_flops is None:
            return None
        return self.tokens_per_second * self.flops_per_token / self.peak_flops

    @property
    def milliseconds(self) -> float:
        """Of one step."""
        return 1000 * sum(s.seconds for s in self.segments) / sum(s.steps for s in self.segments)


def time_steps(
    config: Mapping[str, Any],
    rows: RandomRows,
    optimiser: Optimiser,
    tokens: int,
    device: torch.device,
    *,
    packed: bool,
    float8: bool,
    seconds: float,
    segments: int,
    workers: int,
) -> Timed:
    """Train a random model of this shape in bfloat16, ``tokens`` places a step, and time it.

    Rows stand one after another in a sequence, or are padded; every shape of padded batch is met
    once before the clock starts, and some steps are taken. Raises ArithmeticError when the gradient
    is no number in the end, for such steps are no measure.
    """
    torch.manual_seed(rows.seed)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    backbone = random_backbone(config, Model(dtype="bfloat16", float8=float8), device, packed)
    backbone.train()
    stepper = Stepper(backbone.trained(), optimiser)
    shapes: Sequence[Shape] = packed_shapes(tokens, rows.longest)
    if not packed:
        shapes = shapes_for(choose_lengths(_sample(rows), rows.longest, Data().shapes), tokens)

    def step(fed: Fed) -> Trace:
        return take_step(backbone, stepper, [fed], RATE, Objective(), 1, device)

    def segment(batches: Iterator[Fed], steps: int) -> Segment:
        used = places = 0
        _wait(device)
        started = time.perf_counter()
        for _ in range(steps):
            fed = next(batches)
            step(fed)
            used += fed.batch.tokens_used
            places += fed.batch.tokens.size
        _wait(device)
        return Segment(steps, used, places, time.perf_counter() - started)

    for shape in () if packed else shapes:
        step(feed_batch(random_batch(shape, rows.vocabulary), pin=False))
    with closing(feed(rows, shapes, Position(), workers, device.type == "cuda")) as batches:
        segment(batches, WARM)
        probe = segment(batches, PROBES)
        steps = max(1, round(seconds / segments / probe.seconds * PROBES))
        timed = tuple(segment(batches, steps) for _ in range(segments))
        norm = float(step(next(batches)).norm)
    if not math.isfinite(norm):
        raise ArithmeticError(f"the gradient is {norm}")
    return Timed(timed, flops_per_token(backbone), peak_flops(device), measured_peak(device))


def _sample(rows: RandomRows) -> list[int]:
    """Lengths as the trainer draws them to choose its shapes."""
    chunks = range(-(-SAMPLE_ROWS // Data().chunk_rows))
    return [len(row) for chunk in chunks for row in rows[chunk].rows]


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
