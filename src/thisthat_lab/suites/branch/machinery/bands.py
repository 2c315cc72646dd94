"""Branches by bands: one number cut into ranges, by itself or after a first exception."""

from __future__ import annotations

from thisthat.rng import Rng
from thisthat_lab.suites.base.clauses import Clause, Compares, draw_clause
from thisthat_lab.suites.base.fields import Domain, Number
from thisthat_lab.suites.base.rules import Rule
from thisthat_lab.suites.branch.machinery.branches import Branches


def draw_bands(domain: Domain, count: int, clauses: int, rng: Rng) -> Branches:
    """``count`` ranges of one numeric field, rising or falling.

    With more than one clause allowed, some ranges ask for a second condition too, or the first
    branch is an exception that has nothing to do with the number.
    """
    field = rng.choice([f for f in domain.fields if isinstance(f, Number) and _roomy(f, count)])
    others = [one for one in domain.fields if one.key != field.key]
    upward = rng.chance(0.5)
    exception = clauses > 1 and count > 2 and rng.chance(0.4)
    cuts = _cuts(field, count - 1 - exception, rng)
    sign = rng.choice((">=", ">") if upward else ("<=", "<"))
    rules: list[Rule] = []
    if exception:
        rules.append(Rule("all", (draw_clause(rng.choice(others), rng),)))
    for cut in sorted(cuts, reverse=upward):
        extra: list[Clause] = []
        if clauses > 1 and not exception and rng.chance(0.35):
            extra = [draw_clause(rng.choice(others), rng)]
        rules.append(Rule("all", (Compares(field, sign, cut), *extra)))
    return Branches(tuple(rules))


def _roomy(field: Number, count: int) -> bool:
    return (field.high - field.low) * 10.0**field.decimals >= 6 * count


def _cuts(field: Number, count: int, rng: Rng) -> list[int | float]:
    """Different limits inside the range, on a scale of their own."""
    span = field.high - field.low
    width = span * rng.choice((0.15, 0.3, 0.6, 0.9))
    start = field.low + (span - width) * rng.uniform() + span * 0.03
    cuts: set[int | float] = set()
    while len(cuts) < count:
        cuts.add(field.tidy(start + width * rng.uniform()))
        width += span * 0.01
    return sorted(cuts)
