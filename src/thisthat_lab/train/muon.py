"""Muon: momentum whose update is made orthogonal, for the weight matrices inside a network.

All singular values of an update are brought near 1 by five steps of a Newton-Schulz iteration
(Jordan et al., 2024), so that rare directions learn as fast as common ones. The update is scaled
to the size an Adam update has (Liu et al., 2025), so that a rate means the same in both.
Matrices of one shape are worked on together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

_STEPS = 5
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_ADAM_SIZE = 0.2  # root mean square of a typical Adam update at rate 1


class Muon(torch.optim.Optimizer):
    """Takes matrices only."""

    def __init__(
        self,
        parameters: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float,
        momentum: float = 0.95,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update every matrix that has a gradient."""
        assert closure is None
        for group in self.param_groups:
            matrices = [matrix for matrix in group["params"] if matrix.grad is not None]
            if matrices:
                self._update(matrices, group)

    def _update(self, matrices: list[Tensor], group: dict[str, Any]) -> None:
        gradients: list[Tensor] = [m.grad for m in matrices if m.grad is not None]
        for matrix in matrices:
            if "momentum" not in self.state[matrix]:
                self.state[matrix]["momentum"] = torch.zeros_like(matrix)
        momenta = [self.state[matrix]["momentum"] for matrix in matrices]
        torch._foreach_lerp_(momenta, gradients, 1 - group["momentum"])
        # Looking ahead (Nesterov): the momentum as it will be if the gradient stays.
        ahead = torch._foreach_lerp(gradients, momenta, group["momentum"])
        shapes: dict[torch.Size, list[int]] = {}
        for index, matrix in enumerate(matrices):
            shapes.setdefault(matrix.shape, []).append(index)
        for shape, indices in shapes.items():
            updates = orthogonal(torch.stack([ahead[index] for index in indices]))
            size = _ADAM_SIZE * max(shape) ** 0.5
            torch._foreach_add_(
                [matrices[index] for index in indices],
                updates.to(matrices[indices[0]].dtype).unbind(),
                alpha=-group["lr"] * size,
            )


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices (count x rows x columns) with nearly the same singular vectors, values near 1."""
    a, b, c = _COEFFICIENTS
    work = matrices.bfloat16() if matrices.is_cuda else matrices.float()
    tall = work.shape[-2] > work.shape[-1]
    if tall:
        work = work.mT
    work = work / (work.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(_STEPS):
        square = work @ work.mT
        polynomial = torch.baddbmm(square, square, square, beta=b, alpha=c)
        work = torch.baddbmm(work, polynomial, work, beta=a)
    return work.mT if tall else work
