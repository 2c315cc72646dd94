"""An endless stream of drills, several in a row about the same record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from thisthat.errors import InvalidInputError
from thisthat.random import Rng
from thisthat.suites.drills.asking import ASKS, Drill
from thisthat.suites.drills.subjects import Subject, draw_subject
from thisthat.suites.item import Item


@dataclass(frozen=True)
class DrillSettings:
    """``questions_per_state`` drills in a row share a state; ``notes`` of them hide it in notes."""

    questions_per_state: int = 8
    notes: float = 0.3

    def __post_init__(self) -> None:
        if self.questions_per_state < 1:
            raise InvalidInputError(
                "questions_per_state", f"is {self.questions_per_state}; at least 1"
            )
        if not 0 <= self.notes <= 1:
            raise InvalidInputError("notes", f"is {self.notes}; it must lie between 0 and 1")


def training_items(seed: int, settings: DrillSettings | None = None) -> Iterator[Item]:
    """Items without end; another seed is another stream."""
    settings = settings or DrillSettings()
    rng = Rng("drills", seed)
    while True:
        subject = draw_subject(rng, settings.notes)
        for _ in range(settings.questions_per_state):
            name, ask, _ = rng.weighted(ASKS, [weight for _, _, weight in ASKS])
            drill = ask(subject, rng)
            if drill is not None:
                yield item_of(name, subject, drill, rng)


def item_of(name: str, subject: Subject, drill: Drill, rng: Rng) -> Item:
    """The drill as an item of the family ``name``; the options of a choice in random order."""
    options, answer = drill.options, drill.answer
    if drill.kind == "choice":
        order = rng.shuffled(range(len(options)))
        options, answer = tuple(options[index] for index in order), order.index(answer)
    return Item(
        source="generated_drills",
        family=name,
        kind=drill.kind,
        state=subject.state,
        question=drill.question,
        options=options,
        answer=answer,
        facts={"record": subject.record},
    )
