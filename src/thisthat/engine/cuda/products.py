"""The matrix products of a layer, in the model's own numeric form or in eight-bit floats.

A form decides what a product takes: ``Own`` takes tensors as they are, ``Float8`` takes rows of
eight-bit floats with a scale each, which norms and gates write themselves; only what attention
gives is rounded in a walk over memory of its own.
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor
from torch.nn import functional

from thisthat.engine.cuda.ops import Ops, Rounded


class Products(Protocol):
    """What stands between a layer's operations and its matrices.

    Operands and matrices are whatever the form makes of them; nobody else looks inside.
    """

    @property
    def float8(self) -> bool:
        """Whether products are of eight-bit floats."""

    def matrix(self, weight: Tensor) -> Any:
        """A weight [outputs, inputs], as this form multiplies by it."""

    def operand(self, x: Tensor) -> Any:
        """Tokens as an operand."""

    def normed(self, hidden: Tensor, pending: Tensor | None, weight: Tensor, epsilon: float) -> Any:
        """The norm of hidden + pending as an operand; ``hidden`` is that sum afterwards."""

    def gated(self, both: Tensor) -> Any:
        """Silu of the first half of the columns times the second half, as an operand."""

    def times(self, operand: Any, matrix: Any, bias: Tensor | None = None) -> Tensor:
        """The operand times the transposed weight, plus the bias."""

    def add(self, operand: Any, matrix: Any, hidden: Tensor) -> Tensor | None:
        """Add a product to ``hidden``, or give what the next norm has to add to it."""


class Own:
    """Products of tensors as they are; sums go into the residual as they end."""

    float8 = False

    def __init__(self, ops: Ops) -> None:
        self._ops = ops

    def matrix(self, weight: Tensor) -> Tensor:
        """See Products."""
        return weight

    def operand(self, x: Tensor) -> Tensor:
        """See Products."""
        return x

    def normed(
        self, hidden: Tensor, pending: Tensor | None, weight: Tensor, epsilon: float
    ) -> Tensor:
        """See Products."""
        return self._ops.norm(hidden, weight, epsilon)

    def gated(self, both: Tensor) -> Tensor:
        """See Products."""
        return self._ops.gated_product(both)

    def times(self, operand: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
        """See Products."""
        return functional.linear(operand, matrix, bias)

    def add(self, operand: Tensor, matrix: Tensor, hidden: Tensor) -> None:
        """See Products. In place: the sum would first copy what it is added to."""
        hidden.addmm_(operand, matrix.t())


class Float8:
    """Products of eight-bit floats (e4m3) with a scale per token and per output.

    What they give, the residual and attention stay in the model's own form.
    """

    float8 = True

    def __init__(self, ops: Ops) -> None:
        self._ops = ops

    def matrix(self, weight: Tensor) -> Rounded:
        """See Products."""
        return self._ops.rounded(weight)

    def operand(self, x: Tensor) -> Rounded:
        """See Products."""
        return self._ops.rounded(x)

    def normed(
        self, hidden: Tensor, pending: Tensor | None, weight: Tensor, epsilon: float
    ) -> Rounded:
        """See Products."""
        return self._ops.rounded_norm(hidden, pending, weight, epsilon)

    def gated(self, both: Tensor) -> Rounded:
        """See Products."""
        return self._ops.rounded_gate(both)

    def times(self, operand: Rounded, matrix: Rounded, bias: Tensor | None = None) -> Tensor:
        """See Products."""
        product = self._ops.rounded_product(operand, matrix)
        return product if bias is None else product.add_(bias)

    def add(self, operand: Rounded, matrix: Rounded, hidden: Tensor) -> Tensor:
        """See Products. Products of eight-bit floats cannot add to what is there."""
        return self._ops.rounded_product(operand, matrix)
