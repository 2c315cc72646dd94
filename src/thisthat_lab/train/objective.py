"""What training minimises: cross-entropy and Brier, mixed, over the declared options of a slot.

Both are proper scoring rules, so any mixture of them is least at the true distribution. Logits
and targets in, one loss per slot out.
"""

from __future__ import annotations

import torch
from torch import Tensor

from thisthat.errors import InvalidInputError

OUTSIDE = -1e9  # finite, so that a zero target times it is zero and not NaN


def option_log_probabilities(logits: Tensor, counts: Tensor) -> Tensor:
    """Log-probabilities over the first ``counts[s]`` columns of slot s; the rest is far below.

    ``logits`` is slots x labels. The softmax is taken in float32 whatever comes in.
    """
    columns = torch.arange(logits.shape[-1], device=logits.device)
    outside = columns >= counts.unsqueeze(-1)
    return torch.log_softmax(logits.float().masked_fill(outside, OUTSIDE), dim=-1)


def slot_losses(log_probabilities: Tensor, targets: Tensor, cross_entropy_share: float) -> Tensor:
    """One loss per slot: share * cross-entropy + (1 - share) * Brier.

    ``targets`` are distributions over the same columns, zero outside the declared options; a hard
    label is a distribution with a single one. Raises InvalidInputError for a share outside [0, 1].
    """
    if not 0 <= cross_entropy_share <= 1:
        raise InvalidInputError(
            "objective.cross_entropy", f"is {cross_entropy_share}; it must lie in [0, 1]"
        )
    cross_entropy = -(targets * log_probabilities).sum(-1)
    brier = (log_probabilities.exp() - targets).square().sum(-1)
    return cross_entropy_share * cross_entropy + (1 - cross_entropy_share) * brier


def weighted_mean(losses: Tensor, weights: Tensor) -> Tensor:
    """The mean loss with each slot counted by its weight."""
    return (losses * weights).sum() / weights.sum().clamp_min(1e-12)
