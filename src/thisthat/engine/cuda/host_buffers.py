"""Host memory through which packed batches go to the device, and those on their way.

A buffer holds one batch until its answers have been taken; the host goes on meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch

from thisthat.engine.cuda.capture import DeviceMark
from thisthat.engine.cuda.packed_batch import (
    Need,
    PackedRow,
    Table,
    Tables,
    room_for,
    table_entries,
)
from thisthat.engine.rows import Logits

HOST_BUFFERS = 12
"""Batches that may be on their way at the same time."""

Answer: TypeAlias = tuple[Logits, int]
"""Logits [slots, labels] of a row, and how many tokens of its prefix were not computed."""


class HostBuffer:
    """Host memory in which one batch is written and its answers arrive."""

    def __init__(self, room: Need, labels: int, device: torch.device) -> None:
        pinned = device.type == "cuda"
        self.memory = torch.zeros(table_entries(room), dtype=torch.int32, pin_memory=pinned)
        self._numbers: Table = self.memory.numpy()
        self._views: dict[int, Tables[Table]] = {}
        self.answers = torch.zeros((room.slots, labels), pin_memory=pinned)
        self.done = DeviceMark(device)
        self.batch: RunningBatch | None = None

    def tables(self, size: int) -> Tables[Table]:
        """The tables of a batch of that size in this memory."""
        if size not in self._views:
            self._views[size] = Tables.views(self._numbers, room_for(size))
        return self._views[size]

    def clear(self) -> None:
        """Take what is in it, if anything is, so that it can be used again."""
        # Even with nothing to take: a call that was broken off may have left work behind.
        self.done.wait()
        if self.batch is not None:
            self.batch.take()


class RunningBatch:
    """Rows that the device works on, until their logits are taken from the host buffer."""

    def __init__(
        self, rows: Sequence[PackedRow], buffer: HostBuffer | None, logits: Logits
    ) -> None:
        self._rows = rows
        self._buffer = buffer
        self._logits = logits

    def wait(self) -> None:
        """Return once the device is done with the batch; other threads may go on meanwhile."""
        buffer = self._buffer
        if buffer is not None:
            buffer.done.wait()

    def take(self) -> None:
        """Wait for the logits, and leave the buffer."""
        self.wait()
        if self._buffer is not None:
            self._logits = self._logits.copy()
            self._buffer.batch = None
            self._buffer = None

    def write_answers(self, answers: list[Answer]) -> None:
        """Put each row's own logits at its place, once they are there."""
        self.take()
        start = 0
        for given in self._rows:
            end = start + given.row.slots
            answers[given.place] = self._logits[start:end], given.cached
            start = end


class PendingRows:
    """Rows that the device works on."""

    def __init__(self, rows: int, labels: int) -> None:
        self._answers: list[Answer] = [(np.zeros((0, labels), np.float32), 0)] * rows
        self.batches: list[RunningBatch] = []

    def wait(self) -> None:
        """Return once all answers are there. Needs no lock."""
        for batch in self.batches:
            batch.wait()

    def answers(self) -> list[Answer]:
        """The answers in the caller's order; a row without branches has none."""
        for batch in self.batches:
            batch.write_answers(self._answers)
        self.batches = []
        return self._answers
