"""A row as text for people: what the model reads, with every slot marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thisthat.engine.rows import Branch, Row

Decode = Callable[[Sequence[int]], str]

SLOT = "⟦slot {number}: {options} options⟧"


def show_row(row: Row, decode: Decode) -> str:
    """The prefix, the trunk and each branch, decoded; branches are indented under the trunk."""
    parts = [decode((*row.prefix, *row.trunk))]
    slot = 0
    for branch in row.branches:
        parts.append(_show_branch(branch, decode, slot))
        slot += len(branch.slots)
    return "".join(parts) if len(row.branches) == 1 else "\n── branch ──".join(parts)


def _show_branch(branch: Branch, decode: Decode, first: int) -> str:
    text = ""
    at = 0
    for number, slot in enumerate(branch.slots, first):
        text += decode(branch.tokens[at : slot.at + 1])
        text += SLOT.format(number=number, options=slot.options)
        at = slot.at + 1
    return text + decode(branch.tokens[at:])
