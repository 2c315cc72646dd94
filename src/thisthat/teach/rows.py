"""Labelled states by question, checked for what cannot teach anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from thisthat.display import counted, listed, option_told
from thisthat.errors import InvalidInputError
from thisthat.identity import state_hash
from thisthat.items.labels import Frame, label_place, read_labelled
from thisthat.questions import Question, Text

LEAST_ROWS = 20
"""Different labelled states of a question, below which nothing can be held out to check it."""


@dataclass
class Rows:
    """One question's labelled states, each once; ``places`` says where in the file they stand."""

    question: Question
    states: list[Text] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    repeated: int = 0
    _seen: dict[str, int] = field(default_factory=dict)

    def add(self, state: Text, label: int, place: str) -> bool:
        """Add a row; whether it is a new one.

        Raises InvalidInputError where the same state has another label.
        """
        key = state_hash(state)
        if key not in self._seen:
            self._seen[key] = len(self.states)
            self.states.append(state)
            self.labels.append(label)
            self.places.append(place)
            return True
        earlier = self._seen[key]
        if self.labels[earlier] != label:
            raise InvalidInputError(
                place,
                f"answers {self._told(label)!r} where the same state in {self.places[earlier]} has "
                f"{self._told(self.labels[earlier])!r}",
            )
        self.repeated += 1
        return False

    def refuse_one_answer(self, where: str) -> None:
        """Raise InvalidInputError if no row has another answer than the first."""
        if len(set(self.labels)) == 1:
            raise InvalidInputError(
                where,
                f"has the answer {self._told(self.labels[0])!r} in every row, so there is nothing "
                "to tell apart: label states with other answers too, or leave out its labels",
            )

    def _told(self, label: int) -> str:
        return option_told(self.question, self.question.declared[label].name)


def read_rows(
    source: Path | Frame, questions: Mapping[str, Question] | None = None
) -> dict[str, Rows]:
    """Rows by question name (without a schema, the question's text).

    Raises InvalidInputError naming file, line and field: for rows that cannot be read, and for
    questions with too few rows, one answer only, contradictions or changing options.
    """
    labelled = read_labelled(source, questions)
    found = {name: Rows(labelled.questions[name]) for name in labelled.counts}
    entries = zip(labelled.states, labelled.labels, labelled.places, strict=True)
    for state, labels, place in entries:
        for name, label in labels.items():
            found[name].add(state, label, label_place(place, name) if questions else place)
    file = str(source) if isinstance(source, Path) else "frame"
    faults = [fault for name, rows in found.items() if (fault := _fault(name, rows)) is not None]
    if len(faults) == 1:
        raise InvalidInputError(f"{file}, {faults[0].field}", faults[0].message)
    if faults:
        raise InvalidInputError(file, f"cannot teach:{listed([str(each) for each in faults])}")
    return found


def _fault(name: str, rows: Rows) -> InvalidInputError | None:
    if len(rows.states) < LEAST_ROWS:
        given = counted(len(rows.states), "row", "different")
        return InvalidInputError(name, f"has {given}; at least {LEAST_ROWS} are needed")
    try:
        rows.refuse_one_answer(name)
    except InvalidInputError as error:
        return error
    return None
