"""What every branch family adds to the common interface: twins, and clauses to drill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from thisthat.items.item import Item
from thisthat.questions import Kind
from thisthat.rng import Rng
from thisthat_lab.suites.base.clauses import Clause
from thisthat_lab.suites.base.family import Asked, Family
from thisthat_lab.suites.base.settings import Setting

CaseT = TypeVar("CaseT")


@dataclass(frozen=True)
class BranchFamily(Family[CaseT, Setting], Generic[CaseT]):
    """A family of branch-shaped decisions.

    ``twin`` returns a case whose right answer differs from the given one although only the rule
    changed or only one fact did; None when it found none. ``clauses`` gives the conditions a case
    turns on, for families whose states show ``case.sheet`` as a record: such cases can be asked
    about in drills.
    """

    twin: Callable[[CaseT, Rng], CaseT | None] | None = None
    clauses: Callable[[CaseT], Sequence[Clause]] | None = None


def branch_family(
    name: str,
    kind: Kind,
    draw: Callable[[Rng, Setting], CaseT | None],
    solve: Callable[[CaseT], int],
    render: Callable[[CaseT, Rng], Asked],
    twin: Callable[[CaseT, Rng], CaseT | None] | None = None,
    *,
    option_count: int | None = None,
    held_out: bool = False,
    abstains: bool = True,
    clauses: Callable[[CaseT], Sequence[Clause]] | None = None,
) -> BranchFamily[CaseT]:
    """A family of the branch suite; a boolean has two options, others as many as they render.

    Without ``abstains`` no item offers an abstain option (where no fact can be missing).
    """
    if kind == "boolean":
        option_count = 2

    def drawn(rng: Rng, setting: Setting) -> CaseT | None:
        return draw(rng, replace(setting, abstain=setting.abstain and abstains))

    return BranchFamily(
        name, "branch", kind, option_count, held_out, drawn, solve, render, None, twin, clauses
    )


def turned(
    case: CaseT,
    others: Iterable[CaseT],
    solve: Callable[[CaseT], int],
    open_answer: int | None = None,
) -> CaseT | None:
    """The first of the others whose answer is known and is not the answer of the case, or None.

    ``open_answer`` is the answer that says "cannot tell". The others are taken one by one, so a
    generator draws no more of them than are needed.
    """
    unwanted = (open_answer, solve(case))
    return next((other for other in others if solve(other) not in unwanted), None)


def with_option_at(item: Item, place: int) -> Item:
    """The same choice with its right option moved to ``place`` (by swapping two options)."""
    options = list(item.options)
    options[place], options[item.answer] = options[item.answer], options[place]
    return replace(item, options=tuple(options), answer=place)
