"""What a family of generated questions is: three functions and a few facts about them.

A family is one module that exposes ``FAMILY``. ``draw`` invents a case, ``solve`` computes the
right answer from the case alone, ``render`` writes the case down. Because ``solve`` never sees
the text and ``render`` never sees the answer, wording cannot decide what is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.questions import Kind, Text
from thisthat.rng import Rng

CaseT = TypeVar("CaseT")
SettingsT = TypeVar("SettingsT")

YES_NO: tuple[tuple[str, str | None], ...] = (("no", None), ("yes", None))


def check_ranges(settings: object, **ranges: tuple[float, float]) -> None:
    """Raise InvalidInputError for the first of these settings that is outside its range."""
    for name, (least, most) in ranges.items():
        value = getattr(settings, name)
        if not least <= value <= most:
            raise InvalidInputError(name, f"is {value}; it must be {least} to {most}")


@dataclass(frozen=True)
class Difficulty:
    """How hard a generated case is: the settings of the branch families.

    ``clauses`` conditions that decide, ``distractors`` facts that look relevant and are not,
    ``length`` the number of filler sentences or fields around them.
    """

    clauses: int = 3
    distractors: int = 2
    length: int = 2

    def __post_init__(self) -> None:
        check_ranges(self, clauses=(1, 8), distractors=(0, 32), length=(0, 200))


@dataclass(frozen=True)
class Asked:
    """A case written down: what the model reads.

    ``options`` stand in the order that ``solve`` counts in: no, yes for a boolean, the levels
    for a score. ``facts`` are kept beside the item and never shown to a model. ``shuffle`` is
    False where the order of a choice's options carries meaning (bands, compass order).
    """

    state: Text
    question: str
    options: tuple[tuple[str, str | None], ...] = YES_NO
    facts: Mapping[str, Any] = field(default_factory=dict)
    shuffle: bool = True


@dataclass(frozen=True)
class Family(Generic[CaseT, SettingsT]):
    """One kind of generated question.

    ``draw`` may return None when these settings admit no case; ``option_count`` is None when it
    varies from case to case; ``target`` gives the answer distribution where the truth is one. A
    case whose facts name an ``abstain`` option is a choice, whatever the family's kind, with that
    option beyond the usual number: last for booleans and scores.
    """

    name: str
    suite: str
    kind: Kind
    option_count: int | None
    held_out: bool
    draw: Callable[[Rng, SettingsT], CaseT | None]
    solve: Callable[[CaseT], int]
    render: Callable[[CaseT, Rng], Asked]
    target: Callable[[CaseT], tuple[float, ...]] | None = None

    def item_for(self, case: CaseT, rng: Rng, split: str) -> Item:
        """The item for one case. The options of a choice stand in random order if they may."""
        asked = self.render(case, rng)
        answer = self.solve(case)
        target = self.target(case) if self.target else None
        options = asked.options
        open_ended = "abstain" in asked.facts
        if self.option_count not in (None, len(options) - open_ended):
            raise ValueError(f"{self.name} renders {len(options)} options, not {self.option_count}")
        if self.kind == "choice" and asked.shuffle:
            order = rng.shuffled(range(len(options)))
            options = tuple(options[index] for index in order)
            answer = order.index(answer)
            target = tuple(target[index] for index in order) if target else None
        return Item(
            source=f"generated_{self.suite}",
            family=self.name,
            kind="choice" if open_ended else self.kind,
            state=asked.state,
            question=asked.question,
            options=options,
            answer=answer,
            target=target,
            split=split,
            facts=asked.facts,
        )

    def generate(self, rng: Rng, settings: SettingsT, split: str) -> Item | None:
        """Draw, solve and render one item; None when these settings admit no case."""
        case = self.draw(rng, settings)
        return None if case is None else self.item_for(case, rng, split)
