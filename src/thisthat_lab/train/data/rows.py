"""Training rows: a flat token sequence with slots and their targets, made from a sheet.

A row with one branch reads as prefix, trunk and branch one after another, so training sees the
very tokens an engine will.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.bidirectional import since
from thisthat.errors import InvalidInputError, StateTooLongError
from thisthat.items.item import Item
from thisthat.prompt.builder import PromptBuilder
from thisthat_lab.train.data.augment import Sheet

NO_OUTCOME = -1


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """Tokens and, for every slot, its place, option count, target, weight, outcome and tag.

    ``targets`` holds the slots' distributions one after another. ``outcomes`` is the option that
    happened, or NO_OUTCOME for a slot that learns from its target. ``tags`` name (family, kind)
    for accuracy; ``where`` says where the row came from, for people. ``opened`` is the first token
    of the open state and how many there are.
    """

    tokens: NDArray[np.int32]
    at: NDArray[np.int32]
    counts: NDArray[np.int32]
    targets: NDArray[np.float32]
    weights: NDArray[np.float32]
    outcomes: NDArray[np.int32]
    tags: tuple[str, ...]
    where: str
    opened: NDArray[np.int32] = field(default_factory=lambda: np.zeros(2, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def is_open(self) -> bool:
        """Whether any token sees one after it."""
        return bool(self.opened[1])

    def read_causally(self) -> TrainingRow:
        """The row with every token seeing only those before it."""
        return replace(self, opened=np.zeros(2, dtype=np.int32))

    @property
    def since(self) -> NDArray[np.int32]:
        """For every token of the row the first that sees it."""
        first, count = self.opened.tolist()
        return since(len(self), count, first).astype(np.int32)


def tag_of(item: Item) -> str:
    """What accuracy is grouped by."""
    return f"{item.family}/{item.kind}"


def build_row(
    sheet: Sheet,
    items: Sequence[Item],
    builder: PromptBuilder,
    longest: int,
    where: str,
    outcomes: Sequence[bool],
    weight: float = 1.0,
) -> TrainingRow | None:
    """The sheet as one row, or None when it has more than ``longest`` tokens or nothing to ask.

    ``items`` are the items the sheet's drafts were made from, in the same order, and
    ``outcomes`` says of each whether its answer is an outcome.
    """
    if builder.form.isolated_levels:
        raise InvalidInputError("prompt.isolated_levels", "cannot be trained; ask levels together")
    questions = [draft.as_question() for draft in sheet.drafts]
    try:
        rendered = builder.render(
            sheet.state, questions, layout=sheet.layout, packing="together", limit=longest
        )
    except StateTooLongError:
        return None
    except InvalidInputError as error:
        if error.field == "questions":
            return None
        raise error.under(where) from None
    if not rendered.rows:
        return None
    (row,) = rendered.rows
    (branch,) = row.branches
    before = len(row.prefix) + len(row.trunk)
    asked = [k for k, place in enumerate(rendered.places) if place.at]
    drafts = [sheet.drafts[k] for k in asked]
    return TrainingRow(
        tokens=np.array((*row.prefix, *row.trunk, *branch.tokens), dtype=np.int32),
        at=np.array([before + slot.at for slot in branch.slots], dtype=np.int32),
        counts=np.array([slot.options for slot in branch.slots], dtype=np.int32),
        targets=np.concatenate([np.array(draft.target, dtype=np.float32) for draft in drafts]),
        weights=np.full(len(drafts), weight, dtype=np.float32),
        outcomes=np.array(
            [sheet.drafts[k].best if outcomes[k] else NO_OUTCOME for k in asked], dtype=np.int32
        ),
        tags=tuple(tag_of(items[k]) for k in asked),
        where=where,
        opened=np.array([len(row.prefix), row.opened], dtype=np.int32),
    )
