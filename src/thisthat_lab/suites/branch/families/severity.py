"""Severity by a stated rubric: three to six levels, the highest that applies counts."""

from __future__ import annotations

from thisthat.rng import Rng
from thisthat_lab.suites.base.fields import Domain
from thisthat_lab.suites.branch.machinery.bands import draw_bands
from thisthat_lab.suites.branch.machinery.branches import Branches, draw_branches
from thisthat_lab.suites.branch.machinery.domains import domains
from thisthat_lab.suites.branch.machinery.outcomes import OutcomeWords, outcome_family
from thisthat_lab.suites.branch.machinery.points import draw_points


def draw_rubric(domain: Domain, count: int, clauses: int, rng: Rng) -> Branches:
    """A rubric of free rules, of bands or of points."""
    kind = rng.choice((draw_branches, draw_bands, draw_points))
    return kind(domain, count, clauses, rng)


FAMILY = outcome_family(
    "severity",
    "score",
    domains(
        "patient message",
        "support ticket",
        "service incident",
        "content report",
        "security alert",
        "building inspection",
        "customer complaint",
    ),
    OutcomeWords(
        thing="severity",
        asks=(
            "How severe is {id}?",
            "Which severity level does this {noun} have?",
            "Rate the severity by the rubric.",
            "What level does the rubric give?",
        ),
        names=(
            ("minor", "moderate", "severe"),
            ("low", "medium", "high"),
            ("S4", "S3", "S2", "S1"),
            ("negligible", "low", "elevated", "critical"),
            ("none", "slight", "noticeable", "serious", "extreme"),
            ("grade 0", "grade 1", "grade 2", "grade 3", "grade 4"),
            ("calm", "watch", "caution", "warning", "alarm", "emergency"),
            ("class 1", "class 2", "class 3", "class 4", "class 5", "class 6"),
        ),
        headings=("Rubric", "Severity levels", "Scale", "Grading"),
    ),
    (3, 6),
    draw_rules=draw_rubric,
)
