"""Rows answered on tapes: fixed memory, one recording per size, everything counted.

All recordings are made when the runner is made, the largest size first; sizes that do not fit the
device are left out and said so. A row that no size has room for runs without a recording and is
counted. Not for several threads at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from thisthat.engine.rows import Logits, Row
from thisthat.engine.tape.capture import Recorder, Work, fixed_products
from thisthat.engine.tape.grid import SMALLEST, Grid, TapePlan, plan_tapes
from thisthat.engine.tape.layout import (
    Need,
    Tables,
    aligned,
    need_of,
    room_for,
    table_entries,
    table_shapes,
    write_tape,
)
from thisthat.engine.tape.ops import DeviceTables

Forward = Callable[[DeviceTables], Tensor]


@dataclass(frozen=True, slots=True)
class TapeStatistics:
    """Counts since the runner was made; a capture after the start would be a mistake."""

    captures_at_start: int
    captures_after_start: int
    eager_rows_outside_grid: int
    tapes: int
    computed_tokens: int
    padding_tokens: int


@dataclass(frozen=True, slots=True)
class _Recording:
    repeat: Work
    tables: Tables
    logits: Logits


class TapeRunner:
    """Logits at the slots of rows, as float32 [slots, labels] per row."""

    def __init__(
        self,
        forward: Forward,
        *,
        device: torch.device,
        labels: int,
        grid: Grid,
        recorder: Recorder,
    ) -> None:
        self._forward = forward
        self._device = device
        self._recorder = recorder
        self._recordings: dict[int, _Recording] = {}
        self._captures = self._outside = self._tapes = self._computed = self._padding = 0
        self.left_out: tuple[int, ...] = ()
        if grid.sizes:
            self._make_memory(room_for(grid.sizes[-1]), labels)
        for size in reversed(grid.sizes):
            try:
                self._recordings[size] = self._record(size)
            except torch.OutOfMemoryError:
                self.left_out = (size, *self.left_out)
                torch.cuda.empty_cache()
        self.grid = Grid(tuple(sorted(self._recordings)))
        self._captures_at_start = self._captures

    @property
    def statistics(self) -> TapeStatistics:
        """What was captured, answered and computed."""
        return TapeStatistics(
            captures_at_start=self._captures_at_start,
            captures_after_start=self._captures - self._captures_at_start,
            eager_rows_outside_grid=self._outside,
            tapes=self._tapes,
            computed_tokens=self._computed,
            padding_tokens=self._padding,
        )

    @property
    def note(self) -> str:
        """One line for people: what was recorded and what did not fit."""
        sizes = self.grid.sizes
        kept = f"{len(sizes)} graphs of {sizes[0]} to {sizes[-1]} tokens" if sizes else "no graphs"
        if not self.left_out:
            return kept
        return f"{kept}; {', '.join(map(str, self.left_out))} tokens did not fit the memory"

    def plan(self, rows: Sequence[Row]) -> list[TapePlan]:
        """Which rows share a tape; size None is outside the grid."""
        return plan_tapes(rows, self.grid)

    def run(self, rows: Sequence[Row], size: int | None) -> list[Logits]:
        """Answer rows that were planned together.

        Raises torch.OutOfMemoryError for a row outside the grid that does not fit the device.
        """
        tokens = sum(row.tokens for row in rows)
        if size is None:
            logits = self._run_outside(rows)
            self._outside += len(rows)
        else:
            recording = self._recordings[size]
            write_tape(rows, recording.tables)
            recording.repeat()
            self._recorder.wait()
            logits = recording.logits
            self._padding += size - tokens
        self._tapes += 1
        self._computed += tokens
        return _share_out(logits, rows)

    def _make_memory(self, room: Need, labels: int) -> None:
        pinned = self._device.type == "cuda"
        entries = table_entries(room)
        self._host = torch.zeros(entries, dtype=torch.int32, pin_memory=pinned)
        self._there = self._host.to(self._device)
        self._answers = torch.zeros((room.slots, labels), pin_memory=pinned)

    def _record(self, size: int) -> _Recording:
        room = room_for(size)
        entries = table_entries(room)
        host, there = self._host[:entries], self._there[:entries]
        answers = self._answers[: room.slots]
        tables = device_tables(there, room)

        def work() -> None:
            there.copy_(host, non_blocking=True)
            answers.copy_(self._forward(tables), non_blocking=True)

        host_tables = Tables.views(host.numpy(), room)
        write_tape((), host_tables)
        repeat = self._recorder.record(work)
        self._captures += 1
        return _Recording(repeat, host_tables, answers.numpy())

    def _run_outside(self, rows: Sequence[Row]) -> Logits:
        need = sum((need_of(row) for row in rows), Need())
        # No fewer slots than any size of a grid has: products of a row or two sum otherwise.
        slots = max(need.slots, room_for(SMALLEST).slots)
        tokens = -(-need.tokens // SMALLEST) * SMALLEST
        room = Need(tokens, need.blocks, need.chunks, need.leaves, slots)
        memory = np.zeros(table_entries(room), np.int32)
        write_tape(rows, Tables.views(memory, room))
        with fixed_products(), torch.inference_mode():
            tables = device_tables(torch.from_numpy(memory).to(self._device), room)
            logits: Logits = self._forward(tables).cpu().numpy()
        return logits


def device_tables(memory: Tensor, room: Need) -> DeviceTables:
    """Tables with that room as views of a tensor."""
    parts: dict[str, Tensor] = {}
    start = 0
    for name, shape in table_shapes(room).items():
        size = int(np.prod(shape))
        parts[name] = memory[start : start + size].view(shape)
        start += aligned(size)
    return DeviceTables(**parts)


def _share_out(logits: Logits, rows: Sequence[Row]) -> list[Logits]:
    shares: list[Logits] = []
    start = 0
    for row in rows:
        shares.append(logits[start : start + row.slots].copy())
        start += row.slots
    return shares
