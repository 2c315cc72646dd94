"""How a decision is to be taken: the settings every asking function shares, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from thisthat.calibrate.order import Order
    from thisthat.calibrate.policy import Policy
    from thisthat.prompt.format import Keep, Layout, Packing


class Ways(TypedDict, total=False):
    """``Way`` as keyword arguments."""

    layout: Layout | None
    packing: Packing
    keep: Keep | None
    order: Order
    policy: Policy | None
    request_id: str | None


@dataclass(frozen=True, slots=True)
class Way:
    """One way to decide.

    ``layout`` puts the state or the questions first (None: as the checkpoint prefers),
    ``packing`` keeps questions from seeing each other ("apart") or not ("together"), ``keep``
    allows a state that is too long to be cut ("head", "tail" or "ends"), ``order`` "average"
    makes the answers to choices independent of the order of their options, ``policy`` puts an
    outcome into the answers it was fitted for, ``request_id`` goes into the decision log.
    """

    layout: Layout | None = None
    packing: Packing = "apart"
    keep: Keep | None = None
    order: Order = "as-given"
    policy: Policy | None = None
    request_id: str | None = None
