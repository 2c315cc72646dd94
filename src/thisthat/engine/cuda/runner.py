"""Rows answered on tapes: fixed memory, one recording per size, everything counted.

All recordings are made when the runner is made, the largest size first; sizes that do not fit the
device are left out and said so. A row that no size has room for runs without a recording and is
counted. Prefixes that the shelf has room for are read once, on a tape of their own, and kept. While
the device works the host goes on: it writes the next tapes, or reads what answers are there. Not
for several threads at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from thisthat.engine.cuda.batch_sizes import SMALLEST, Grid, plan_tapes
from thisthat.engine.cuda.capture import OneAfterAnother, Recorder, Work, fixed_products, on_device
from thisthat.engine.cuda.compiles import kernels_compiled
from thisthat.engine.cuda.host_buffers import DESKS, Begun, Desk, Member, Underway
from thisthat.engine.cuda.ops import DeviceTables
from thisthat.engine.cuda.packed_batch import (
    PER_TOKEN,
    Need,
    Tables,
    TapeRow,
    aligned,
    need_of,
    room_for,
    table_entries,
    table_shapes,
    write_tape,
)
from thisthat.engine.cuda.prefix_slots import Shelf, Span
from thisthat.engine.rows import Logits, Row, Tokens
from thisthat.errors import DeviceMemoryError

Forward = Callable[[DeviceTables], Tensor]


@dataclass(frozen=True, slots=True)
class TapeStatistics:
    """Counts since counting started; a capture after the start would be a mistake.

    Kernels compiled after it were so for a row outside the grid, or by mistake.
    """

    captures_at_start: int
    captures_after_start: int
    compiles_after_start: int
    eager_rows_outside_grid: int
    tapes: int
    computed_tokens: int
    padding_tokens: int
    reused_tokens: int


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
        shelf: Shelf | None = None,
        float8: bool = False,
    ) -> None:
        """``shelf`` plans the places that ``forward`` has for prefixes; None keeps none.

        ``float8`` says that ``forward`` multiplies in eight-bit floats.
        """
        self._forward = forward
        self._device = device
        self._labels = labels
        self._recorder = recorder
        self.float8 = float8
        self.shelf = Shelf(0) if shelf is None else shelf
        self._order = OneAfterAnother(device)
        self._unread: list[Tokens] = []
        self._recordings: dict[int, Work] = {}
        self._captures = self._compiles = self._outside = self._tapes = 0
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
    def statistics(self) -> TapeStatistics:
        """What was captured, answered and computed."""
        return TapeStatistics(
            captures_at_start=self._captures_at_start,
            captures_after_start=self._captures - self._captures_at_start,
            compiles_after_start=self._compiles,
            eager_rows_outside_grid=self._outside,
            tapes=self._tapes,
            computed_tokens=self._computed,
            padding_tokens=self._padding,
            reused_tokens=self._reused,
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
        self._compiles = self._outside = self._tapes = 0
        self._computed = self._padding = self._reused = 0
        self.shelf.start_anew()

    def begin(self, rows: Sequence[Row]) -> Underway:
        """Set the device to work on all rows.

        Raises DeviceMemoryError for a row outside the grid that does not fit the device.
        """
        # What a call that was broken off meant to keep has not been read.
        while self._unread:
            self.shelf.forget(self._unread.pop())
        underway = Underway(len(rows), self._labels)
        for unread, members in self._waves(rows):
            self._on_tapes(unread)
            self._unread.clear()
            underway.tapes += self._on_tapes(members)
            self._reused += sum(member.cached for member in members)
        return underway

    def _waves(self, rows: Sequence[Row]) -> Iterator[tuple[list[Member], list[Member]]]:
        """Prefixes that have to be read, and then the rows after them.

        There are as many waves as it takes to have the prefixes of each on the shelf together.
        """
        held: dict[Tokens, Span] = {}
        unread: list[Member] = []
        members: list[Member] = []
        for place, row in enumerate(rows):
            if not row.branches:
                continue
            span = held.get(row.prefix) or (self.shelf.find(row.prefix) if row.prefix else None)
            if span is None and not self.shelf.takes(row.prefix):
                members.append(Member(place, TapeRow(row), 0))
                continue
            cached = len(row.prefix) if span else 0
            if span is None:
                span = self._reserved(row.prefix, held)
                if span is None:
                    yield unread, members
                    held, unread, members = {}, [], []
                    span = self._reserved(row.prefix, held)
                    assert span is not None
                unread.append(Member(-1, TapeRow(Row((), row.prefix, ()), shelve=span), 0))
            held[row.prefix] = span
            members.append(Member(place, TapeRow(row, kept=span), cached))
        yield unread, members

    def _reserved(self, prefix: Tokens, held: Mapping[Tokens, Span]) -> Span | None:
        """Places for a prefix that is yet to be read, which is remembered until it has been."""
        self._unread.append(prefix)
        return self.shelf.put(prefix, held)

    def _on_tapes(self, members: Sequence[Member]) -> list[Begun]:
        plans = plan_tapes([member.given for member in members], self.grid)
        before = kernels_compiled()
        try:
            return [
                self._begin([members[index] for index in plan.indices], plan.size) for plan in plans
            ]
        finally:
            self._compiles += kernels_compiled() - before

    def _begin(self, members: Sequence[Member], size: int | None) -> Begun:
        rows = [member.given for member in members]
        tokens = sum(row.tokens for row in rows)
        self._tapes += 1
        self._computed += tokens
        if size is None:
            logits = self._run_outside(rows)
            self._outside += len(rows)
            return Begun(members, None, logits)
        self._padding += size - tokens
        desk = next(self._desks)
        desk.clear()
        entries = table_entries(room_for(size))
        write_tape(rows, desk.tables(size))
        slots = sum(row.row.slots for row in rows)
        self._order.take_turn()
        try:
            with torch.inference_mode():
                self._there[:entries].copy_(desk.memory[:entries], non_blocking=True)
                self._recordings[size]()
                desk.answers[:slots].copy_(self._found[:slots], non_blocking=True)
        finally:
            desk.done.set()
        desk.tape = Begun(members, desk, desk.answers.numpy()[:slots])
        return desk.tape

    def _make_memory(self, room: Need) -> None:
        desks = [Desk(room, self._labels, self._device) for _ in range(DESKS)]
        self._desks = itertools.cycle(desks)
        one = desks[0]
        self._there = torch.zeros_like(one.memory, device=self._device)
        self._found = torch.zeros_like(one.answers, device=self._device)

    def _record(self, size: int) -> Work:
        room = room_for(size)
        there = self._there[: table_entries(room)]
        nothing = np.zeros(table_entries(room), np.int32)
        write_tape((), Tables.views(nothing, room))
        there.copy_(torch.from_numpy(nothing))
        tables = device_tables(there, room)
        found = self._found[: room.slots]

        def work() -> None:
            found.copy_(self._forward(tables))

        repeat = self._recorder.record(work)
        self._captures += 1
        return repeat

    def _run_outside(self, rows: Sequence[TapeRow]) -> Logits:
        need = sum((need_of(row) for row in rows), Need())
        # No fewer slots than any size of a grid has: products of a row or two sum otherwise.
        slots = max(need.slots, room_for(SMALLEST).slots)
        tokens = -(-need.tokens // SMALLEST) * SMALLEST
        room = Need(tokens, need.blocks, need.chunks, need.leaves, slots)
        memory = np.zeros(table_entries(room), np.int32)
        write_tape(rows, Tables.views(memory, room))
        self._order.take_turn()
        try:
            with on_device(self._device), fixed_products(), torch.inference_mode():
                tables = device_tables(torch.from_numpy(memory).to(self._device), room)
                logits: Logits = self._forward(tables).cpu().numpy()
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise does_not_fit(rows[0].row, self._device) from error
        return logits


def does_not_fit(row: Row, device: torch.device) -> DeviceMemoryError:
    """What to raise for a row, or a schema to be kept, that alone is too much."""
    what = f"row of {row.tokens} tokens and {len(row.branches)} branches"
    if not row.branches:
        what = f"schema of {row.tokens} tokens"
    return DeviceMemoryError(f"a {what} does not fit the memory of {device}")


def device_tables(memory: Tensor, room: Need) -> DeviceTables:
    """Tables with that room as views of a tensor."""
    parts: dict[str, Tensor] = {}
    start = 0
    for name, shape in table_shapes(room).items():
        size = int(np.prod(shape))
        parts[name] = memory[start : start + size].view(shape)
        start += aligned(size)
    per_token = dict(zip(PER_TOKEN, parts.pop("per_token"), strict=True))
    return DeviceTables(**per_token, **parts)
