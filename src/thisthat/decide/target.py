"""What a caller requires of decisions that are acted on: precision, error or cost."""

from __future__ import annotations

import math
import re
from collections.abc import Sized
from dataclasses import dataclass
from typing import Literal, TypeAlias

from thisthat.errors import InvalidInputError

Aim: TypeAlias = Literal["precision", "error", "cost"]

_RATE = re.compile(r"\s*(precision|error)\s*(>=|<=)\s*([0-9.eE+-]+)\s*")
_COST = re.compile(r"\s*cost\s*\(\s*fp\s*=\s*([0-9.eE+-]+)\s*,\s*fn\s*=\s*([0-9.eE+-]+)\s*\)\s*")
_SHAPES = '"precision>=0.98", "error<=0.01" or "cost(fp=50,fn=1)"'


@dataclass(frozen=True, slots=True)
class Target:
    """A target. ``wrong_rate`` is the largest share of wrong answers among those acted on.

    ``precision`` holds for every option by itself, ``error`` for all options together. ``cost``
    prices acting wrongly (``fp``) and not acting where acting was right (``fn``): acting on an
    option pays when at most fn / (fp + fn) of those actions are wrong.
    """

    aim: Aim
    wrong_rate: float
    fp: float | None = None
    fn: float | None = None

    def __str__(self) -> str:
        if self.aim == "precision":
            return f"precision>={1 - self.wrong_rate:.10g}"
        if self.aim == "error":
            return f"error<={self.wrong_rate:.10g}"
        return f"cost(fp={self.fp:.10g},fn={self.fn:.10g})"

    def tighter(self) -> Target | None:
        """The same kind of target with half the wrong answers; a cost has none."""
        return None if self.aim == "cost" else Target(self.aim, self.wrong_rate / 2)

    def acts_whichever_is_best(self, options: Sized, acting: Sized) -> bool:
        """Whether an option is acted on by its own probability even where another is likelier.

        Under a cost that may pay. It takes two options of which one alone is acted on, so that no
        state reaches two cut-offs; neither may be "none of these", which callers see to.
        """
        return self.aim == "cost" and len(options) == 2 and len(acting) == 1


def parse_target(text: str) -> Target:
    """Read a target. Raises InvalidInputError listing the known forms."""
    cost = _COST.fullmatch(text)
    if cost:
        return _cost(_number(cost[1], "target.fp"), _number(cost[2], "target.fn"))
    rate = _RATE.fullmatch(text)
    if not rate or (rate[1] == "precision") != (rate[2] == ">="):
        raise InvalidInputError("target", f"{text!r} is not known; write {_SHAPES}")
    value = _number(rate[3], "target")
    if not 0 < value < 1:
        raise InvalidInputError("target", f"{rate[1]} is {value:g}; it must lie between 0 and 1")
    if rate[1] == "precision":
        # 1 - 0.98 is 0.020000000000000018: the caller means 0.02.
        return Target("precision", round(1 - value, 12))
    return Target("error", value)


def _cost(fp: float, fn: float) -> Target:
    for name, value in (("fp", fp), ("fn", fn)):
        if not (math.isfinite(value) and value > 0):
            raise InvalidInputError(f"target.{name}", f"is {value:g}; it must be more than 0")
    return Target("cost", fn / (fp + fn), fp, fn)


def _number(text: str, field: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(field, f"{text!r} is not a number") from None
