"""From chunks to batches on the way to the device, with a position to go on from.

Worker processes make chunks; one thread sorts their rows into buckets and pins full batches. The
order of batches depends on the run alone, never on how many workers there are or how fast.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from thisthat_lab.train.data.buckets import Buckets, Shape, TrainingBatch
from thisthat_lab.train.data.packs import PackedShape, Packs
from thisthat_lab.train.data.rows import TrainingRow
from thisthat_lab.train.data.sources import Chunk
from thisthat_lab.train.model.attention import Sight

_FAR = 1 << 48
_READY = 8


class Chunks(Protocol):
    """Makes chunks of rows: the same number, the same chunk."""

    def __getitem__(self, chunk: int, /) -> Chunk: ...


@dataclass(frozen=True, slots=True)
class Position:
    """Where a stream stands: the next row of the next chunk, and the rows held in buckets."""

    chunk: int = 0
    row: int = 0
    waiting: tuple[TrainingRow, ...] = ()


_START = Position()


@dataclass(frozen=True, slots=True)
class Fed:
    """A batch as tensors, what it was made of, and the position after it."""

    tokens: Tensor
    row: Tensor
    at: Tensor
    counts: Tensor
    targets: Tensor
    weights: Tensor
    outcomes: Tensor
    bounds: Tensor | None
    since: Tensor | None
    batch: TrainingBatch
    position: Position
    too_long: int
    protected: int

    def sight(self, device: torch.device) -> Sight:
        """What the tokens see, on the device."""
        bounds, since = (
            None if given is None else given.to(device, non_blocking=True)
            for given in (self.bounds, self.since)
        )
        return Sight(bounds, self.batch.longest, since)

    def to(self, device: torch.device) -> tuple[Tensor, ...]:
        """The tensors on the device; the copy does not hold up the host."""
        return tuple(
            tensor.to(device, non_blocking=True)
            for tensor in (
                self.tokens,
                self.row,
                self.at,
                self.counts,
                self.targets,
                self.weights,
                self.outcomes,
            )
        )


class _Chunks(Dataset[Chunk]):
    def __init__(self, maker: Chunks) -> None:
        self._maker = maker

    def __getitem__(self, index: int) -> Chunk:
        return self._maker[index]


class _From:
    """Chunk numbers from a first one on; a sampler that never makes a list."""

    def __init__(self, first: int) -> None:
        self._first = first

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._first, _FAR))

    def __len__(self) -> int:
        return _FAR - self._first


def _as_it_is(chunk: Any) -> Any:
    return chunk


def chunks_from(maker: Chunks, first: int, workers: int) -> Iterator[Chunk]:
    """Chunks in order from ``first`` on, made by ``workers`` processes or, with 0, right here."""
    if not workers:
        for number in range(first, _FAR):
            yield maker[number]
        return
    # Every worker tokenises on its own; threads of the tokenizer would only fight over cores.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    loader: DataLoader[Chunk] = DataLoader(
        _Chunks(maker),
        batch_size=None,
        sampler=_From(first),
        num_workers=workers,
        prefetch_factor=4,
        collate_fn=_as_it_is,
        generator=torch.Generator(),  # the run's own random numbers are not the loader's to draw
    )
    yield from loader


def feed(
    maker: Chunks, shapes: Sequence[Shape], position: Position, workers: int, pin: bool
) -> Generator[Fed, None, None]:
    """Batches for ever, from a position on, made ahead of time when there are workers."""
    batches = _sorted(maker, shapes, position, workers, pin)
    if not workers:
        yield from batches
        return
    ready: queue.Queue[Fed | BaseException] = queue.Queue(_READY)
    over = threading.Event()

    def fill() -> None:
        try:
            for fed in batches:
                while not over.is_set():
                    try:
                        ready.put(fed, timeout=0.2)
                        break
                    except queue.Full:
                        continue
                if over.is_set():
                    return
        except BaseException as error:
            ready.put(error)
        finally:
            batches.close()

    thread = threading.Thread(target=fill, name="feed", daemon=True)
    thread.start()
    try:
        while True:
            fed = ready.get()
            if isinstance(fed, BaseException):
                raise fed
            yield fed
    finally:
        over.set()
        thread.join()


def _sorted(
    maker: Chunks, shapes: Sequence[Shape], position: Position, workers: int, pin: bool
) -> Any:
    buckets = gatherer(shapes, position.waiting)
    too_long = protected = 0
    first = position.row
    for number, chunk in enumerate(chunks_from(maker, position.chunk, workers), position.chunk):
        if not first:
            too_long += chunk.too_long
            protected += chunk.protected
        for index in range(first, len(chunk.rows)):
            batch = buckets.add(chunk.rows[index])
            if batch is not None:
                after = Position(number, index + 1, tuple(buckets.waiting))
                yield feed_batch(batch, pin, after, too_long, protected)
                too_long = protected = 0
        first = 0


def gatherer(shapes: Sequence[Shape], waiting: Sequence[TrainingRow] = ()) -> Buckets | Packs:
    """What gathers rows into batches of these shapes."""
    packed = [shape for shape in shapes if isinstance(shape, PackedShape)]
    if packed:
        return Packs(packed, waiting)
    return Buckets(shapes, waiting)


def feed_batch(
    batch: TrainingBatch, pin: bool, after: Position = _START, too_long: int = 0, protected: int = 0
) -> Fed:
    """The batch as tensors, in pinned memory for a CUDA device."""

    def tensor(array: Any) -> Tensor:
        made = torch.from_numpy(array)
        return made.pin_memory() if pin else made

    return Fed(
        tokens=tensor(batch.tokens),
        row=tensor(batch.row if batch.bounds is None else np.zeros_like(batch.row)),
        at=tensor(batch.at),
        counts=tensor(batch.counts),
        targets=tensor(batch.targets),
        weights=tensor(batch.weights),
        outcomes=tensor(batch.outcomes),
        bounds=None if batch.bounds is None else tensor(batch.bounds),
        since=None if batch.since is None else tensor(batch.since),
        batch=batch,
        position=after,
        too_long=too_long,
        protected=protected,
    )


def fed_batches(rows: Sequence[TrainingRow], shapes: Sequence[Shape]) -> list[Fed]:
    """All of these rows as batches of the given shapes, for evaluation."""
    buckets = gatherer(shapes)
    batches = [batch for row in rows if (batch := buckets.add(row)) is not None]
    return [feed_batch(batch, pin=False) for batch in (*batches, *buckets.flush())]
