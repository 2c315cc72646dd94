"""Order priority: points for stated conditions, or bands of one number, decide the level."""

from __future__ import annotations

from thisthat.rng import Rng
from thisthat_lab.suites.base.fields import Domain
from thisthat_lab.suites.branch.machinery.bands import draw_bands
from thisthat_lab.suites.branch.machinery.branches import Branches
from thisthat_lab.suites.branch.machinery.domains import domains
from thisthat_lab.suites.branch.machinery.outcomes import OutcomeWords, outcome_family
from thisthat_lab.suites.branch.machinery.points import draw_points


def draw_priority(domain: Domain, count: int, clauses: int, rng: Rng) -> Branches:
    """Mostly points, sometimes bands."""
    kind = rng.weighted((draw_points, draw_bands), (2, 1))
    return kind(domain, count, clauses, rng)


FAMILY = outcome_family(
    "order_priority",
    "score",
    domains(
        "customer order",
        "purchase requisition",
        "loan application",
        "job application",
        "grant proposal",
        "equipment rental",
    ),
    OutcomeWords(
        thing="priority",
        asks=(
            "What priority does {id} get?",
            "How urgent is this {noun} by the scheme?",
            "Which priority level is right?",
            "Where does this {noun} stand in the queue?",
        ),
        names=(
            ("later", "soon", "now"),
            ("back of the queue", "middle", "front"),
            ("P4", "P3", "P2", "P1"),
            ("low", "normal", "high", "urgent"),
            ("0 points", "1 point", "2 points", "3 points", "4 points"),
            ("lowest", "low", "medium", "high", "highest"),
        ),
        headings=("Priority scheme", "Scoring", "Queue rules", "Ranking"),
    ),
    (3, 5),
    draw_rules=draw_priority,
)
