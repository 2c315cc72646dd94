"""A file of cases and an answerer whose answers are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thisthat.testing.cases import Case

FILE: dict[str, Any] = {
    "questions": {
        "refund": "Does the customer want money back?",
        "queue": {"type": "choice", "criteria": ["billing", "shipping"], "abstain": True},
        "anger": {"type": "score", "criteria": ["calm", "annoyed", "furious"]},
    },
    "cases": [
        {
            "name": "charged twice",
            "state": "You charged me twice.",
            "expect": {"refund": {"option": "yes", "at_least": 0.8}, "queue": "billing"},
        },
        {"state": {"parcel": "lost"}, "expect": {"queue": "shipping", "anger": 1}},
    ],
}


class FixedAnswerer:
    """Gives the same distributions to every case."""

    label = "fixed"

    def __init__(self, **answers: Mapping[str, float]) -> None:
        self._answers = answers

    def answer(self, cases: Sequence[Case]) -> list[dict[str, Mapping[str, float]]]:
        return [{name: self._answers[name] for name in case.questions} for case in cases]


def fixed(yes: float = 0.9, billing: float = 0.7) -> FixedAnswerer:
    return FixedAnswerer(
        refund={"no": 1 - yes, "yes": yes},
        queue={"billing": billing, "shipping": 0.95 - billing, "none of these": 0.05},
        anger={"0": 0.2, "1": 0.7, "2": 0.1},
    )
