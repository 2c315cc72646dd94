"""Host memory through which tapes go to the device, and what is known of those on their way.

A desk holds one tape until its answers have been taken; the host goes on meanwhile. Knows nothing
of how a tape is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from thisthat.engine.cuda.capture import Mark
from thisthat.engine.cuda.packed_batch import Need, Table, Tables, TapeRow, room_for, table_entries
from thisthat.engine.rows import Logits

DESKS = 12
"""Tapes that may be on their way at the same time."""


@dataclass(frozen=True, slots=True)
class TapeAnswer:
    """Logits [slots, labels] of a row, and how many tokens of its prefix were not computed."""

    logits: Logits
    cached: int


@dataclass(frozen=True, slots=True)
class Member:
    """A row of a wave: its place in the caller's order, and what its prefix saves."""

    place: int
    given: TapeRow
    cached: int


class Desk:
    """Host memory in which one tape is written and its answers arrive."""

    def __init__(self, room: Need, labels: int, device: torch.device) -> None:
        pinned = device.type == "cuda"
        self.memory = torch.zeros(table_entries(room), dtype=torch.int32, pin_memory=pinned)
        self._numbers: Table = self.memory.numpy()
        self._views: dict[int, Tables] = {}
        self.answers = torch.zeros((room.slots, labels), pin_memory=pinned)
        self.done = Mark(device)
        self.tape: Begun | None = None

    def tables(self, size: int) -> Tables:
        """The tables of a tape of that size in this memory."""
        if size not in self._views:
            room = room_for(size)
            self._views[size] = Tables.views(self._numbers[: table_entries(room)], room)
        return self._views[size]

    def clear(self) -> None:
        """Take what is on it, if anything is, so that it can be used again."""
        # Even with nothing to take: a call that was broken off may have left work behind.
        self.done.wait()
        if self.tape is not None:
            self.tape.take()


class Begun:
    """Rows on a tape that the device works on, until their logits are taken from the desk."""

    def __init__(self, members: Sequence[Member], desk: Desk | None, logits: Logits) -> None:
        self._members = members
        self._desk = desk
        self._logits = logits

    def wait(self) -> None:
        """Return once the device is done with the tape; other threads may go on meanwhile."""
        desk = self._desk
        if desk is not None:
            desk.done.wait()

    def take(self) -> None:
        """Wait for the logits, and leave the desk."""
        self.wait()
        if self._desk is not None:
            self._logits = self._logits.copy()
            self._desk.tape = None
            self._desk = None

    def shared_out(self) -> Iterator[tuple[Member, Logits]]:
        """Each row with its own logits, once they are there."""
        self.take()
        start = 0
        for member in self._members:
            slots = member.given.row.slots
            yield member, self._logits[start : start + slots]
            start += slots


class Underway:
    """Rows that the device works on."""

    def __init__(self, rows: int, labels: int) -> None:
        self._answers = [TapeAnswer(np.zeros((0, labels), np.float32), 0)] * rows
        self.tapes: list[Begun] = []

    def wait(self) -> None:
        """Return once all answers are there. Needs no lock."""
        for tape in self.tapes:
            tape.wait()

    def answers(self) -> list[TapeAnswer]:
        """The answers in the caller's order; a row without branches has none."""
        for tape in self.tapes:
            for member, logits in tape.shared_out():
                self._answers[member.place] = TapeAnswer(logits, member.cached)
        self.tapes = []
        return self._answers
