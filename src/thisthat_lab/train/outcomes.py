"""Learning from what happened: the expected Brier reward from draws and one observed outcome.

R(p) = E_Y[2 p_Y - |p|^2] is greatest at the true distribution of outcomes. With M draws
a_1 … a_M from p and one outcome y,

    R^ = 2/M sum_i 1[a_i = y] - 2/(M(M-1)) sum_{i<j} 1[a_i = a_j]

is unbiased for it. The gradient gives draw i its own terms of R^ as credit r_i, less a control
variate b_i that is paired with the same draws: b_i is what r_i changes by when p takes the place of
the sampled indicators 1[a_i = a_j], plus the constant that makes the rest quietest. Given a_i both
parts have a mean that does not depend on a_i, so E[b_i grad log p(a_i)] = 0 and the variance falls
at no cost in bias. For two options nothing but the outcome's own noise is left; for many options
of equal probability little is gained, and no control variate of this form could gain more.
"""

from __future__ import annotations

import torch
from torch import Tensor

from thisthat.errors import InvalidInputError

DRAWS = 32


def draw(
    probabilities: Tensor, draws: int = DRAWS, generator: torch.Generator | None = None
) -> Tensor:
    """``draws`` option indices per slot, slots x draws, from slots x options probabilities."""
    if draws < 2:
        raise InvalidInputError("objective.draws", f"is {draws}; pairs need at least 2")
    return torch.multinomial(probabilities, draws, replacement=True, generator=generator)


def reward_estimate(drawn: Tensor, outcomes: Tensor, options: int) -> Tensor:
    """R^ per slot, from ``drawn`` (slots x draws) and ``outcomes`` (slots)."""
    draws = drawn.shape[-1]
    hits = (drawn == outcomes.unsqueeze(-1)).sum(-1)
    tally = _tally(drawn, options)
    pairs = (tally * (tally - 1)).sum(-1) / 2
    return 2 / draws * hits - 2 / (draws * (draws - 1)) * pairs


def draw_credits(drawn: Tensor, outcomes: Tensor, options: int) -> Tensor:
    """r_i: the terms of R^ that draw i takes part in, slots x draws."""
    draws = drawn.shape[-1]
    hit = (drawn == outcomes.unsqueeze(-1)).float()
    equals = _tally(drawn, options).gather(-1, drawn) - 1
    return 2 / draws * hit - 2 / (draws * (draws - 1)) * equals


def control_variates(drawn: Tensor, outcomes: Tensor, probabilities: Tensor) -> Tensor:
    """b_i, slots x draws: r_i less its value with p for the indicators, plus the best constant.

    The constant is the mean of the remaining credit, each option counted by p times the squared
    length of its score grad log p with respect to the logits, which minimises the variance.
    """
    draws, options = drawn.shape[-1], probabilities.shape[-1]
    happened = torch.nn.functional.one_hot(outcomes, options).to(probabilities.dtype)
    expected = 2 / draws * (happened - probabilities)
    lengths = 1 - 2 * probabilities + probabilities.square().sum(-1, keepdim=True)
    counted = probabilities * lengths
    constant = (counted * expected).sum(-1, keepdim=True) / counted.sum(-1, keepdim=True).clamp_min(
        1e-12
    )
    sampled = draw_credits(drawn, outcomes, options)
    return sampled - expected.gather(-1, drawn) + constant


def outcome_losses(
    log_probabilities: Tensor, outcomes: Tensor, drawn: Tensor, *, control_variate: bool = True
) -> Tensor:
    """One loss per slot whose gradient is the estimator of -grad R; its value means nothing."""
    probabilities = log_probabilities.detach().exp()
    credit = draw_credits(drawn, outcomes, probabilities.shape[-1])
    if control_variate:
        credit = credit - control_variates(drawn, outcomes, probabilities)
    return -(credit * log_probabilities.gather(-1, drawn)).sum(-1)


def exact_losses(log_probabilities: Tensor, outcomes: Tensor) -> Tensor:
    """One loss per slot, |p|^2 - 2 p_y: minus the reward with the draws' expectation taken."""
    probabilities = log_probabilities.exp()
    hit = probabilities.gather(-1, outcomes.unsqueeze(-1)).squeeze(-1)
    return probabilities.square().sum(-1) - 2 * hit


def _tally(drawn: Tensor, options: int) -> Tensor:
    tally = torch.zeros(*drawn.shape[:-1], options, device=drawn.device)
    return tally.scatter_add_(-1, drawn, torch.ones_like(drawn, dtype=tally.dtype))
