"""Heads beside trained weights: what labels teach either way, and how much each of them counts.

Heads are fitted on the checkpoint as it was. Training moves only layers above those that heads
read, so a head says the same of a state afterwards, and both can answer together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thisthat.checkpoint import Checkpoint
from thisthat.decide.heads import Head, heads_as_bytes, question_key
from thisthat.decide.opening import open_decider
from thisthat.items.item import Item
from thisthat.items.metrics import Interval, negative_log_likelihood, wilson
from thisthat.questions import Question
from thisthat.teach.collect import DEPTHS, collect, layers_at
from thisthat.teach.fit_head import FOLDS, folds_of, log_softmax, taught_logs
from thisthat.teach.light import Learned, learn
from thisthat.teach.regression import Floats, Stack, stacked
from thisthat.teach.rows import LEAST_ROWS, Rows


@dataclass(frozen=True)
class Answers:
    """Answers to labelled items, as logarithms for the options as declared."""

    items: Sequence[Item]
    logs: Sequence[Floats]

    @cached_property
    def hits(self) -> Floats:
        """1 for every item that is answered rightly."""
        pairs = zip(self.logs, self._labels, strict=True)
        return np.array([told.argmax() == label for told, label in pairs], np.float64)

    @property
    def right(self) -> Interval:
        """The share of right answers."""
        return wilson(int(self.hits.sum()), len(self.hits))

    @property
    def nll(self) -> float:
        """The log loss."""
        return negative_log_likelihood([np.exp(told) for told in self.logs], self._labels)

    @cached_property
    def _labels(self) -> list[int]:
        return [place(item.as_question(), item) for item in self.items]


@dataclass(frozen=True)
class Light:
    """Heads fitted on the rows that are taught, and on all rows; what the first say of the others.

    ``logs`` and ``guesses`` are, by place among the rows held out, the logarithms of a head's
    probabilities and what it adds to the checkpoint's own answer; for the options as declared.
    """

    labelled: Mapping[str, Rows]
    learned: tuple[Learned, ...]
    logs: Sequence[Floats]
    guesses: Mapping[int, Floats]


@dataclass(frozen=True)
class Together:
    """Answers to the rows held out by heads and trained weights together, as logarithms.

    Each is from a mixture that was fitted without the row. ``stacks`` are, by question, how much
    either counts, fitted on all of them.
    """

    logs: Sequence[Floats]
    stacks: Mapping[str, Stack]


def layers_read(parent: Checkpoint) -> int:
    """How many layers, from the first on, heads need as they are."""
    return max(layers_at(DEPTHS, layers_of(parent) - 1))


def layers_of(checkpoint: Checkpoint) -> int:
    """How many decoder layers it has."""
    config = checkpoint.config
    return int(config.get("num_hidden_layers") or config["text_config"]["num_hidden_layers"])


def by_question(items: Sequence[Item]) -> dict[str, Rows]:
    """Rows by question, where they are enough for a head and differ in their answers."""
    labelled: dict[str, Rows] = {}
    for number, item in enumerate(items):
        rows = labelled.setdefault(item.question, Rows(item.as_question()))
        rows.add(item.state, place(rows.question, item), f"row {number + 1}")
    return {
        name: rows
        for name, rows in labelled.items()
        if len(rows.states) >= LEAST_ROWS and len(set(rows.labels)) > 1
    }


def place(question: Question, item: Item) -> int:
    """Where the question declares the item's answer."""
    return [option.name for option in question.declared].index(item.options[item.answer][0])


def as_declared(item: Item, values: NDArray[np.floating]) -> Floats:
    """Values of the item's options in the order in which its question declares them."""
    names = [name for name, _ in item.options]
    order = [names.index(option.name) for option in item.as_question().declared]
    return np.asarray(values, np.float64)[order]


def fit_light(parent: Checkpoint, taught: Sequence[Item], held_out: Sequence[Item]) -> Light | None:
    """Heads for the questions with enough rows; None where none of them learns anything."""
    first, every = by_question(taught), by_question([*taught, *held_out])
    logs: dict[int, Floats] = {}
    guesses: dict[int, Floats] = {}
    with open_decider(parent.ref) as decider:
        heads = {each.name: each.head for each in learn(decider, first)}
        if not any(heads.values()):
            return None
        learned = learn(decider, every)
        for name in {item.question for item in held_out}:
            rows = [row for row, item in enumerate(held_out) if item.question == name]
            states = [held_out[row].state for row in rows]
            read = collect(decider, held_out[rows[0]].as_question(), states)
            head = heads.get(name)
            logs |= dict(zip(rows, log_softmax(taught_logs(head, read)), strict=True))
            if head is not None:
                found = taught_logs(head, replace(read, logs=np.zeros_like(read.logs)))
                guesses |= dict(zip(rows, found, strict=True))
    return Light(every, learned, [logs[row] for row in range(len(held_out))], guesses)


def together(light: Light, held_out: Sequence[Item], own: Sequence[Floats]) -> Together:
    """Heads beside ``own``, what trained weights say of the rows held out, as logarithms.

    Where a question has no head, or too few rows to weigh it by, the trained weights answer alone.
    """
    logs, stacks = list(own), {}
    for name in {held_out[row].question for row in light.guesses}:
        rows = [row for row in light.guesses if held_out[row].question == name]
        if len(rows) < LEAST_ROWS:
            continue
        guesses = np.array([light.guesses[row] for row in rows])
        answers = np.array([own[row] for row in rows])
        question = held_out[rows[0]].as_question()
        labels = np.array([place(question, held_out[row]) for row in rows])
        folds = folds_of(labels)
        for fold in range(FOLDS):
            others, mine = folds != fold, folds == fold
            found = stacked(guesses[others], answers[others], labels[others])
            told = log_softmax(found.logits(guesses[mine], answers[mine]))
            for row, each in zip(np.flatnonzero(mine), told, strict=True):
                logs[rows[row]] = each
        stacks[name] = stacked(guesses, answers, labels)
    return Together(logs, stacks)


def heads_beside(light: Light, stacks: Mapping[str, Stack]) -> bytes | None:
    """The heads of all rows as they count beside trained weights; None where there are none."""
    heads = {
        question_key(light.labelled[each.name].question): _weighed(each.head, stacks[each.name])
        for each in light.learned
        if each.head is not None and each.name in stacks
    }
    return heads_as_bytes(heads) if heads else None


def _weighed(head: Head, stack: Stack) -> Head:
    """A head that adds ``stack.guess`` of what it did, on ``stack.own`` of the answer below it."""
    return replace(
        head,
        scale=stack.own,
        bias=(stack.guess * head.bias + stack.bias).astype(np.float32),
        weights=(stack.guess * head.weights.astype(np.float32)).astype(np.float16),
        word_weights=(stack.guess * head.word_weights.astype(np.float32)).astype(np.float16),
    )
