"""Single conditions on a record: each has a truth, a wording, a denial, and values for both.

Truth is three-valued: None when the record lacks the fact. A clause can propose values that
make it true or false, near its boundary more often than far from it, which is how records are
drawn and how twins are made.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.fields import Day, Field, Flag, Number, Pick, Record, Tags, Value
from thisthat_lab.suites.base.wording import show_date
from thisthat_lab.tables import Tables

COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
_TABLES = Tables(__file__)
_NUMBER_WORDS = _TABLES.groups("number_words")
_DAY_WORDS = _TABLES.groups("day_words")
_SIDES = _TABLES.groups("sides")


@dataclass(frozen=True)
class Clause:
    """One condition on one field of a record."""

    field: Field

    def truth(self, record: Record) -> bool | None:
        """Whether the record meets it; None when the fact is missing."""
        value = record.get(self.field.key)
        return None if value is None else self.holds(value)

    def holds(self, value: Any) -> bool:
        """Whether a known value meets it."""
        raise NotImplementedError

    def denied(self) -> Clause:
        """The clause that holds exactly when this one does not."""
        raise NotImplementedError

    def say(self, rng: Rng) -> str:
        """The condition in words, to stand after "if"."""
        raise NotImplementedError

    def plain(self) -> dict[str, Any]:
        """The condition as JSON."""
        raise NotImplementedError

    def value(self, truth: bool, rng: Rng) -> Value:
        """A value that makes the clause true or false."""
        raise NotImplementedError

    def shifted(self, value: Any, rng: Rng) -> Clause | None:
        """A changed clause of the same kind with the other truth for ``value``, or None."""
        return self.denied()


@dataclass(frozen=True)
class Compares(Clause):
    """A number or a date against a limit."""

    sign: str
    limit: Any

    def holds(self, value: Any) -> bool:
        """Compare."""
        return bool(COMPARE[self.sign](value, self.limit))

    def denied(self) -> Clause:
        """The opposite comparison with the same limit."""
        return replace(self, sign=OPPOSITE[self.sign])

    def say(self, rng: Rng) -> str:
        """``the order total is at least $50`` and its like."""
        label = self.field.label
        if isinstance(self.limit, date):
            words = rng.choice(_DAY_WORDS[self.sign]).format(x=show_date(self.limit, rng))
        else:
            words = rng.choice(_NUMBER_WORDS[self.sign]).format(x=self.field.show(self.limit, rng))
        forms = [f"the {label} is {words}", f"{label} is {words}"]
        if isinstance(self.limit, date) and not words.endswith(("later", "earlier")):
            forms.append(f"the {label} falls {words}")
        return rng.choice(forms)

    def plain(self) -> dict[str, Any]:
        """Field, sign and limit."""
        return {"field": self.field.key, "op": self.sign, "value": self.field.plain(self.limit)}

    def value(self, truth: bool, rng: Rng) -> Value:
        """At the limit, near it or far from it, on the wanted side."""
        upward = (self.sign[0] == ">") == truth
        inclusive = ("=" in self.sign) == truth
        if isinstance(self.limit, date):
            gap = rng.weighted((0, 1, rng.integer(2, 9), rng.integer(10, 200)), (2, 2, 4, 4))
            gap = max(gap, 0 if inclusive else 1)
            return self.limit + timedelta(days=gap if upward else -gap)
        assert isinstance(self.field, Number)
        unit = 10.0**-self.field.decimals
        span = max(self.field.high - self.field.low, unit)
        near = rng.weighted((0.0, unit, 0.05 * span, 0.4 * span), (2, 2, 4, 4))
        gap_size = near if near <= unit else near * (0.2 + 0.8 * rng.uniform())
        limit = float(self.limit)
        drawn = self.field.tidy(limit + gap_size if upward else limit - gap_size)
        if self.holds(drawn) != truth:
            drawn = self.field.tidy(limit + unit if upward else limit - unit)
        return drawn

    def shifted(self, value: Any, rng: Rng) -> Clause | None:
        """The same comparison with its limit moved past the value."""
        wanted = not self.holds(value)
        if isinstance(value, date):
            step: Any = timedelta(days=rng.integer(1, 40))
        else:
            assert isinstance(self.field, Number)
            span = (self.field.high - self.field.low) * 0.15
            step = max(self.field.tidy(span * rng.uniform()), 10**-self.field.decimals)
        upward = (self.sign[0] == "<") == wanted
        limit = value + step if upward else value - step
        if not isinstance(value, date):
            assert isinstance(self.field, Number)
            limit = self.field.tidy(limit)
        moved = replace(self, limit=limit)
        return moved if moved.holds(value) == wanted else self.denied()


@dataclass(frozen=True)
class Between(Clause):
    """A number inside (or outside) a closed range."""

    low: Any
    high: Any
    inside: bool

    def holds(self, value: Any) -> bool:
        """Compare with both ends."""
        return bool(self.low <= value <= self.high) == self.inside

    def denied(self) -> Clause:
        """Outside for inside."""
        return replace(self, inside=not self.inside)

    def say(self, rng: Rng) -> str:
        """``the weight is between 3 kg and 8 kg (inclusive)``."""
        low, high = self.field.show(self.low, rng), self.field.show(self.high, rng)
        ways = _SIDES["between" if self.inside else "not between"]
        return rng.choice(ways).format(label=self.field.label, low=low, high=high)

    def plain(self) -> dict[str, Any]:
        """Field, word and both ends."""
        word = "between" if self.inside else "not between"
        return {"field": self.field.key, "op": word, "value": [self.low, self.high]}

    def value(self, truth: bool, rng: Rng) -> Value:
        """Inside, or beyond one of the ends."""
        if truth == self.inside:
            return _tidy(self.field, self.low + (self.high - self.low) * rng.uniform())
        beyond = Compares(self.field, rng.choice(("<", ">")), self.low)
        if beyond.sign == ">":
            beyond = replace(beyond, limit=self.high)
        drawn = beyond.value(True, rng)
        return (
            drawn
            if self.holds(drawn) == truth
            else Compares(self.field, ">", self.high).value(True, rng)
        )


@dataclass(frozen=True)
class Among(Clause):
    """A picked value that is (or is not) one of a few."""

    values: tuple[str, ...]
    inside: bool

    def holds(self, value: Any) -> bool:
        """Membership."""
        return (value in self.values) == self.inside

    def denied(self) -> Clause:
        """Not among for among."""
        return replace(self, inside=not self.inside)

    def say(self, rng: Rng) -> str:
        """``the region is one of (north, east)``, ``the region is anything but west``."""
        several = len(self.values) > 1
        listed = f"one of ({', '.join(self.values)})" if several else self.values[0]
        ways = _SIDES["in" if self.inside else "not in"]
        return rng.choice(ways).format(label=self.field.label, listed=listed)

    def plain(self) -> dict[str, Any]:
        """Field, word and values."""
        word = "in" if self.inside else "not in"
        return {"field": self.field.key, "op": word, "value": list(self.values)}

    def value(self, truth: bool, rng: Rng) -> Value:
        """One of the values, or one of the others."""
        assert isinstance(self.field, Pick)
        if truth == self.inside:
            return rng.choice(self.values)
        return rng.choice([value for value in self.field.values if value not in self.values])

    def shifted(self, value: Any, rng: Rng) -> Clause | None:
        """The same words with other values."""
        assert isinstance(self.field, Pick)
        others = [name for name in self.field.values if name != value and name not in self.values]
        if value not in self.values:
            kept = list(self.values)
            kept[rng.below(len(kept))] = value
            return replace(self, values=tuple(kept))
        kept = [name for name in self.values if name != value]
        if others:
            kept.append(rng.choice(others))
        return replace(self, values=tuple(kept)) if kept else self.denied()


@dataclass(frozen=True)
class Is(Clause):
    """A flag that must be up, or down."""

    wanted: bool

    def holds(self, value: Any) -> bool:
        """Compare."""
        return bool(value) == self.wanted

    def denied(self) -> Clause:
        """The other way round."""
        return replace(self, wanted=not self.wanted)

    def say(self, rng: Rng) -> str:
        """The field's statement or its denial."""
        assert isinstance(self.field, Flag)
        return self.field.label if self.wanted else self.field.denial

    def plain(self) -> dict[str, Any]:
        """Field and value."""
        return {"field": self.field.key, "op": "==", "value": self.wanted}

    def value(self, truth: bool, rng: Rng) -> Value:
        """Up or down."""
        return self.wanted == truth


@dataclass(frozen=True)
class Lists(Clause):
    """A tag list that names (or does not name) one thing."""

    tag: str
    inside: bool

    def holds(self, value: Any) -> bool:
        """Membership."""
        return (self.tag in value) == self.inside

    def denied(self) -> Clause:
        """Missing for listed."""
        return replace(self, inside=not self.inside)

    def say(self, rng: Rng) -> str:
        """``the attachments include an invoice``."""
        ways = _SIDES["contains" if self.inside else "lacks"]
        return rng.choice(ways).format(label=self.field.label, tag=self.tag)

    def plain(self) -> dict[str, Any]:
        """Field, word and tag."""
        word = "contains" if self.inside else "lacks"
        return {"field": self.field.key, "op": word, "value": self.tag}

    def value(self, truth: bool, rng: Rng) -> Value:
        """A list with or without the tag, of about the same length."""
        assert isinstance(self.field, Tags)
        others = [tag for tag in self.field.values if tag != self.tag]
        with_tag = truth == self.inside
        chosen = rng.sample(others, rng.integer(0, 2) if with_tag else rng.integer(1, 3))
        return tuple(rng.shuffled([*chosen, self.tag])) if with_tag else tuple(chosen)

    def shifted(self, value: Any, rng: Rng) -> Clause | None:
        """The same words about another tag."""
        assert isinstance(self.field, Tags)
        listed = self.tag in value
        others = [tag for tag in self.field.values if (tag in value) != listed]
        return replace(self, tag=rng.choice(others)) if others else None


def draw_clause(field: Field, rng: Rng) -> Clause:
    """A condition on the field with a limit, polarity and form of its own."""
    if isinstance(field, Number):
        if rng.chance(0.15):
            edges = sorted(_tidy(field, _inner(field, rng)) for _ in range(2))
            if edges[0] < edges[1]:
                return Between(field, edges[0], edges[1], rng.chance(0.5))
        return Compares(field, rng.choice(tuple(COMPARE)), _round(field, _inner(field, rng)))
    if isinstance(field, Day):
        return Compares(field, rng.choice(tuple(COMPARE)), field.draw(rng))
    if isinstance(field, Flag):
        return Is(field, rng.chance(0.5))
    if isinstance(field, Pick):
        most = max(1, min(3, len(field.values) - 2))
        return Among(field, tuple(rng.sample(field.values, rng.integer(1, most))), rng.chance(0.5))
    assert isinstance(field, Tags)
    return Lists(field, rng.choice(field.values), rng.chance(0.5))


def _inner(field: Number, rng: Rng) -> float:
    return field.low + (field.high - field.low) * (0.12 + 0.76 * rng.uniform())


def _tidy(field: Field, value: float) -> int | float:
    assert isinstance(field, Number)
    return field.tidy(value)


def _round(field: Number, value: float) -> int | float:
    """A limit people would set, mostly a round number, never the lowest value of the field."""
    for least, step in ((1000, 50), (100, 10), (20, 5)):
        if value >= least:
            value = round(value / step) * step
            break
    return max(field.tidy(value), field.tidy(field.low + 10**-field.decimals))
