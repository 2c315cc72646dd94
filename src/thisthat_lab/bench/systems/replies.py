"""What a system says to one question: an option, maybe with a distribution, or no answer and why.

`No answer` and `wrong` are different events; both are counted, neither is ever right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thisthat.errors import InvalidInputError
from thisthat.items.metrics import UNANSWERED


@dataclass(frozen=True, slots=True)
class Reply:
    """One answered or unanswered question.

    ``problem`` says why there is no answer and is None exactly when there is one. ``seconds`` is
    the time the asker waited for this question alone, None when it was answered in a batch.
    """

    chosen: int | None
    probabilities: tuple[float, ...] | None = None
    problem: str | None = None
    seconds: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0

    def __post_init__(self) -> None:
        if (self.chosen is None) != (self.problem is not None):
            raise InvalidInputError("problem", "stands exactly where there is no answer")

    @property
    def choice(self) -> int:
        """The chosen option's index, or UNANSWERED."""
        return UNANSWERED if self.chosen is None else self.chosen

    @property
    def confidence(self) -> float:
        """The probability of the chosen option; -1 where there is none."""
        if self.chosen is None or self.probabilities is None:
            return -1.0
        return self.probabilities[self.chosen]

    def at_temperature(self, temperature: float) -> Reply:
        """The reply with its logits divided by another temperature than 1."""
        if self.probabilities is None:
            return self
        powers = [p ** (1 / temperature) for p in self.probabilities]
        return replace(self, probabilities=tuple(p / sum(powers) for p in powers))

    def as_row(self) -> dict[str, Any]:
        """A short JSON object; what is absent is left out."""
        row: dict[str, Any] = {"c": self.chosen}
        if self.probabilities is not None:
            row["p"] = [round(p, 9) for p in self.probabilities]
        if self.problem is not None:
            row["why"] = self.problem
        if self.seconds is not None:
            row["s"] = round(self.seconds, 6)
        if self.input_tokens or self.output_tokens:
            row["t"] = [self.input_tokens, self.output_tokens]
        return row

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Reply:
        """The reply that ``as_row`` wrote. Raises KeyError, TypeError or ValueError otherwise."""
        if not isinstance(row, Mapping) or not isinstance(row["c"], (int, type(None))):
            raise TypeError("is no reply")
        tokens = row.get("t", (0, 0))
        return cls(
            chosen=row["c"],
            probabilities=tuple(map(float, row["p"])) if "p" in row else None,
            problem=row.get("why"),
            seconds=row.get("s"),
            input_tokens=int(tokens[0]),
            output_tokens=int(tokens[1]),
        )


def from_probabilities(
    probabilities: Sequence[float], seconds: float | None = None, input_tokens: int = 0
) -> Reply:
    """The reply of a system that gives a distribution: the most probable option, first on a tie."""
    best = max(range(len(probabilities)), key=probabilities.__getitem__)
    return Reply(best, tuple(map(float, probabilities)), None, seconds, input_tokens)


def unanswered(problem: str, seconds: float | None = None) -> Reply:
    """No answer, and why."""
    return Reply(None, None, problem, seconds)


def count_problems(replies: Iterable[Reply]) -> dict[str, int]:
    """How many questions went unanswered, by reason, the most frequent first."""
    return dict(Counter(reply.problem for reply in replies if reply.problem).most_common())
