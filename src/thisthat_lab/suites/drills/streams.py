"""An endless stream of drills, several in a row about the same record or records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import check_ranges
from thisthat_lab.suites.drills.asking import ASKS, Drill
from thisthat_lab.suites.drills.several import ASKS_OF_SEVERAL, draw_several
from thisthat_lab.suites.drills.subjects import Subject, draw_subject


@dataclass(frozen=True)
class DrillSettings:
    """``questions_per_state`` drills in a row share a state; ``notes`` of them hide it in notes.

    ``several`` of the states hold more than one record.
    """

    questions_per_state: int = 8
    notes: float = 0.3
    several: float = 0.0

    def __post_init__(self) -> None:
        if self.questions_per_state < 1:
            raise InvalidInputError(
                "questions_per_state", f"is {self.questions_per_state}; at least 1"
            )
        check_ranges(self, notes=(0, 1), several=(0, 1))


def training_items(seed: int, settings: DrillSettings | None = None) -> Iterator[Item]:
    """Items without end; another seed is another stream."""
    settings = settings or DrillSettings()
    rng = Rng("drills", seed)
    while True:
        # Without several nothing is drawn for it: streams of old settings stay as they were.
        if settings.several and rng.chance(settings.several):
            yield from _about_several(settings, rng)
        else:
            yield from _about_one(settings, rng)


def _about_one(settings: DrillSettings, rng: Rng) -> Iterator[Item]:
    subject = draw_subject(rng, settings.notes)
    for _ in range(settings.questions_per_state):
        name, ask, _ = rng.weighted(ASKS, [weight for _, _, weight in ASKS])
        drill = ask(subject, rng)
        if drill is not None:
            yield item_of(name, subject, drill, rng)


def _about_several(settings: DrillSettings, rng: Rng) -> Iterator[Item]:
    several = draw_several(rng, settings.notes)
    facts = {"records": dict(zip(several.names, several.records, strict=True))}
    asked: set[str] = set()
    for _ in range(settings.questions_per_state):
        name, ask, _ = rng.weighted(ASKS_OF_SEVERAL, [weight for _, _, weight in ASKS_OF_SEVERAL])
        drill = ask(several, rng)
        if drill is not None and drill.question not in asked:
            asked.add(drill.question)
            yield _as_item(name, several.state, drill, facts, rng)


def item_of(name: str, subject: Subject, drill: Drill, rng: Rng) -> Item:
    """The drill as an item of the family ``name``; the options of a choice in random order."""
    return _as_item(name, subject.state, drill, {"record": subject.record}, rng)


def _as_item(name: str, state: Text, drill: Drill, facts: Mapping[str, Any], rng: Rng) -> Item:
    options, answer = drill.options, drill.answer
    if drill.kind == "choice":
        order = rng.shuffled(range(len(options)))
        options, answer = tuple(options[index] for index in order), order.index(answer)
    return Item(
        source="generated_drills",
        family=name,
        kind=drill.kind,
        state=state,
        question=drill.question,
        options=options,
        answer=answer,
        facts=facts,
    )
