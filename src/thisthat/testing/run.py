"""Cases against an answerer: which expectations held, and the results as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from thisthat.display import option_told
from thisthat.errors import InvalidInputError
from thisthat.files import write_atomically
from thisthat.testing.answering import Answerer
from thisthat.testing.cases import Case


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """One expectation and what the answer was.

    ``probability`` is that of the expected option, ``best`` the option that was most probable.
    ``names`` are the options as people are told them, where they are known.
    """

    case: str
    question: str
    option: str
    at_least: float
    best: str
    probability: float
    names: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def passed(self) -> bool:
        """The expected option is the best one, and probable enough."""
        return self.best == self.option and self.probability >= self.at_least

    @property
    def reason(self) -> str:
        """What was expected and what came, in words."""
        least = f" with at least {self.at_least:g}" if self.at_least else ""
        return (
            f"expected {self.told(self.option)!r}{least}, which has {self.probability:.3f}; "
            f"the best is {self.told(self.best)!r}"
        )

    def told(self, option: str) -> str:
        """An option for people to read: a score's levels with their texts."""
        return self.names.get(option, option)


@dataclass(frozen=True, slots=True)
class Run:
    """The outcomes of all expectations, in file order, and who answered."""

    label: str
    outcomes: tuple[CaseOutcome, ...]

    @property
    def failed(self) -> tuple[CaseOutcome, ...]:
        """The expectations that did not hold."""
        return tuple(outcome for outcome in self.outcomes if not outcome.passed)


def run_cases(cases: Sequence[Case], answerer: Answerer) -> Run:
    """Ask all cases. Raises what the answerer raises."""
    outcomes: list[CaseOutcome] = []
    for case, answers in zip(cases, answerer.answer(cases), strict=True):
        for wanted in case.expected:
            given = answers[wanted.question]
            best, p = max(given, key=given.__getitem__), given[wanted.option]
            names = {name: option_told(case.questions[wanted.question], name) for name in given}
            outcomes.append(
                CaseOutcome(case.name, **asdict(wanted), best=best, probability=p, names=names)
            )
    return Run(answerer.label, tuple(outcomes))


def run_as_dict(run: Run) -> dict[str, Any]:
    """The run as JSON-ready data; ``read_run`` reads it back."""
    return {
        "label": run.label,
        "failed": len(run.failed),
        "outcomes": [_as_dict(each) for each in run.outcomes],
    }


def _as_dict(outcome: CaseOutcome) -> dict[str, Any]:
    kept = asdict(outcome)
    del kept["names"]
    return {**kept, "passed": outcome.passed}


def write_run(path: Path, run: Run) -> None:
    """Save a run, to compare a later one with."""
    write_atomically(path, json.dumps(run_as_dict(run), ensure_ascii=False, indent=1) + "\n")


def read_run(path: Path) -> Run:
    """A saved run. Raises InvalidInputError for any other file."""
    try:
        body = json.loads(path.read_bytes())
        fields = [{key: each[key] for key in each if key != "passed"} for each in body["outcomes"]]
        return Run(str(body["label"]), tuple(CaseOutcome(**each) for each in fields))
    except OSError as error:
        raise InvalidInputError(str(path), f"cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInputError(str(path), f"is not a saved run: {error!r}") from None
