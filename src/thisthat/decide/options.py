"""How a decision is to be taken: the settings every asking function shares, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from thisthat.errors import InvalidInputError

if TYPE_CHECKING:
    from thisthat.calibrate.policy import Policy
    from thisthat.decide.option_order import Order
    from thisthat.prompt.format import Keep, Layout, Packing

Wide: TypeAlias = Literal["at-once", "in-rounds"]


class DecideKeywords(TypedDict, total=False):
    """``DecideOptions`` as keyword arguments."""

    layout: Layout | None
    packing: Packing
    keep: Keep | None
    order: Order
    wide: Wide
    policy: Policy | None
    request_id: str | None


@dataclass(frozen=True, slots=True)
class DecideOptions:
    """One way to decide.

    ``layout`` puts the state or the questions first (None: as the checkpoint prefers),
    ``packing`` keeps questions from seeing each other ("apart") or not ("together"), ``keep``
    allows a state that is too long to be cut ("head", "tail" or "ends"), ``order`` "average"
    makes the answers to choices independent of the order of their options, ``wide`` "in-rounds"
    asks choices of more than 32 options in small groups and then among the winners, ``policy`` puts
    an outcome into the answers it was fitted for, ``request_id`` goes into the decision log.
    Raises InvalidInputError for settings that exclude each other.
    """

    layout: Layout | None = None
    packing: Packing = "apart"
    keep: Keep | None = None
    order: Order = "as-given"
    policy: Policy | None = None
    request_id: str | None = None
    wide: Wide = "at-once"

    def __post_init__(self) -> None:
        if self.policy is not None:
            _check_policy(self.policy)
        if self.wide not in ("at-once", "in-rounds"):
            raise InvalidInputError("wide", f"{self.wide!r} is neither at-once nor in-rounds")
        if self.order == "average" and self.packing != "apart":
            raise InvalidInputError(
                "order",
                f'"average" needs packing "apart", not {self.packing!r}: orders are branches',
            )
        if self.wide == "at-once":
            return
        if self.packing != "apart":
            raise InvalidInputError(
                "wide", f'"in-rounds" needs packing "apart", not {self.packing!r}'
            )
        if self.policy is not None:
            raise InvalidInputError(
                "wide", '"in-rounds" gives probabilities that no policy was fitted for'
            )


def _check_policy(given: object) -> None:
    from thisthat.calibrate.policy import Policy

    if not isinstance(given, Policy):
        raise InvalidInputError(
            "policy",
            f"must be a Policy, not {type(given).__name__}; Policy.load(path) reads a file",
        )
