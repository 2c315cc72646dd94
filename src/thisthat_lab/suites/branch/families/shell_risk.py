"""Shell command risk: which level does a stated scale give to a command?"""

from __future__ import annotations

from thisthat.rng import Rng
from thisthat_lab.suites.base.fields import Domain
from thisthat_lab.suites.branch.machinery.branches import Branches, draw_branches
from thisthat_lab.suites.branch.machinery.outcomes import OutcomeWords, outcome_family
from thisthat_lab.suites.branch.machinery.points import draw_points
from thisthat_lab.suites.branch.machinery.shell_commands import COMMAND, command_page


def draw_scale(domain: Domain, count: int, clauses: int, rng: Rng) -> Branches:
    """A ladder of rules, or points for what the command does."""
    return rng.choice((draw_branches, draw_points))(domain, count, clauses, rng)


FAMILY = outcome_family(
    "shell_risk",
    "score",
    (COMMAND,),
    OutcomeWords(
        thing="risk",
        asks=(
            "How risky is the command?",
            "Which risk level does the last command have?",
            "Rate the proposed command on the scale.",
        ),
        names=(
            ("harmless", "careful", "dangerous"),
            ("level 0", "level 1", "level 2"),
            ("safe", "mild", "risky", "destructive"),
            ("R0", "R1", "R2", "R3"),
            ("none", "low", "medium", "high", "extreme"),
        ),
        headings=("Risk scale", "Scale", "Risk levels"),
    ),
    (3, 5),
    draw_rules=draw_scale,
    page=command_page,
    abstains=False,
)
