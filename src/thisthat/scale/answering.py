"""Groups of rows and what answers them: this process, or workers elsewhere.

Knows rows and deciders; nothing of files, parts and manifests.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from thisthat.decide.conditions import Conditions
from thisthat.errors import InvalidInputError
from thisthat.questions import Decision, Text
from thisthat.scale.columns import answer_columns
from thisthat.scale.decider import BatchDecider
from thisthat.scale.source import Id, InputRow

TOGETHER = 1024
"""Most rows that are answered together."""

CHARACTERS = 4 << 20
"""Rows of more characters wait for the next group."""

_FIRST = 64
_SOON, _LATE = 1.0, 4.0
"""Rows answered sooner are fewer than could be; later, more than progress allows. In seconds."""


@dataclass(frozen=True)
class Answered:
    """Rows that were answered together, as columns, with what is wrong with some of them.

    ``decisions`` are for a log, and empty without one.
    """

    columns: dict[str, list[Any]]
    errors: list[InvalidInputError]
    input_tokens: int
    cached_tokens: int
    seconds: float
    decisions: list[tuple[Id | None, Text, Decision]]

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.columns["error"])


@dataclass(frozen=True)
class RowAnswerer:
    """Answers rows: their ids go into a column of that name; ``log`` keeps the decisions."""

    decider: BatchDecider
    id_column: str
    log: bool = False

    def answer(self, rows: list[InputRow]) -> Answered:
        """The answers, or what is wrong with a row, with its place."""
        began = time.perf_counter()
        found = self.decider.decide([row.state for row in rows])
        errors, decisions, usage = [], [], []
        for number, (row, each) in enumerate(zip(rows, found, strict=True)):
            if isinstance(each, Decision):
                usage.append(each.usage)
                if self.log and not isinstance(row.state, InvalidInputError):
                    decisions.append((row.id, row.state, each))
                continue
            if each is not row.state:
                found[number] = each = InvalidInputError(f"{row.where}, {each.field}", each.message)
            errors.append(each)
        ids: dict[str, list[Any]] = {self.id_column: [row.id for row in rows]}
        return Answered(
            columns=ids | answer_columns(self.decider.kinds, found),
            errors=errors,
            input_tokens=sum(each.input_tokens for each in usage),
            cached_tokens=sum(each.cached_tokens for each in usage),
            seconds=time.perf_counter() - began,
            decisions=decisions,
        )


class Groups:
    """Rows in groups, whose size follows how long answering them takes.

    A group ends with every ``part_rows`` rows.
    """

    def __init__(self, rows: Iterator[InputRow], part_rows: int) -> None:
        self._rows, self._part_rows = rows, part_rows
        self._size, self._given = _FIRST, 0

    def next(self) -> list[InputRow]:
        """The next rows, so many or enough for their characters; empty at the end."""
        group, size = [], 0
        most = min(self._size, self._part_rows - self._given % self._part_rows)
        for row in self._rows:
            group.append(row)
            size += len(row.state) if isinstance(row.state, str) else len(str(row.state))
            if len(group) == most or size > CHARACTERS:
                break
        self._given += len(group)
        return group

    def took(self, seconds: float) -> None:
        """Learn how long a group took."""
        if seconds < _SOON:
            self._size = min(2 * self._size, TOGETHER)
        elif seconds > _LATE:
            self._size = max(self._size // 2, _FIRST)


class Workers(Protocol):
    """What answers groups of rows; ``count`` of them at a time."""

    @property
    def count(self) -> int:
        """How many groups are answered at the same time."""

    @property
    def conditions(self) -> Conditions:
        """The conditions that the answers depend on."""

    def answer(self, groups: Groups, how: RowAnswerer) -> Iterator[Answered]:
        """The groups' answers, in order."""


@dataclass(frozen=True)
class Here:
    """This process answers, group after group."""

    decider: BatchDecider
    count: int = 1

    @property
    def conditions(self) -> Conditions:
        """The decider's."""
        return self.decider.conditions

    def answer(self, groups: Groups, how: RowAnswerer) -> Iterator[Answered]:
        """The groups' answers, in order."""
        while rows := groups.next():
            answered = how.answer(rows)
            groups.took(answered.seconds)
            yield answered
