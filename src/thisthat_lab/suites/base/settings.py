"""What a branch item or a stream of them looks like: difficulty, abstain options, twins."""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.errors import InvalidInputError
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import Difficulty, check_ranges

MOST_CLAUSES = 4


@dataclass(frozen=True)
class Setting(Difficulty):
    """The difficulty of one item; ``abstain`` asks for an option that says "cannot tell".

    With ``abstain`` the option is right for some items (a deciding fact is missing) and wrong
    for the others. Families without such variants take the rest and leave it out.
    """

    abstain: bool = False


@dataclass(frozen=True)
class BranchSettings:
    """What a stream of items looks like.

    ``difficulty`` fixes the knob; None draws a mix of everything. ``abstain`` is the share of
    items that offer an abstain option; ``twins`` the share that is followed by a twin: the same
    state under a changed rule, or one fact moved across the boundary. Items whose state shows a
    record are followed by up to ``drills`` short questions about it, for training.
    """

    difficulty: Difficulty | None = None
    abstain: float = 0.15
    twins: float = 0.3
    drills: int = 0

    def __post_init__(self) -> None:
        if self.drills < 0:
            raise InvalidInputError("drills", f"is {self.drills}; at least 0")
        check_ranges(self, abstain=(0, 1), twins=(0, 1))

    def draw(self, rng: Rng) -> Setting:
        """The setting of the next item."""
        drawn = self.difficulty or mixed(rng)
        abstain = rng.chance(self.abstain)
        return Setting(drawn.clauses, drawn.distractors, drawn.length, abstain)


def mixed(rng: Rng) -> Difficulty:
    """A difficulty from the usual mix: mostly two or three clauses and short states."""
    clauses = rng.weighted((1, 2, 3, 4), (2, 4, 3, 2))
    distractors = rng.weighted((0, 2, 4, 7, 12), (2, 4, 4, 2, 1))
    length = rng.weighted((0, 3, 8, 20, 60), (40, 30, 18, 9, 3))
    return Difficulty(clauses, distractors, length)
