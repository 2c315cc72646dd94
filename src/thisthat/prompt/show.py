"""A row for people: what the model reads, with every slot marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from thisthat.engine.rows import Branch, Row

Decode = Callable[[Sequence[int]], str]


@dataclass(frozen=True, slots=True)
class SlotMark:
    """Where an answer is read: the slot's number in its row and how many options count."""

    number: int
    options: int

    def __str__(self) -> str:
        return f"⟦slot {self.number}: {self.options} options⟧"


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row as text: what every branch reads first, then each branch as texts and marks."""

    shared: str
    branches: tuple[tuple[str | SlotMark, ...], ...]


def shown_row(row: Row, decode: Decode) -> ShownRow:
    """The decoded row, its slots as marks, so that no text can pass for one."""
    branches = []
    first = 0
    for branch in row.branches:
        branches.append(tuple(_pieces(branch, decode, first)))
        first += len(branch.slots)
    return ShownRow(decode((*row.prefix, *row.trunk)), tuple(branches))


def show_row(row: Row, decode: Decode) -> str:
    """The row as one text: the prefix, the trunk and each branch."""
    shown = shown_row(row, decode)
    parts = [shown.shared, *("".join(map(str, branch)) for branch in shown.branches)]
    return "".join(parts) if len(row.branches) == 1 else "\n── branch ──".join(parts)


def _pieces(branch: Branch, decode: Decode, first: int) -> Iterator[str | SlotMark]:
    at = 0
    for number, slot in enumerate(branch.slots, first):
        yield decode(branch.tokens[at : slot.at + 1])
        yield SlotMark(number, slot.options)
        at = slot.at + 1
    if at < len(branch.tokens):
        yield decode(branch.tokens[at:])
