"""How the branches of an outcome family are drawn, by the name its file gives."""

from __future__ import annotations

from collections.abc import Mapping

from thisthat.rng import Rng
from thisthat_lab.suites.base.fields import Domain
from thisthat_lab.suites.branch.machinery.bands import draw_bands
from thisthat_lab.suites.branch.machinery.branches import Branches, draw_branches
from thisthat_lab.suites.branch.machinery.outcomes import DrawBranches
from thisthat_lab.suites.branch.machinery.points import draw_points


def _one_of(*ways: DrawBranches) -> DrawBranches:
    def draw(domain: Domain, count: int, clauses: int, rng: Rng) -> Branches:
        return rng.choice(ways)(domain, count, clauses, rng)

    return draw


def _mostly_points(domain: Domain, count: int, clauses: int, rng: Rng) -> Branches:
    draw = rng.weighted((draw_points, draw_bands), (2, 1))
    return draw(domain, count, clauses, rng)


RULE_SETS: Mapping[str, DrawBranches] = {
    "branches": draw_branches,
    "bands": draw_bands,
    "branches, bands or points": _one_of(draw_branches, draw_bands, draw_points),
    "branches or points": _one_of(draw_branches, draw_points),
    "mostly points": _mostly_points,
}
