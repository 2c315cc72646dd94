"""What is being tried: a candidate in the shadow of the champion, or on a share of the requests.

Plain data, kept as an event of the registry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

from thisthat.errors import InvalidInputError
from thisthat.loop.canary import CanarySettings

Kind: TypeAlias = Literal["shadow", "canary"]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A candidate ``version`` at λ = ``lam`` against the ``champion``.

    A shadow's answers are recorded and given to nobody; a canary's are given to a ``share`` of the
    units, which grows by ``ramp``: pairs of a share and the number of outcomes from which on it
    holds. ``margin`` and ``alpha`` are those of the tests, ``question`` is the only one whose
    outcomes count, ``slow_ms`` how long an answer may take. Raises InvalidInputError by field.
    """

    name: str
    kind: Kind
    version: str
    champion: str
    lam: float | None = None
    share: float = 0.05
    ramp: tuple[tuple[float, int], ...] = ()
    margin: float = 0.01
    alpha: float = 0.05
    question: str | None = None
    slow_ms: float | None = None
    started: float = 0.0
    ready: bool = False

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InvalidInputError("kind", f"{self.kind!r} is neither shadow nor canary")
        most = 1.0 if self.kind == "shadow" else 0.99
        if not 0 < self.share <= most:
            raise InvalidInputError(
                "share", f"must be above 0 and at most {most:g}, not {self.share:g}"
            )
        if self.lam is not None and not 0 < self.lam <= 1:
            why = f"must be above 0 and at most 1, not {self.lam:g}; 0 is the champion itself"
            raise InvalidInputError("lambda", why)
        steps = [(self.share, 0), *self.ramp]
        for before, after in pairwise(steps):
            if not (before[0] < after[0] <= most and before[1] < after[1]):
                why = f"{after[0]:g}@{after[1]} must be more, later, and at most {most:g}"
                raise InvalidInputError("ramp", why)
        if self.slow_ms is not None and not self.slow_ms > 0:
            raise InvalidInputError("slow_ms", f"must be above 0, not {self.slow_ms:g}")
        _ = self.settings

    @property
    def settings(self) -> CanarySettings:
        """The settings of its tests."""
        return CanarySettings(self.margin, self.alpha)

    @property
    def salt(self) -> str:
        """What makes its choice of units its own."""
        return f"{self.name} {self.started!r}"

    def due(self, outcomes: int) -> float:
        """The share it should have after so many outcomes."""
        return max([self.share, *(share for share, from_ in self.ramp if outcomes >= from_)])

    def ramped(self, share: float) -> Experiment:
        """The same with a larger share and what is left of its ramp."""
        left = tuple(step for step in self.ramp if step[0] > share)
        return replace(self, share=share, ramp=left)

    def as_json(self) -> dict[str, Any]:
        """The settings, for the registry."""
        return asdict(self)


def experiment_from_json(facts: Mapping[str, Any]) -> Experiment:
    """The experiment that an event of the registry describes."""
    ramp = tuple((float(share), int(count)) for share, count in facts["ramp"])
    return Experiment(**{**facts, "ramp": ramp})


def parse_ramp(steps: Sequence[str], field: str) -> tuple[tuple[float, int], ...]:
    """Steps such as 0.2@500: a share, and the number of outcomes from which on it holds."""
    found = []
    for step in steps:
        share, _, count = step.partition("@")
        try:
            found.append((float(share), int(count)))
        except ValueError:
            why = f"{step!r} is not a share and a number of outcomes, such as 0.2@500"
            raise InvalidInputError(field, why) from None
    return tuple(found)
