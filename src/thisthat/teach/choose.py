"""Which states to label next, and which labels may be wrong.

Worth labelling is what the checkpoint is unsure of and what is unlike the states that are chosen
or labelled already. A label may be wrong where a head that did not see it is sure of another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thisthat.decide.decider import Decider
from thisthat.engine.features import READOUTS
from thisthat.identity import state_hash
from thisthat.items.labels import LabelledStates
from thisthat.questions import Question, Text, check_many
from thisthat.teach.collect import Collected, collect, collect_options
from thisthat.teach.fit_head import Singles, fit_head
from thisthat.teach.regression import Floats
from thisthat.teach.rows import LEAST_ROWS, Rows

SURE = 0.8
"""The least probability of another option that puts a label in doubt."""

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Next:
    """A state worth labelling: its number, and by question what is answered now, how surely."""

    number: int
    answers: Mapping[str, tuple[str, float]]


@dataclass(frozen=True)
class Doubt:
    """A label that may be wrong: the row's number in the file, the label, the likelier answer."""

    question: str
    row: int
    label: str
    answer: str
    probability: float


def next_states(
    decider: Decider,
    questions: Mapping[str, Question],
    states: Sequence[Text],
    count: int,
    labelled: Sequence[Text] = (),
    progress: Progress = lambda done: None,
) -> list[Next]:
    """At most ``count`` states to label, the most useful first; each state once, none labelled.

    Raises InvalidInputError naming a state that cannot be read.
    """
    check_many(states)
    known = {state_hash(state) for state in labelled}
    fresh: dict[str, int] = {}
    for number, state in enumerate(states):
        if (key := state_hash(state)) not in known:
            fresh.setdefault(key, number)
    numbers = list(fresh.values())
    if not numbers:
        return []
    kept = [states[number] for number in numbers]
    read: dict[str, Collected] = {}
    for done, (name, question) in enumerate(questions.items()):
        read[name] = collect(
            decider,
            question,
            kept,
            lambda n, done=done: progress(done * len(kept) + n),  # type: ignore[misc]
        )
    first = next(iter(read.values()))
    seen = collect(decider, next(iter(questions.values())), labelled) if labelled else None
    doubt = np.mean([_doubt(each.logs) for each in read.values()], axis=0)
    vectors, others = _directions(first, seen)
    found = []
    for place in spread_out(doubt, vectors, others, count):
        answers = {}
        for name, each in read.items():
            best = int(each.logs[place].argmax())
            sure = float(np.exp(each.logs[place, best]))
            answers[name] = questions[name].declared[best].name, sure
        found.append(Next(numbers[place], answers))
    return found


def spread_out(doubt: Floats, vectors: Singles, others: Singles, count: int) -> list[int]:
    """Rows in turn, each with the most of doubt times distance to ``others`` and those before.

    Vectors have length 1; the distance of two is 1 less their cosine, at most 1.
    """
    far = np.ones(len(vectors))
    if len(others):
        far = np.minimum(far, 1 - (vectors @ others.T).max(axis=1))
    left = np.ones(len(vectors), bool)
    found: list[int] = []
    for _ in range(min(count, len(vectors))):
        # States that are alike all the same come in order of doubt.
        worth = np.where(left, (doubt + 1e-3) * np.maximum(far, 1e-3), -1)
        place = int(worth.argmax())
        found.append(place)
        left[place] = False
        far = np.minimum(far, 1 - vectors @ vectors[place])
    return found


def judgeable(labelled: LabelledStates) -> dict[str, tuple[Rows, list[int]]]:
    """By question, the rows whose labels can be judged, and which of all rows these are.

    Left out are contradicted labels, and questions with too few rows or one answer only.
    """
    against = {(name, row) for name, *rows in labelled.contradictions() for row in rows}
    found: dict[str, tuple[Rows, list[int]]] = {}
    for name, question in labelled.questions.items():
        rows, numbers = Rows(question), []
        for number, right in enumerate(labelled.labels):
            if name not in right or (name, number) in against:
                continue
            if rows.add(labelled.states[number], right[name], labelled.places[number]):
                numbers.append(number)
        if len(rows.states) >= LEAST_ROWS and len(set(rows.labels)) > 1:
            found[name] = rows, numbers
    return found


def doubtful_labels(
    decider: Decider, labelled: LabelledStates, progress: Progress = lambda done: None
) -> list[Doubt]:
    """Labels that may be wrong, the surest first, of questions with enough of them to judge by.

    A contradicted label is not judged: the same state has another one.
    """
    found: list[Doubt] = []
    done = 0
    for name, (rows, numbers) in judgeable(labelled).items():
        question = rows.question
        read = collect(decider, question, rows.states, lambda n, done=done: progress(done + n))  # type: ignore[misc]
        done += len(rows.states)
        shown = collect_options(decider, question)
        after = fit_head(question, read, np.array(rows.labels), shown=shown).after
        for place, (number, label) in enumerate(zip(numbers, rows.labels, strict=True)):
            best = int(after[place].argmax())
            if best != label and after[place, best] >= SURE:
                names = [option.name for option in question.declared]
                sure = float(after[place, best])
                found.append(Doubt(name, number, names[label], names[best], sure))
    return sorted(found, key=lambda each: -each.probability)


def _doubt(logs: Floats) -> Floats:
    """1 where the two likeliest options are equally likely, 0 where one is certain."""
    ordered = np.sort(np.exp(logs), axis=1)
    gap: Floats = 1 - (ordered[:, -1] - ordered[:, -2])
    return gap


def _directions(first: Collected, seen: Collected | None) -> tuple[Singles, Singles]:
    """The states' means in the middle of the model, about their common mean, to length 1."""
    place, mean = len(first.layers) // 2, READOUTS.index("mean")
    vectors = first.features[:, place, mean]
    centre = vectors.mean(axis=0)

    def direction(given: Singles) -> Singles:
        moved = given - centre
        length = np.linalg.norm(moved, axis=1, keepdims=True)
        return np.asarray(moved / np.where(length > 0, length, 1), np.float32)

    if seen is None:
        return direction(vectors), np.empty((0, vectors.shape[1]), np.float32)
    return direction(vectors), direction(seen.features[:, place, mean])
