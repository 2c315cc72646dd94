"""Softmax temperatures of a checkpoint: per question type and option count."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from thisthat.errors import InvalidInputError
from thisthat.questions import Kind


@dataclass(frozen=True, slots=True)
class OptionsRule:
    """T = max(least, a + b ln n) for n options; a single option counts as two."""

    a: float
    b: float
    least: float

    def of(self, options: int) -> float:
        """The temperature for a question with so many options."""
        return max(self.least, self.a + self.b * math.log(max(options, 2)))


@dataclass(frozen=True)
class Temperatures:
    """What logits are divided by: a number per type, else a rule per option count, else a default.

    ``schema_first`` replaces all of it for the schema-first layout. Raises InvalidInputError for
    a temperature that is not a positive number.
    """

    default: float = 1.0
    by_kind: Mapping[Kind, float] = field(default_factory=dict)
    by_options: OptionsRule | None = None
    schema_first: Temperatures | None = None

    def __post_init__(self) -> None:
        values = {"default": self.default, **{f"by_kind.{k}": t for k, t in self.by_kind.items()}}
        if self.by_options is not None:
            values["by_options.least"] = self.by_options.least
        for name, value in values.items():
            if not (math.isfinite(value) and value > 0):
                raise InvalidInputError(
                    f"temperature.{name}", f"is {value}; it must be a positive number"
                )

    def of(self, kind: Kind, options: int, layout: str) -> float:
        """The temperature for one question."""
        if layout == "schema-first" and self.schema_first is not None:
            return self.schema_first.of(kind, options, "state-first")
        if kind in self.by_kind:
            return self.by_kind[kind]
        return self.default if self.by_options is None else self.by_options.of(options)


@dataclass(frozen=True)
class Blended(Temperatures):
    """Temperatures on the way from one set to another: first^(1 - share) * second^share.

    In logarithms it makes no difference whether temperatures or their inverses, the scales of
    logits, are moved, and no share gives a temperature that is not positive.
    """

    first: Temperatures = field(default_factory=Temperatures)
    second: Temperatures = field(default_factory=Temperatures)
    share: float = 1.0

    def of(self, kind: Kind, options: int, layout: str) -> float:
        """The temperature for one question."""
        first = self.first.of(kind, options, layout)
        second = self.second.of(kind, options, layout)
        # Equal ones must stay what they are, to the last bit.
        return first if first == second else first ** (1 - self.share) * second**self.share


def settled(temperatures: Temperatures) -> Temperatures:
    """The same temperatures as numbers that a card can hold.

    Raises InvalidInputError for a blend with a rule by option count, which no rule equals.
    """
    if not isinstance(temperatures, Blended):
        return temperatures
    if any(_by_options(each) for each in (temperatures.first, temperatures.second)):
        raise InvalidInputError(
            "temperatures",
            "depend on the number of options, and λ is not 0 or 1",
        )
    by_layout = (
        Temperatures(by_kind={kind: temperatures.of(kind, 2, layout) for kind in get_args(Kind)})
        for layout in ("state-first", "schema-first")
    )
    state_first, schema_first = by_layout
    return replace(state_first, schema_first=schema_first)


def _by_options(temperatures: Temperatures | None) -> bool:
    if isinstance(temperatures, Blended):
        return _by_options(temperatures.first) or _by_options(temperatures.second)
    return temperatures is not None and (
        temperatures.by_options is not None or _by_options(temperatures.schema_first)
    )


def softmax(logits: NDArray[np.floating], temperature: float = 1.0) -> NDArray[np.float64]:
    """Probabilities in float64 that sum to 1 to the last bit."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    weights = np.exp(scaled - scaled.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)
