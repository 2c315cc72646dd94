"""The conditions under which probabilities were obtained, which a policy must match."""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.decide.option_order import Order
from thisthat.prompt_format import Layout, Packing


@dataclass(frozen=True, slots=True)
class Conditions:
    """Checkpoint, λ and how it is read; ``temperatures`` is a hash of the checkpoint's.

    ``weights`` is a hash of the weights, or None where it is unknown and not compared.
    """

    checkpoint: str
    version: str
    lam: float
    layout: Layout
    packing: Packing
    order: Order
    temperatures: str
    weights: str | None = None

    @property
    def named(self) -> str:
        """All of it on one line."""
        return ", ".join(_short(getattr(self, name)) for name in self.__slots__)

    def differences(self, other: Conditions) -> list[str]:
        """What differs, in words: ``version is 2, not 1`` (this one's value comes second)."""
        names = {"lam": "λ", "weights": "the hash of the weights"}
        return [
            f"{names.get(name, name)} is {_short(theirs)}, not {_short(ours)}"
            for name in self.__slots__
            if (theirs := getattr(other, name)) != (ours := getattr(self, name))
            and not (name == "weights" and None in (theirs, ours))
        ]


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)[:16]
