"""Rows answered in packed batches: fixed memory, one recording per size, everything counted.

All recordings are made when the runner is made, the largest size first; sizes that do not fit the
device are left out and said so. A row that no size has room for runs without a recording and is
counted. Prefixes that there are slots for are read once, in a batch of their own, and kept. While
the device works the host goes on: it writes the next batches, or reads what answers are there. Not
for several threads at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from thisthat.engine.check_rows import does_not_fit
from thisthat.engine.cuda.batch_sizes import SMALLEST, Grid, plan_batches
from thisthat.engine.cuda.capture import OneAfterAnother, Recorder, Work, fixed_products, on_device
from thisthat.engine.cuda.compiles import kernels_compiled
from thisthat.engine.cuda.host_buffers import HOST_BUFFERS, HostBuffer, PendingRows, RunningBatch
from thisthat.engine.cuda.ops import DeviceTables
from thisthat.engine.cuda.packed_batch import (
    Need,
    PackedRow,
    Tables,
    room_for,
    table_entries,
    write_batch,
)
from thisthat.engine.cuda.prefix_slots import PrefixSlots, SlotRange
from thisthat.engine.prefix_cache import CacheStatistics
from thisthat.engine.rows import Logits, Row, Tokens
from thisthat.engine.statistics import EngineStatistics

Forward = Callable[[DeviceTables], Tensor]


@dataclass(frozen=True, slots=True)
class RunnerStatistics:
    """Counts since counting started; a capture after the start would be a mistake.

    Kernels compiled after it were so for a row outside the grid, or by mistake.
    """

    captures_at_start: int
    captures_after_start: int
    compiles_after_start: int
    eager_rows_outside_grid: int
    batches: int
    computed_tokens: int
    padding_tokens: int
    reused_tokens: int
    prefixes: CacheStatistics

    def added_to(self, other: EngineStatistics) -> EngineStatistics:
        """These counts and those of an engine's other passes; kept prefixes are those here."""
        return EngineStatistics(
            passes=other.passes + self.batches,
            computed_tokens=other.computed_tokens + self.computed_tokens,
            padding_tokens=other.padding_tokens + self.padding_tokens,
            reused_tokens=other.reused_tokens + self.reused_tokens,
            prefixes=self.prefixes,
            captures_at_start=self.captures_at_start,
            captures_after_start=self.captures_after_start,
            compiles_after_start=self.compiles_after_start,
            eager_rows_outside_grid=self.eager_rows_outside_grid,
        )


class PackedRunner:
    """Logits at the slots of rows, as float32 [slots, labels] per row."""

    def __init__(
        self,
        forward: Forward,
        *,
        device: torch.device,
        labels: int,
        grid: Grid,
        recorder: Recorder,
        prefix_slots: PrefixSlots | None = None,
        float8: bool = False,
    ) -> None:
        """``prefix_slots`` plans the places that ``forward`` has for prefixes; None keeps none.

        ``float8`` says that ``forward`` multiplies in eight-bit floats.
        """
        self._forward = forward
        self._device = device
        self._labels = labels
        self._recorder = recorder
        self.float8 = float8
        self._prefix_slots = PrefixSlots(0) if prefix_slots is None else prefix_slots
        self._order = OneAfterAnother(device)
        self._unread: list[Tokens] = []
        self._recordings: dict[int, Work] = {}
        self._captures = self._compiles = self._outside = self._batches = 0
        self._computed = self._padding = self._reused = 0
        self.left_out: tuple[int, ...] = ()
        if grid.sizes:
            self._make_memory(room_for(grid.sizes[-1]))
        for size in reversed(grid.sizes):
            try:
                self._recordings[size] = self._record(size)
            except torch.OutOfMemoryError:
                self.left_out = (size, *self.left_out)
                torch.cuda.empty_cache()
        self.grid = Grid(tuple(sorted(self._recordings)))
        self._captures_at_start = self._captures

    @property
    def statistics(self) -> RunnerStatistics:
        """What was captured, answered and computed."""
        return RunnerStatistics(
            captures_at_start=self._captures_at_start,
            captures_after_start=self._captures - self._captures_at_start,
            compiles_after_start=self._compiles,
            eager_rows_outside_grid=self._outside,
            batches=self._batches,
            computed_tokens=self._computed,
            padding_tokens=self._padding,
            reused_tokens=self._reused,
            prefixes=self._prefix_slots.statistics,
        )

    @property
    def note(self) -> str:
        """One line for people: what was recorded and what did not fit."""
        sizes = self.grid.sizes
        kept = f"{len(sizes)} graphs of {sizes[0]} to {sizes[-1]} tokens" if sizes else "no graphs"
        if self.float8:
            kept = f"products in float8, {kept}"
        if not self.left_out:
            return kept
        return f"{kept}; {', '.join(map(str, self.left_out))} tokens did not fit the memory"

    def start_counting(self) -> None:
        """Count from here, with nothing kept; captures stay counted."""
        self._compiles = self._outside = self._batches = 0
        self._computed = self._padding = self._reused = 0
        self._prefix_slots.start_anew()

    def begin(self, rows: Sequence[Row]) -> PendingRows:
        """Set the device to work on all rows.

        Raises DeviceMemoryError for a row outside the grid that does not fit the device.
        """
        # What a call that was broken off meant to keep has not been read.
        while self._unread:
            self._prefix_slots.forget(self._unread.pop())
        pending = PendingRows(len(rows), self._labels)
        for unread, members in self._waves(rows):
            self._begin_all(unread)
            self._unread.clear()
            pending.batches += self._begin_all(members)
            self._reused += sum(member.cached for member in members)
        return pending

    def _waves(self, rows: Sequence[Row]) -> Iterator[tuple[list[PackedRow], list[PackedRow]]]:
        """Prefixes that have to be read, and then the rows after them.

        There are as many waves as it takes to keep the prefixes of each together.
        """
        held: dict[Tokens, SlotRange] = {}
        unread: list[PackedRow] = []
        members: list[PackedRow] = []
        for place, row in enumerate(rows):
            if not row.branches:
                continue
            span = held.get(row.prefix)
            if span is None and row.prefix:
                span = self._prefix_slots.find(row.prefix)
            if span is None and not self._prefix_slots.takes(row.prefix):
                members.append(PackedRow(row, place=place))
                continue
            cached = len(row.prefix) if span else 0
            if span is None:
                span = self._reserved(row.prefix, held)
                if span is None:
                    yield unread, members
                    held, unread, members = {}, [], []
                    span = self._reserved(row.prefix, held)
                    assert span is not None
                unread.append(PackedRow(Row((), row.prefix, ()), keep_at=span))
            held[row.prefix] = span
            members.append(PackedRow(row, kept=span, place=place, cached=cached))
        yield unread, members

    def _reserved(self, prefix: Tokens, held: Mapping[Tokens, SlotRange]) -> SlotRange | None:
        """Places for a prefix that is yet to be read, which is remembered until it has been."""
        self._unread.append(prefix)
        return self._prefix_slots.put(prefix, held)

    def _begin_all(self, members: Sequence[PackedRow]) -> list[RunningBatch]:
        plans = plan_batches(members, self.grid)
        before = kernels_compiled()
        try:
            return [
                self._begin([members[index] for index in plan.indices], plan.size) for plan in plans
            ]
        finally:
            self._compiles += kernels_compiled() - before

    def _begin(self, rows: Sequence[PackedRow], size: int | None) -> RunningBatch:
        tokens = sum(row.tokens for row in rows)
        self._batches += 1
        self._computed += tokens
        if size is None:
            logits = self._run_outside(rows)
            self._outside += len(rows)
            return RunningBatch(rows, None, logits)
        self._padding += size - tokens
        buffer = next(self._buffers)
        buffer.clear()
        entries = table_entries(room_for(size))
        write_batch(rows, buffer.tables(size))
        slots = sum(row.row.slots for row in rows)
        self._order.take_turn()
        try:
            with torch.inference_mode():
                self._there[:entries].copy_(buffer.memory[:entries], non_blocking=True)
                self._recordings[size]()
                buffer.answers[:slots].copy_(self._found[:slots], non_blocking=True)
        finally:
            buffer.done.set()
        buffer.batch = RunningBatch(rows, buffer, buffer.answers.numpy()[:slots])
        return buffer.batch

    def _make_memory(self, room: Need) -> None:
        buffers = [HostBuffer(room, self._labels, self._device) for _ in range(HOST_BUFFERS)]
        self._buffers = itertools.cycle(buffers)
        one = buffers[0]
        self._there = torch.zeros_like(one.memory, device=self._device)
        self._found = torch.zeros_like(one.answers, device=self._device)

    def _record(self, size: int) -> Work:
        room = room_for(size)
        there = self._there[: table_entries(room)]
        nothing = np.zeros(table_entries(room), np.int32)
        write_batch((), Tables.views(nothing, room))
        there.copy_(torch.from_numpy(nothing))
        tables = Tables.views(there, room)
        found = self._found[: room.slots]

        def work() -> None:
            found.copy_(self._forward(tables))

        repeat = self._recorder.record(work)
        self._captures += 1
        return repeat

    def _run_outside(self, rows: Sequence[PackedRow]) -> Logits:
        need = sum((row.need for row in rows), Need())
        # No fewer slots than any size of a grid has: products of a row or two sum otherwise.
        slots = max(need.slots, room_for(SMALLEST).slots)
        tokens = -(-need.tokens // SMALLEST) * SMALLEST
        room = Need(tokens, need.blocks, need.chunks, need.leaves, slots)
        memory = np.zeros(table_entries(room), np.int32)
        write_batch(rows, Tables.views(memory, room))
        self._order.take_turn()
        try:
            with on_device(self._device), fixed_products(), torch.inference_mode():
                tables = Tables.views(torch.from_numpy(memory).to(self._device), room)
                logits: Logits = self._forward(tables).cpu().numpy()
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise does_not_fit(rows[0].row, self._device) from error
        return logits
