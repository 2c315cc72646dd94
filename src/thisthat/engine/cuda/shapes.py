"""Shapes of the layers of a model, as the kernels need them. Plain numbers, no tensors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """Columns of a projected batch: queries (each maybe followed by its gate), keys, values."""

    heads: int
    key_heads: int
    size: int
    rotated: int
    scale: float
    gated: bool
    epsilon: float = 1e-6

    @property
    def query_stride(self) -> int:
        """Columns from one head's queries to the next head's."""
        return self.size * (2 if self.gated else 1)

    @property
    def first_key(self) -> int:
        """The column where keys begin."""
        return self.heads * self.query_stride

    @property
    def first_value(self) -> int:
        """The column where values begin."""
        return self.first_key + self.key_heads * self.size

    @property
    def columns(self) -> int:
        """Columns of the projection."""
        return self.first_value + self.key_heads * self.size


@dataclass(frozen=True, slots=True)
class DeltaShape:
    """Columns of a projected batch: queries, keys, values, output gates, strengths, decays."""

    key_heads: int
    value_heads: int
    key_size: int
    value_size: int
    taps: int
    epsilon: float

    @property
    def first_value(self) -> int:
        """The column where values begin."""
        return 2 * self.key_heads * self.key_size

    @property
    def convolved(self) -> int:
        """Columns that pass through the convolution: queries, keys and values."""
        return self.first_value + self.value_heads * self.value_size

    @property
    def first_strength(self) -> int:
        """The column where the strengths of updates begin, after the output gates."""
        return self.convolved + self.value_heads * self.value_size

    @property
    def first_decay(self) -> int:
        """The column where the decays begin."""
        return self.first_strength + self.value_heads

    @property
    def columns(self) -> int:
        """Columns of the projection."""
        return self.first_decay + self.value_heads
