"""Branches by points: the outcome is how many of several conditions hold."""

from __future__ import annotations

from thisthat.rng import Rng
from thisthat_lab.suites.base.clauses import draw_clause
from thisthat_lab.suites.base.fields import Domain
from thisthat_lab.suites.base.rules import Rule
from thisthat_lab.suites.branch.machinery.branches import Branches


def draw_points(domain: Domain, count: int, clauses: int, rng: Rng) -> Branches:
    """Levels reached by one, two, … of ``count - 1`` conditions: all of them is the highest."""
    fields = rng.sample(domain.fields, count - 1)
    conditions = tuple(draw_clause(field, rng) for field in fields)
    return Branches(
        tuple(Rule("at least", conditions, needed) for needed in range(count - 1, 0, -1))
    )
