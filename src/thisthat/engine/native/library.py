"""Compiled kernels: their variant, and how they want weights to be packed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Variant: TypeAlias = Literal["amx", "vnni", "neon", "plain"]
Order: TypeAlias = Literal["by fours", "by ones"]
"""How weights are packed: four inputs of an output together, for dot products of bytes, or one."""


@dataclass(frozen=True, slots=True)
class Library:
    """Compiled kernels and what they are made of."""

    path: Path
    variant: Variant

    @property
    def multiplies_bytes(self) -> bool:
        """Whether activations become bytes; else weights become float32 as they are read."""
        return self.variant != "plain"

    @property
    def order(self) -> Order:
        """How these kernels want weights to be packed."""
        return "by fours" if self.multiplies_bytes else "by ones"

    @property
    def doubling_costs(self) -> bool:
        """Whether a second term of activations makes a pass much longer."""
        return self.variant in ("vnni", "neon")
