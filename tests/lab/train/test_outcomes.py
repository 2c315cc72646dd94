"""The estimator against exact enumeration, as the paper defines it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from thisthat.errors import InvalidInputError
from thisthat_lab.train.outcomes import (
    control_variates,
    draw,
    draw_credits,
    exact_losses,
    outcome_losses,
    reward_estimate,
)

REPETITIONS = 100_000
WITHIN = 4  # standard errors


def distribution(options: int, seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).dirichlet(np.ones(options)))


def gradients(
    logits: torch.Tensor, outcomes: torch.Tensor, draws: int, control_variate: bool
) -> torch.Tensor:
    """The estimator's gradient of R with respect to the logits, one row per repetition."""
    repeated = logits.expand(len(outcomes), -1).clone().requires_grad_()
    log_p = torch.log_softmax(repeated, -1)
    drawn = draw(log_p.detach().exp(), draws)
    losses = outcome_losses(log_p, outcomes, drawn, control_variate=control_variate)
    (gradient,) = torch.autograd.grad(-losses.sum(), repeated)
    return gradient


def exact_gradient(logits: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """Grad of E_Y[2 p_Y - |p|^2], by enumerating Y."""
    own = logits.clone().requires_grad_()
    p = torch.softmax(own, -1)
    reward = sum(truth[y] * (2 * p[y] - p.square().sum()) for y in range(len(truth)))
    (gradient,) = torch.autograd.grad(reward, own)
    return gradient


@pytest.mark.parametrize(("options", "draws"), [(2, 2), (2, 32), (3, 8), (5, 32), (20, 32)])
def test_value_and_gradient_are_unbiased(options: int, draws: int) -> None:
    torch.manual_seed(options * 100 + draws)
    truth = distribution(options, 1)
    logits = torch.from_numpy(np.random.default_rng(2).standard_normal(options))
    p = torch.softmax(logits, -1)
    outcomes = torch.multinomial(truth, REPETITIONS, replacement=True)
    drawn = draw(p.expand(REPETITIONS, -1), draws)

    values = reward_estimate(drawn, outcomes, options).double()
    exact = 2 * (truth * p).sum() - p.square().sum()
    error = values.std() / REPETITIONS**0.5
    assert abs(values.mean() - exact) <= WITHIN * error

    for control_variate in (True, False):
        found = gradients(logits, outcomes, draws, control_variate)
        errors = found.std(0) / REPETITIONS**0.5
        off = (found.mean(0) - exact_gradient(logits, truth)).abs()
        assert (off <= WITHIN * errors + 1e-12).all(), (control_variate, off / errors)


@pytest.mark.parametrize("options", [2, 3, 4])
def test_the_mean_over_all_possible_draws_is_exact(options: int) -> None:
    """Three draws enumerated: no sampling error at all."""
    p = distribution(options, options)
    for y in range(options):
        outcome = torch.tensor([y])
        value = 0.0
        weighted = torch.zeros(options, dtype=torch.double)
        for path in product(range(options), repeat=3):
            drawn = torch.tensor([path])
            chance = float(np.prod([p[a] for a in path]))
            value += chance * float(reward_estimate(drawn, outcome, options))
            credit = draw_credits(drawn, outcome, options) - control_variates(
                drawn, outcome, p.unsqueeze(0)
            )
            for a, r in zip(path, credit[0], strict=True):
                weighted += chance * r * (torch.eye(options, dtype=torch.double)[a] - p)
        assert value == pytest.approx(float(2 * p[y] - p.square().sum()), abs=1e-6)
        exact = exact_gradient(p.log(), torch.eye(options, dtype=torch.double)[y])
        torch.testing.assert_close(weighted, exact, atol=1e-6, rtol=0)


# The spread is that of the logits: a shrug for few options, an opinion for many. With many equal
# options the variance is that of the draws that hit the outcome, and no b_i can take it away.
@pytest.mark.parametrize(("options", "spread"), [(2, 0.5), (2, 2), (3, 1), (5, 2), (10, 4)])
def test_the_control_variate_has_mean_zero_and_halves_the_variance(
    options: int, spread: float
) -> None:
    torch.manual_seed(options)
    logits = spread * torch.from_numpy(np.random.default_rng(options).standard_normal(options))
    p = torch.softmax(logits, -1)
    with_it = without = 0.0
    for y in range(options):
        outcomes = torch.full((4_000,), y)
        with_it += float(p[y] * gradients(logits, outcomes, 32, True).var(0).sum())
        without += float(p[y] * gradients(logits, outcomes, 32, False).var(0).sum())
    assert with_it <= without / 2

    outcomes = torch.multinomial(p, 50_000, replacement=True)
    many = p.expand(len(outcomes), -1)
    drawn = draw(many, 32)
    b = control_variates(drawn, outcomes, many)
    score = torch.nn.functional.one_hot(drawn, options) - many.unsqueeze(1)
    terms = (b.unsqueeze(-1) * score).sum(1)
    errors = terms.std(0) / len(outcomes) ** 0.5
    assert (terms.mean(0).abs() <= WITHIN * errors + 1e-12).all()


def as_in_the_paper(drawn: Tensor, outcomes: Tensor, p: Tensor) -> Tensor:
    """b_i of the paper, read word by word: r_i with p_y and p_{a_j} for the indicators."""
    draws = drawn.shape[-1]
    each = p.gather(-1, drawn)
    others = each.sum(-1, keepdim=True) - each
    return 2 / draws * p.gather(-1, outcomes[:, None]) - 2 / (draws * (draws - 1)) * others


# As in the table of docs/learn.md.
@pytest.mark.parametrize(
    ("p", "papers", "ours"),
    [
        ((0.6, 0.4), 1.1, 0.0),
        ((0.8, 0.2), 2.1, 0.0),
        ((0.75, 0.18, 0.05, 0.02), 2.0, 0.25),
        ((0.1,) * 10, 1.0, 0.83),
    ],
)
def test_the_control_variate_is_quieter_than_the_papers(
    p: tuple[float, ...], papers: float, ours: float
) -> None:
    torch.manual_seed(1)
    chances = torch.tensor(p, dtype=torch.double)
    many = chances.expand(4_000, -1)
    found = np.zeros(3)
    for y in range(len(p)):
        outcomes = torch.full((len(many),), y)
        drawn = draw(many, 32)
        credit = draw_credits(drawn, outcomes, len(p))
        score = torch.nn.functional.one_hot(drawn, len(p)) - many.unsqueeze(1)
        kinds = (as_in_the_paper, control_variates)
        variates = [torch.zeros(()), *(kind(drawn, outcomes, many) for kind in kinds)]
        for number, variate in enumerate(variates):
            terms = ((credit - variate).unsqueeze(-1) * score).sum(1)
            found[number] += p[y] * float(terms.var(0).sum())
    assert found[1:] / found[0] == pytest.approx([papers, ours], rel=0.12, abs=0.02)


def test_the_exact_switch_is_the_expectation_of_the_draws() -> None:
    torch.manual_seed(0)
    logits = torch.tensor([0.4, -0.3, 1.0], dtype=torch.double)
    outcomes = torch.full((REPETITIONS,), 2)
    sampled = gradients(logits, outcomes, 32, True)
    own = logits.clone().requires_grad_()
    loss = exact_losses(torch.log_softmax(own, -1).unsqueeze(0), torch.tensor([2])).sum()
    (gradient,) = torch.autograd.grad(-loss, own)
    errors = sampled.std(0) / REPETITIONS**0.5
    assert ((sampled.mean(0) - gradient).abs() <= WITHIN * errors).all()


def test_one_draw_has_no_pairs() -> None:
    with pytest.raises(InvalidInputError, match=r"objective.draws: is 1"):
        draw(torch.ones(1, 2) / 2, 1)
