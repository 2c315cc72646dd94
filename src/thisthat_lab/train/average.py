"""The mean of a run's weights over its last steps: one point among many that the run went through.

While the rate cools, weights wander round a place that none of them is at. Their mean is nearer to
it, forgets less of where the run began, and costs one copy of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from thisthat.errors import InvalidInputError

_COUNT = "mean count"


class WeightMean:
    """A running mean of the tensors that ``add`` is given; every call counts the same."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.count = 0
        self._means: list[Tensor] = []

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Take the tensors, in the order of the names, into the mean."""
        with torch.no_grad():
            given = [tensor.detach().float() for tensor in tensors]
            if self.count:
                torch._foreach_lerp_(self._means, given, 1 / (self.count + 1))
            else:
                self._means = [tensor.clone() for tensor in given]
        self.count += 1

    def put_into(self, tensors: Sequence[Tensor]) -> None:
        """Overwrite the tensors with their means; nothing changes before the first ``add``."""
        with torch.no_grad():
            for tensor, mean in zip(tensors, self._means, strict=False):
                tensor.copy_(mean)

    def state(self) -> dict[str, Tensor]:
        """The mean as plain tensors by name; empty before the first ``add``."""
        if not self.count:
            return {}
        means = {f"mean/{name}": mean for name, mean in zip(self.names, self._means, strict=True)}
        return {**means, _COUNT: torch.tensor(self.count)}

    def load(self, tensors: dict[str, Tensor], device: torch.device) -> None:
        """Go on from what ``state`` gave. Raises InvalidInputError for a mean of another run."""
        if _COUNT not in tensors:
            return
        if any(f"mean/{name}" not in tensors for name in self.names):
            raise InvalidInputError("resume", "the saved run averaged other tensors")
        self.count = int(tensors[_COUNT])
        self._means = [tensors[f"mean/{name}"].to(device) for name in self.names]
