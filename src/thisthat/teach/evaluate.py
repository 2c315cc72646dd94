"""How well a checkpoint answers labelled states, question by question, and against another one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thisthat import display
from thisthat.decide.options import DecideKeywords
from thisthat.errors import InvalidInputError
from thisthat.identity import state_hash
from thisthat.items import metrics
from thisthat.items.item import render_state
from thisthat.items.labels import LabelledStates
from thisthat.items.metrics import Bin, Floats, Interval
from thisthat.questions import Question, Source, Text
from thisthat.teach.found import Found, found_by_option, found_words, lost_words

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from thisthat.decide.protocol import Decides

MOST_WRONG = 10
_WRONG_SHOWN = 3
_BINS = 10
_SHOWN_CHARACTERS = 66
_STATE = re.compile(r"states\[(\d+)\]\.?(.*)")

# A 95 % interval clears zero four times in five if the difference is (1.96 + 0.84) / 1.96 times its
# half width.
_CLEARS = 1.43
# One without a row against it needs 4 rows for it, which four times in five takes a mean of 5.5.
_FEWEST = 5.5
_MOST_TIMES = 20

Verdict: TypeAlias = Literal["better", "worse", "no difference in accuracy shown"]


@dataclass(frozen=True)
class Judged:
    """The answers to one question beside their labels.

    ``rows`` are the states' numbers in the labels, ``probabilities`` is [rows, options].
    """

    name: str
    question: Question
    rows: Sequence[int]
    groups: Sequence[str]
    probabilities: Floats
    labels: NDArray[np.intp]

    @cached_property
    def options(self) -> list[str]:
        """The options' names."""
        return [option.name for option in self.question.declared]

    @cached_property
    def chosen(self) -> NDArray[np.intp]:
        """The most probable options."""
        return np.asarray(self.probabilities.argmax(axis=1))

    @cached_property
    def hits(self) -> Floats:
        """1 where the answer is right, else 0."""
        return metrics.right(self.chosen, self.labels).astype(np.float64)

    @cached_property
    def confidences(self) -> Floats:
        """The probabilities of the chosen options."""
        return np.asarray(self.probabilities.max(axis=1))

    @cached_property
    def yes(self) -> tuple[Floats, NDArray[np.bool_]] | None:
        """Of a boolean labelled both ways the probabilities of yes, and where yes is right."""
        if self.question.kind != "boolean":
            return None
        place = self.options.index("yes")
        positives = self.labels == place
        return (
            None
            if positives.all() or not positives.any()
            else (self.probabilities[:, place], positives)
        )

    @cached_property
    def measures(self) -> dict[str, Interval]:
        """Accuracy, balanced accuracy, area under the curve (booleans), log loss, Brier score."""
        found = {"accuracy": metrics.wilson(int(self.hits.sum()), self.hits.size)}
        for name, statistic in self._statistics().items():
            found[name] = metrics.bootstrap_statistic(statistic, self.hits.size, self.groups)
        for name, terms in self._terms().items():
            found[name] = metrics.bootstrap_mean(terms, self.groups)
        return found

    def gains(self, before: Judged) -> dict[str, Interval]:
        """By how much the same measures differ from ``before``, which answers the same rows."""
        first, second = self._statistics(), before._statistics()
        found = {"accuracy": metrics.paired_difference(self.hits, before.hits, self.groups)}
        for name in first:
            found[name] = metrics.bootstrap_statistic(
                lambda rows, name=name: first[name](rows) - second[name](rows),  # type: ignore[misc]
                self.hits.size,
                self.groups,
            )
        others = before._terms()
        for name, terms in self._terms().items():
            found[name] = metrics.paired_difference(terms, others[name], self.groups)
        return found

    def _statistics(self) -> dict[str, Callable[[NDArray[np.intp]], float]]:
        """Measures that are no means over rows, as functions of rows."""
        found: dict[str, Callable[[NDArray[np.intp]], float]] = {
            "balanced accuracy": lambda rows: metrics.balanced_accuracy(
                self.chosen[rows], self.labels[rows]
            )
        }
        if self.yes is not None:
            yes, positives = self.yes
            found["area under the curve"] = lambda rows: metrics.area_under_curve(
                yes[rows], positives[rows]
            )
        return found

    def _terms(self) -> dict[str, Floats]:
        """Measures that are means, row by row."""
        rows, labels = list(self.probabilities), self.labels.tolist()
        return {
            "log loss": metrics.log_terms(rows, labels),
            "Brier score": metrics.brier_terms(rows, labels),
        }

    @cached_property
    def calibration_error(self) -> float:
        """ECE over ten bins of equal width."""
        return metrics.expected_calibration_error(self.confidences, self.hits, _BINS)

    @cached_property
    def reliability(self) -> list[Bin]:
        """The same bins."""
        return metrics.reliability(self.confidences, self.hits, _BINS)

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """How often each labelled option (row) was answered with each option (column)."""
        return metrics.confusion(self.chosen, self.labels, len(self.options))

    def found(self, before: Judged | None = None) -> list[Found]:
        """How often each labelled option is found, beside ``before``, which answers the same."""
        options = [display.option_told(self.question, option) for option in self.options]
        earlier = None if before is None else before.chosen
        return found_by_option(options, self.labels, self.chosen, earlier, self.groups)

    def said(self, row: int) -> tuple[str, str]:
        """The labelled option of a row, and the answer."""
        return self.options[self.labels[row]], self.options[self.chosen[row]]

    def told(self, row: int) -> tuple[str, str]:
        """The same for people to read: a score's levels with their texts."""
        right, said = (display.option_told(self.question, option) for option in self.said(row))
        return right, said

    def surest_wrong(self, most: int = MOST_WRONG) -> list[int]:
        """The rows that are answered wrong, surest first, by place in this question."""
        wrong = np.flatnonzero(self.hits == 0)
        order = np.argsort(-self.confidences[wrong], kind="stable")
        return [int(row) for row in wrong[order][:most]]


@dataclass(frozen=True)
class Compared:
    """One question's earlier answers, by how much those now differ, and which options they find."""

    before: Judged
    gains: Mapping[str, Interval]
    found: Sequence[Found]

    @property
    def verdict(self) -> Verdict:
        """What the whole interval of the difference in accuracy says."""
        gain = self.gains["accuracy"]
        if gain.low > 0:
            return "better"
        return "worse" if gain.high < 0 else "no difference in accuracy shown"

    @property
    def shown_from(self) -> float:
        """The difference in accuracy that as many rows show four times in five."""
        return max(self._spread, _FEWEST / self.before.hits.size)

    @property
    def _spread(self) -> float:
        """How far from zero a difference lies whose interval, as wide as this, clears it."""
        gain = self.gains["accuracy"]
        return _CLEARS * (gain.high - gain.low) / 2

    def told(self) -> str:
        """The verdict in words, and the options that are found less often."""
        lost = lost_words(self.found)
        if lost is None:
            return self._verdict_told()
        return f"{self._verdict_told()}{', but' if self.verdict == 'better' else ';'} {lost}"

    def _verdict_told(self) -> str:
        """The verdict; where none is shown, what it would take."""
        if self.verdict != "no difference in accuracy shown":
            return self.verdict
        gain, rows = self.gains["accuracy"], self.before.hits.size
        if gain.low == gain.high:
            return f"{self.verdict}: both are right on the same rows"
        seen, least = abs(gain.value), self.shown_from
        if least >= 1:
            return f"{self.verdict}: {rows} rows are too few to show any"
        words = f"{self.verdict}: {rows} rows show one of about {least:.2f} or more"
        needed = max(rows * (self._spread / seen) ** 2, _FEWEST / seen) if seen else math.inf
        if rows < needed <= _MOST_TIMES * rows:
            words += f"; one of {seen:.2f}, as seen here, takes about {_rounded(needed)}"
        return words


@dataclass(frozen=True, repr=False)
class Evaluation:
    """All questions answered by one checkpoint, and maybe by another before it."""

    labelled: LabelledStates
    source: Source
    judged: Mapping[str, Judged]
    before: Evaluation | None = None

    @cached_property
    def compared(self) -> dict[str, Compared]:
        """Every question against ``before``, if there is one."""
        if self.before is None:
            return {}
        earlier = self.before.judged
        return {
            name: Compared(earlier[name], now.gains(earlier[name]), now.found(earlier[name]))
            for name, now in self.judged.items()
        }

    @property
    def label(self) -> str:
        """Who answered."""
        return display.source_line(self.source)

    def place(self, judged: Judged, row: int) -> str:
        """What the file calls a row of a question: its id, or where it stands."""
        return self.labelled.called(judged.rows[row])

    def found_told(self, name: str) -> str | None:
        """How often each option of a question is found; None for many options."""
        compared = self.compared.get(name)
        words = found_words(self.judged[name].found() if compared is None else compared.found)
        return None if words is None else f"found: {words}"

    def __repr__(self) -> str:
        told = ", ".join(
            f"{name} {each.hits.mean():.3f} of {each.hits.size}"
            for name, each in self.judged.items()
        )
        return f"<Evaluation of {self.label}: accuracy of {told}>"

    def _repr_html_(self) -> str:
        rows = []
        for name, judged in self.judged.items():
            accuracy = metrics.wilson(int(judged.hits.sum()), judged.hits.size)
            row = [
                display.bold(name),
                str(judged.hits.size),
                shown(accuracy),
                display.bar(accuracy.value),
                f"{judged.calibration_error:.3f}",
            ]
            if name in self.compared:
                compared = self.compared[name]
                row += [shown(compared.gains["accuracy"]), compared.verdict]
            rows.append(row)
        heads = ["question", "labels", "accuracy", "", "calibration error"]
        told = f"answered by {self.label}"
        if self.before is not None:
            heads += ["difference", ""]
            told += f", against {self.before.label}"
        return display.table(heads, rows) + display.note(told)

    def lines(self) -> list[str]:
        """The result for people."""
        lines = [f"answered by {self.label}"]
        if self.before is not None:
            lines.append(f"against {self.before.label}")
        for name, judged in self.judged.items():
            lines.append(f"{name}: {len(judged.rows)} labelled states")
            for measure, interval in judged.measures.items():
                told = f"  {measure} {shown(interval)}"
                if name in self.compared:
                    compared = self.compared[name]
                    told += f", before {compared.before.measures[measure].value:.3f}"
                    told += f"; difference {shown(compared.gains[measure])}"
                lines.append(told)
                if measure == "balanced accuracy" and (found := self.found_told(name)) is not None:
                    lines.append(f"  {found}")
            error = f"  calibration error {judged.calibration_error:.3f}"
            if name in self.compared:
                compared = self.compared[name]
                lines.append(f"{error}, before {compared.before.calibration_error:.3f}")
                lines.append(f"  {compared.told()}")
            else:
                lines.append(error)
            wrong = judged.surest_wrong(_WRONG_SHOWN)
            count = int((judged.hits == 0).sum())
            if count:
                which = "surest first" if count <= _WRONG_SHOWN else f"the surest {_WRONG_SHOWN}"
                lines.append(f"  {count} wrong, {which}:")
            for row in wrong:
                right, said = judged.told(row)
                sure = f"{said!r} at {judged.confidences[row]:.3f}"
                lines.append(f"    {self.place(judged, row)}: {sure}, labelled {right!r}")
                lines.append(f"      {_begun(self.labelled.states[judged.rows[row]])!r}")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready; a measure that has no value is null."""
        body: dict[str, Any] = {"checkpoint": _source(self.source)}
        if self.before is not None:
            body["against"] = _source(self.before.source)
        body["states"] = len(self.labelled.states)
        body["questions"] = {name: self._question(judged) for name, judged in self.judged.items()}
        return body

    def _question(self, judged: Judged) -> dict[str, Any]:
        record = {"labels": len(judged.rows), **_numbers(judged)}
        record["surest_wrong"] = [
            {
                "row": self.place(judged, row),
                **dict(zip(("label", "answer"), judged.said(row), strict=True)),
                "probability": float(judged.confidences[row]),
            }
            for row in judged.surest_wrong()
        ]
        compared = self.compared.get(judged.name)
        if compared is not None:
            record["before"] = _numbers(compared.before)
            record["difference"] = _intervals(compared.gains)
            record["verdict"] = compared.verdict
            record["shown_from"] = compared.shown_from
            record["found_less_often"] = [
                judged.options[int(place)]
                for place, each in zip(np.unique(judged.labels), compared.found, strict=True)
                if each.less
            ]
        return record


def evaluate(
    decider: Decides,
    labelled: LabelledStates,
    progress: Callable[[int, int], None] | None = None,
    before: Evaluation | None = None,
    **how: Unpack[DecideKeywords],
) -> Evaluation:
    """Ask every labelled question. Raises InvalidInputError for a state that cannot be read."""
    try:
        decisions = decider.decide_pairs(labelled.pairs, progress=progress, **how)
    except InvalidInputError as error:
        found = _STATE.fullmatch(error.field)
        number, field = (int(found[1]), found[2]) if found else (0, error.field)
        place = f"{labelled.places[number]}, {field}" if field else labelled.places[number]
        raise InvalidInputError(place, error.message) from None
    hashes = [state_hash(state) for state in labelled.states]
    judged: dict[str, Judged] = {}
    for name in labelled.counts:
        rows = [number for number, right in enumerate(labelled.labels) if name in right]
        judged[name] = Judged(
            name,
            labelled.questions[name],
            rows,
            [hashes[row] for row in rows],
            np.array([list(decisions[row][name].probabilities.values()) for row in rows]),
            np.array([labelled.labels[row][name] for row in rows], dtype=np.intp),
        )
    return Evaluation(labelled, decisions[0].source, judged, before)


def shown(interval: Interval) -> str:
    """An interval in a line of text."""
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _rounded(rows: float) -> int:
    """A number of rows to two digits, never fewer."""
    unit: int = 10 ** max(0, len(str(int(rows))) - 2)
    return math.ceil(rows / unit) * unit


def _begun(state: Text) -> str:
    """The beginning of a state, for a line of a terminal."""
    return display.beginning(render_state(state), _SHOWN_CHARACTERS)


def _source(source: Source) -> dict[str, Any]:
    return {name: getattr(source, name) for name in ("name", "version", "lam", "weights")}


def _numbers(judged: Judged) -> dict[str, Any]:
    return {
        "measures": _intervals(judged.measures),
        "calibration_error": judged.calibration_error,
        "reliability": [asdict(part) for part in judged.reliability],
        "confusion": {"options": judged.options, "counts": judged.confusion.tolist()},
    }


def _intervals(found: Mapping[str, Interval]) -> dict[str, Any]:
    return {
        name: {
            key: None if isinstance(value, float) and math.isnan(value) else value
            for key, value in interval.as_dict().items()
        }
        for name, interval in found.items()
    }
