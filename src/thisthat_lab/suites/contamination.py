"""Does any training item ask, or even show, what an evaluation item does? Fails loudly if so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from thisthat.errors import ThisThatError
from thisthat.items.item import Item

MOST_EXAMPLES = 5


class ContaminationError(ThisThatError):
    """Training items overlap evaluation items. The message has counts and examples."""

    def __init__(self, report: ContaminationReport) -> None:
        super().__init__(
            f"{report.same_question} of {report.training_items} training items ask an evaluation "
            f"question and {report.same_state} show an evaluation state; for example: "
            + "; ".join(report.examples)
        )
        self.report = report


@dataclass(frozen=True)
class ContaminationReport:
    """What a check compared and found. ``same_state`` includes every ``same_question``."""

    training_items: int
    evaluation_items: int
    same_question: int
    same_state: int
    examples: tuple[str, ...]


def check_contamination(
    training: Iterable[Item], evaluation: Iterable[Item]
) -> ContaminationReport:
    """Compare by fingerprint and by rendered state; training is read once and never held.

    Returns the report when nothing overlaps; raises ContaminationError otherwise, and ValueError
    when there is nothing to compare with.
    """
    fingerprints: set[str] = set()
    states: set[str] = set()
    evaluation_items = 0
    for item in evaluation:
        evaluation_items += 1
        fingerprints.add(item.fingerprint)
        states.add(item.state_hash)
    if not evaluation_items:
        raise ValueError("there are no evaluation items to compare with")
    training_items = same_question = same_state = 0
    examples: list[str] = []
    for item in training:
        training_items += 1
        if item.state_hash not in states:
            continue
        same_state += 1
        asked = item.fingerprint in fingerprints
        same_question += asked
        if len(examples) < MOST_EXAMPLES:
            what = "question" if asked else "state"
            examples.append(
                f"training item {training_items} ({item.source}, {item.family}): same {what}, "
                f"{str(item.state)[:80]!r}"
            )
    report = ContaminationReport(
        training_items, evaluation_items, same_question, same_state, tuple(examples)
    )
    if same_state:
        raise ContaminationError(report)
    return report
