"""The element-wise parts of a decoder layer as differentiable operations.

What each keeps for its backward pass is the same everywhere; the arithmetic is done by Triton
kernels on CUDA and by plain torch elsewhere.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, cast

import torch
from torch import Tensor
from torch.autograd import Function

from thisthat_lab.train.kernels import plain_ops


class LayerOps(Protocol):
    """The arithmetic, forward and back. All tensors are tokens x numbers unless said otherwise.

    ``cos`` and ``sin`` are length x width, the two halves of their width the same; tokens stand in
    rows of that length, and rotated tensors are rows x length x heads x width.
    """

    def norm(
        self, hidden: Tensor, added: Tensor | None, weight: Tensor, epsilon: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The RMS norm of hidden + added, that sum, and each token's reciprocal RMS."""

    def norm_back(
        self, total: Tensor, weight: Tensor, scales: Tensor, d_normed: Tensor, d_total: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The gradients of the summands, which are the same, and of the weight."""

    def rope(
        self, joined: Tensor, cos: Tensor, sin: Tensor, heads: int, key_heads: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys rotated to their positions, and values."""

    def rope_back(
        self, d_query: Tensor, d_key: Tensor, d_value: Tensor, cos: Tensor, sin: Tensor
    ) -> Tensor:
        """The gradient of ``joined``; the three may have any strides."""

    def gate(self, both: Tensor) -> Tensor:
        """silu(first half) * second half."""

    def gate_back(self, both: Tensor, d_out: Tensor) -> Tensor:
        """The gradient of ``both``."""

    def round_rows(self, x: Tensor) -> Tensor:
        """Every row in whole multiples of its largest number / 127."""


_PROVEN = (9, 0)


@cache
def why_not_proven(device: torch.device) -> str | None:
    """Why a device is not of the kind that kernels with matrix products were tried on, or None.

    Others might do for some shapes; which, nobody has measured.
    """
    if device.type != "cuda":
        return f"needs CUDA, not {device}"
    if find_spec("triton") is None:
        return "needs Triton, which is not installed"
    capability = torch.cuda.get_device_capability(device)
    if capability != _PROVEN:
        return f"is for capability 9.0; {device} has {capability[0]}.{capability[1]}"
    return None


@cache
def _fused() -> LayerOps | None:
    """The kernels, where Triton is installed."""
    if find_spec("triton") is None:
        return None
    return cast(LayerOps, import_module("thisthat_lab.train.kernels.fused_launches"))


def _ops(tensor: Tensor) -> LayerOps:
    return (_fused() if tensor.is_cuda else None) or plain_ops


def added_norm(
    hidden: Tensor, added: Tensor | None, weight: Tensor, epsilon: float
) -> tuple[Tensor, Tensor]:
    """The RMS norm of hidden + added, and that sum, which goes on past the norm.

    One operation, so that the gradients of both results meet in one pass.
    """
    made = _AddedNorm.apply(hidden, added, weight, epsilon)  # type: ignore[no-untyped-call]
    return cast("tuple[Tensor, Tensor]", made)


def roped(
    joined: Tensor, cos: Tensor, sin: Tensor, heads: int, key_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, rows x length x heads x width, out of one product.

    Queries and keys are rotated by the angles, of which there is one per place in a row. Three
    results and not views of one: autograd would fill each view's gradient up with zeros.
    """
    made = _Roped.apply(joined, cos, sin, heads, key_heads)  # type: ignore[no-untyped-call]
    return cast("tuple[Tensor, Tensor, Tensor]", made)


def gated(both: Tensor) -> Tensor:
    """silu(first half) * second half."""
    return cast(Tensor, _Gated.apply(both))  # type: ignore[no-untyped-call]


def rounded(rows: Tensor) -> Tensor:
    """Every row in whole multiples of its largest number / 127; gradients pass as if it were not.

    The grid of the int8 runtime form: a scale per token for activations, per output for weights.
    """
    return cast(Tensor, _Rounded.apply(rows))  # type: ignore[no-untyped-call]


class _AddedNorm(Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, added: Tensor | None, weight: Tensor, epsilon: float
    ) -> tuple[Tensor, Tensor]:
        normed, total, scales = _ops(hidden).norm(hidden, added, weight, epsilon)
        ctx.save_for_backward(total, weight, scales)
        ctx.adds = added is not None
        return normed, total

    @staticmethod
    def backward(ctx: Any, d_normed: Tensor, d_total: Tensor) -> tuple[Tensor | None, ...]:
        total, weight, scales = ctx.saved_tensors
        d_hidden, d_weight = _ops(total).norm_back(total, weight, scales, d_normed, d_total)
        return d_hidden, d_hidden if ctx.adds else None, d_weight, None


class _Roped(Function):
    @staticmethod
    def forward(
        ctx: Any, joined: Tensor, cos: Tensor, sin: Tensor, heads: int, key_heads: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        ctx.save_for_backward(cos, sin)
        return _ops(joined).rope(joined, cos, sin, heads, key_heads)

    @staticmethod
    def backward(
        ctx: Any, d_query: Tensor, d_key: Tensor, d_value: Tensor
    ) -> tuple[Tensor | None, ...]:
        cos, sin = ctx.saved_tensors
        d_joined = _ops(d_query).rope_back(d_query, d_key, d_value, cos, sin)
        return d_joined, None, None, None, None


class _Gated(Function):
    @staticmethod
    def forward(ctx: Any, both: Tensor) -> Tensor:
        ctx.save_for_backward(both)
        return _ops(both).gate(both)

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> Tensor:
        (both,) = ctx.saved_tensors
        return _ops(both).gate_back(both, d_out)


class _Rounded(Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        return _ops(rows).round_rows(rows)

    @staticmethod
    def backward(ctx: Any, d_rows: Tensor) -> Tensor:
        return d_rows
