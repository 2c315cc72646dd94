"""What a layer does to a packed batch besides matrix products.

Padding tokens at the end of a batch hold no meaning; nothing reads them. The tests have the same in
plain torch, which defines what the fused kernels must give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import torch
from torch import Tensor

from thisthat.engine.cuda.packed_batch import Tables
from thisthat.engine.cuda.shapes import AttentionShape, DeltaShape


@dataclass(frozen=True, slots=True)
class KeptStates:
    """What a recurrent layer keeps of prefixes, at fixed addresses.

    ``states`` are float32 [states, heads, key size, value size]; ``history`` [states, taps - 1,
    columns] is what the last tokens of a prefix give to the convolution, the last one first.
    """

    states: Tensor
    history: Tensor


DeviceTables: TypeAlias = Tables[Tensor]
"""The tables of a packed batch where the model is."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """Rows of eight-bit floats, FLOAT8 [rows, columns], each times its scale [rows].

    ``form`` is the numeric form of what was rounded, and of products.
    """

    values: Tensor
    scales: Tensor
    form: torch.dtype


FLOAT8 = torch.float8_e4m3fn
LARGEST_FLOAT8 = 448.0
"""What the largest number of a rounded row becomes: the largest there is."""

Angles = tuple[Tensor, Tensor]
"""Cosines and sines [tokens, rotated pairs] of the positions, float32."""


class Ops(Protocol):
    """Batches are [tokens, columns]; norm weights are float32.

    ``prefix_kv`` is [2, places, key columns]: the rotated keys and the values of a layer's kept
    tokens.
    """

    def norm(self, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        """Each token divided by its root mean square and weighted."""

    def product(self, x: Tensor, weight: Tensor) -> Tensor:
        """x times the transposed weight, in float32, a token's the same whatever others there are.

        The weight is float32, with values that the numeric form of ``x`` holds exactly.
        """

    def gated_product(self, x: Tensor) -> Tensor:
        """Silu of the first half of the columns times the second half."""

    def rounded(self, x: Tensor) -> Rounded:
        """Every row in eight-bit floats."""

    def rounded_norm(
        self, x: Tensor, added: Tensor | None, weight: Tensor, epsilon: float
    ) -> Rounded:
        """``norm`` of x + added, rounded; ``x`` is that sum afterwards."""

    def rounded_gate(self, x: Tensor) -> Rounded:
        """``gated_product``, rounded."""

    def rounded_product(self, x: Rounded, weight: Rounded) -> Tensor:
        """x times the transposed weight."""

    def rope(
        self,
        projected: Tensor,
        shape: AttentionShape,
        angles: Angles,
        weights: Tensor | None,
        tables: DeviceTables,
        prefix_kv: Tensor | None,
    ) -> Tensor:
        """Queries and keys [tokens, heads, size]; ``weights`` [2, size] norm them first.

        Keys and values of tokens that have a place in the prefix slots are written there.
        """

    def attend(
        self,
        heads: Tensor,
        projected: Tensor,
        shape: AttentionShape,
        tables: DeviceTables,
        prefix_kv: Tensor | None,
    ) -> Tensor:
        """Attention along each token's path, with what is kept; gated where the shape says so."""

    def delta(
        self,
        projected: Tensor,
        shape: DeltaShape,
        taps: Tensor,
        log_decay: Tensor,
        decay_bias: Tensor,
        tables: DeviceTables,
        kept: KeptStates | None,
    ) -> Tensor:
        """The gated delta rule along each token's path, after its convolution.

        Paths may start with a kept state, and the last state of a leaf may be kept.
        """

    def gated_norm(self, x: Tensor, projected: Tensor, shape: DeltaShape, weight: Tensor) -> Tensor:
        """Each head normed, weighted and multiplied by silu of its output gate."""
