"""The light teach: a head for each labelled question on the hidden states of a checkpoint.

Nothing in the checkpoint changes; the heads are a layer on top of it, and at lambda 0 it answers
as before, bit for bit. Needs no torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thisthat.checkpoint import Checkpoint
from thisthat.checkpoint.ship import naming, ship_heads
from thisthat.decide.decider import Decider
from thisthat.decide.heads import Head, heads_as_bytes, question_key
from thisthat.display import option_told
from thisthat.errors import InvalidInputError
from thisthat.items.metrics import (
    Interval,
    expected_calibration_error,
    negative_log_likelihood,
    paired_difference,
    wilson,
)
from thisthat.teach.collect import collect_lessons, collect_options
from thisthat.teach.fit_head import FittedHead, fit_head, half_as_many
from thisthat.teach.found import Found, found_by_option, found_words, lost_words
from thisthat.teach.known import hashes, labels_of, refuse_taught
from thisthat.teach.rows import Rows

Progress = Callable[[str, float], None]
"""Told which question is being learned, and the share of it that is done."""

_READING = 0.8
"""The share of the time that reading states takes; fitting takes the rest."""

_WORTH = 0.005
_TELLING = 100
_EVEN = 0.3
_INSTEAD = (
    "if that is too seldom, look for wrong labels (`thisthat label --labelled`) or word the "
    "question more clearly."
)


@dataclass(frozen=True)
class Learned:
    """What one question learned, judged on rows that were not fitted on.

    ``supported`` is the plain answer: the whole interval of the gain in accuracy is above zero.
    ``options`` are told as people read them.
    """

    name: str
    rows: int
    fitted: FittedHead
    options: tuple[str, ...]
    labels: tuple[int, ...]
    half: float | None = None
    """The share of right answers with half of the labels, scored on the other half."""

    @cached_property
    def before(self) -> Interval:
        """The share of right answers of the checkpoint itself."""
        return self._right(self.fitted.before)[1]

    @cached_property
    def after(self) -> Interval:
        """The share of right answers with a head that did not see the row."""
        return self._right(self.fitted.after)[1]

    @cached_property
    def gain(self) -> Interval:
        """How much more often the head is right."""
        return paired_difference(
            self._right(self.fitted.after)[0], self._right(self.fitted.before)[0]
        )

    @cached_property
    def found(self) -> list[Found]:
        """How often each option is found, before and after."""
        after, before = (each.argmax(axis=1) for each in (self.fitted.after, self.fitted.before))
        return found_by_option(self.options, np.array(self.labels), after, before)

    @property
    def calibration_error(self) -> float:
        """By how much the head's confidence misses its share of right answers."""
        hits = self._right(self.fitted.after)[0]
        return expected_calibration_error(self.fitted.after.max(axis=1), hits, 10)

    @cached_property
    def log_loss(self) -> tuple[float, float]:
        """The log loss of the checkpoint itself and of the head."""
        before, after = (
            negative_log_likelihood(list(each), self.labels)
            for each in (self.fitted.before, self.fitted.after)
        )
        return before, after

    @property
    def head(self) -> Head | None:
        """The head that is kept: none where nothing was learned, the rows show a loss, or the head
        is neither right more often nor nearer in its probabilities."""
        before, after = self.log_loss
        better = self.gain.value > 0 or after < before
        return self.fitted.head if better and self.gain.high >= 0 else None

    @property
    def supported(self) -> bool:
        """Whether the rows show a gain in accuracy."""
        return self.gain.low > 0

    def _right(self, probabilities: Any) -> tuple[Any, Interval]:
        hits = probabilities.argmax(axis=1) == np.array(self.labels)
        return hits.astype(np.float64), wilson(int(hits.sum()), len(hits))

    @property
    def another_doubling(self) -> float | None:
        """What twice the labels would add to the share of right answers, going by the last."""
        if self.half is None or self.fitted.head is None:
            return None
        # Errors fall about with the root of the number of labels.
        return max(0.0, self.after.value - self.half) / math.sqrt(2)

    def lines(self) -> list[str]:
        """The result in words."""
        head = f"{self.name}: {self.rows} labelled states. "
        if self.fitted.head is None:
            return [
                head + "They teach it nothing beyond what it says already "
                f"({_shown(self.before)} right); it is left as it is."
            ]
        first = (
            f"{head}Right on states it was not fitted on: {_shown(self.before)} before, "
            f"{_shown(self.after)} after; gain {_shown(self.gain)}."
        )
        if self.gain.high < 0:
            return [first, "  It is right less often, so this is not kept; it is left as it is."]
        if self.head is None:
            lines = [
                first,
                "  It is right no more often and its probabilities fit no better "
                f"({self._log_loss_told()}), so this is not kept; it is left as it is.",
            ]
        else:
            lines = [first, *self._found_told(), "  " + self._rests_on()]
            if not self.supported:
                lines.append("  These rows do not " + self._why_kept())
        more = self.another_doubling
        if more is None:
            return lines if self.supported else [*lines, "  Label more."]
        if self.rows < _TELLING:
            few = f"  Fewer than {_TELLING} labels do not tell what more of them would bring"
            return [*lines, f"{few}." if self.supported else f"{few}; label more to find out."]
        told = f"  With half of these labels it is right {self.half:.2f} of the time; twice as many"
        told += f" would bring about {more:+.2f}" if more >= _WORTH else " would bring little"
        if self.supported:
            return [*lines, f"{told}."]
        return [*lines, f"{told}: {'label more.' if more >= _WORTH else _INSTEAD}"]

    def _found_told(self) -> list[str]:
        """How often each option is found, and the warning that one was lost."""
        words, lost = found_words(self.found), lost_words(self.found)
        lines = [] if words is None else [f"  Found: {words}."]
        return lines if lost is None else [*lines, f"  But {lost}."]

    def _rests_on(self) -> str:
        """What answers rest on now."""
        own = self.fitted.own
        counts = "little" if own < 0.25 else "in part" if own < 0.75 else "fully"
        words = self.fitted.mixture or 0.0
        said = "words and meaning" if words >= _EVEN else "meaning more than its words"
        return (
            f"Its answer before teaching still counts {counts}; what the labels add rests on a "
            f"state's {said}."
        )

    def _why_kept(self) -> str:
        """Why the head is kept where no gain in accuracy is shown."""
        before, after = self.log_loss
        if after < before:
            return (
                "show that it is right more often. It is kept because its probabilities fit "
                f"better: {self._log_loss_told()}."
            )
        return (
            "prove the gain, and its probabilities fit no better: "
            f"{self._log_loss_told()}. It is kept because it was right more often."
        )

    def _log_loss_told(self) -> str:
        before, after = self.log_loss
        return f"log loss {before:.3f} before, {after:.3f} after"

    def as_json(self) -> dict[str, Any]:
        """For the card."""
        return {
            "question": self.name,
            "rows": self.rows,
            "words": self.fitted.mixture,
            "own_answer": self.fitted.own,
            "half": self.half,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "gain": self.gain.as_dict(),
            "calibration_error": self.calibration_error,
            "supported": self.supported,
            "kept": self.head is not None,
            "found_less_often": [each.option for each in self.found if each.less],
        }


@dataclass(frozen=True)
class Taught:
    """What a teach came to; ``folder`` is None where no head was kept, so nothing written.

    ``known`` says how many of the labels had taught the parent, None where none had.
    """

    folder: Path | None
    learned: tuple[Learned, ...]
    known: str | None = None

    @property
    def findings(self) -> list[str]:
        """What was learned, for people."""
        lines = [line for each in self.learned for line in each.lines()]
        return lines if self.known is None else [*lines, self.known]

    def lines(self) -> list[str]:
        """The result for people."""
        lines = self.findings
        if self.folder is None:
            return [*lines, "nothing was kept, so nothing was written"]
        kept = [each.name for each in self.learned if each.head is not None]
        others = [each.name for each in self.learned if each.head is None]
        told = f"kept: {', '.join(kept)}"
        if others:
            told += f"; left as before: {', '.join(others)}"
        return [*lines, told, f"checkpoint in {self.folder}; at --lambda 0 it is its parent"]


def teach(
    decider: Decider,
    parent: Checkpoint,
    labelled: Mapping[str, Rows],
    output: Path,
    progress: Progress = lambda name, share: None,
) -> Taught:
    """Fit a head for each question and write them to the new folder ``output``, on ``parent``.

    ``decider`` answers with ``parent``. Raises InvalidInputError for a folder that is not empty,
    for labels of which more than a few taught the parent, and for a state that cannot be read, by
    its place in the file.
    """
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        message = f"{output} already exists and is not an empty folder; remove it or name another"
        raise InvalidInputError("output", message)
    known = refuse_taught("labels", parent.ref, parent.lam, labels_of(labelled))
    learned = learn(decider, labelled, progress)
    return replace(write(parent, labelled, learned, output), known=known)


def learn(
    decider: Decider,
    labelled: Mapping[str, Rows],
    progress: Progress = lambda name, share: None,
) -> tuple[Learned, ...]:
    """What each question learns; nothing is written."""
    return tuple(_learn(decider, name, rows, progress) for name, rows in labelled.items())


def write(
    parent: Checkpoint, labelled: Mapping[str, Rows], learned: tuple[Learned, ...], output: Path
) -> Taught:
    """Write the heads that were learned to the new folder ``output``, on ``parent``.

    Raises CheckpointError where they cannot be written; nothing is left of the folder then.
    """
    heads = {
        question_key(labelled[each.name].question): each.head
        for each in learned
        if each.head is not None
    }
    if not heads:
        return Taught(None, learned)
    card = replace(
        parent.in_force,
        name=output.resolve().name,
        provenance={"taught": [each.as_json() for each in learned], **hashes(labels_of(labelled))},
    )
    with naming(output):
        ship_heads(parent, heads_as_bytes(heads), output, card)
    return Taught(output, learned)


def _learn(decider: Decider, name: str, rows: Rows, progress: Progress) -> Learned:
    try:
        collected, again = collect_lessons(
            decider,
            rows.question,
            rows.states,
            lambda done: progress(name, min(1.0, done / (1.5 * len(rows.states))) * _READING),
        )
    except InvalidInputError as error:
        start = error.field.partition("]")[0].removeprefix("states[")
        raise InvalidInputError(rows.places[int(start)], error.message) from None
    shown = collect_options(decider, rows.question)
    labels = np.array(rows.labels)
    fitted = fit_head(
        rows.question,
        collected,
        labels,
        lambda share: progress(name, _READING + (1 - _READING) * share),
        shown,
        again,
    )
    half = half_as_many(rows.question, collected, labels, shown, again)
    options = tuple(option_told(rows.question, each.name) for each in rows.question.declared)
    return Learned(name, len(rows.states), fitted, options, tuple(rows.labels), half)


def _shown(interval: Interval) -> str:
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
