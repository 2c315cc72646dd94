from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.errors import InvalidInputError
from thisthat_lab.train.objective import option_log_probabilities, slot_losses, weighted_mean

SHARES = (0.0, 0.3, 0.7, 1.0)


def loss_at(p: torch.Tensor, q: torch.Tensor, share: float) -> float:
    return float(slot_losses(p.log().unsqueeze(0), q.unsqueeze(0), share))


def corner(index: int, count: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(index), count).double()


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("options", [2, 3, 7, 40])
def test_the_minimum_over_the_simplex_is_the_true_distribution(share: float, options: int) -> None:
    random = np.random.default_rng(options)
    q = torch.from_numpy(random.dirichlet(np.ones(options)))
    logits = torch.zeros(1, options, dtype=torch.double, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [logits], max_iter=500, tolerance_grad=1e-12, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        # The expected loss when hard labels are drawn from q.
        log_p = torch.log_softmax(logits, -1).expand(options, options)
        losses = slot_losses(log_p, torch.eye(options, dtype=torch.double), share)
        loss = (q * losses).sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    torch.testing.assert_close(torch.softmax(logits.detach(), -1)[0], q, atol=2e-4, rtol=0)


@settings(deadline=None, max_examples=60)
@given(
    share=st.sampled_from(SHARES),
    options=st.integers(2, 12),
    seed=st.integers(0, 10_000),
)
def test_no_other_distribution_scores_better(share: float, options: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    q, p = (torch.from_numpy(random.dirichlet(np.ones(options)) + 1e-9) for _ in range(2))
    q, p = q / q.sum(), p / p.sum()
    expected = [
        sum(float(q[y]) * loss_at(r, corner(y, options), share) for y in range(options))
        for r in (q, p)
    ]
    assert expected[0] <= expected[1] + 1e-12


@pytest.mark.parametrize("share", SHARES)
def test_a_soft_target_pulls_like_labels_drawn_from_it(share: float) -> None:
    q = torch.tensor([0.2, 0.5, 0.3])
    logits = torch.tensor([[0.3, -1.0, 0.4]], requires_grad=True)
    soft = slot_losses(torch.log_softmax(logits, -1), q.unsqueeze(0), share).sum()
    (from_soft,) = torch.autograd.grad(soft, logits)
    log_p = torch.log_softmax(logits, -1).expand(3, 3)
    hard = (q * slot_losses(log_p, torch.eye(3), share)).sum()
    (from_hard,) = torch.autograd.grad(hard, logits)
    torch.testing.assert_close(from_soft, from_hard)


def test_columns_past_the_options_are_outside() -> None:
    logits = torch.randn(4, 255, requires_grad=True)
    counts = torch.tensor([1, 2, 10, 255])
    log_p = option_log_probabilities(logits, counts)
    targets = torch.zeros(4, 255)
    targets[:, 0] = 1
    losses = slot_losses(log_p, targets, 0.5)
    assert losses.isfinite().all()
    losses.sum().backward()
    assert logits.grad is not None
    for slot, count in enumerate(counts.tolist()):
        assert log_p[slot, :count].exp().sum().item() == pytest.approx(1, abs=1e-5)
        assert log_p[slot, count:].exp().sum() == 0
        assert (logits.grad[slot, count:] == 0).all()


def test_extreme_logits_stay_finite() -> None:
    logits = torch.tensor([[3e4, -3e4, 0.0], [-3e4, 3e4, 0.0]], requires_grad=True)
    log_p = option_log_probabilities(logits, torch.tensor([3, 2]))
    losses = slot_losses(log_p, torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), 0.5)
    losses.sum().backward()
    assert losses.isfinite().all()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_weights_count_questions() -> None:
    losses = torch.tensor([1.0, 5.0])
    assert weighted_mean(losses, torch.tensor([3.0, 1.0])) == 2.0


def test_a_share_outside_the_unit_interval_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"objective.cross_entropy: is 1.5"):
        slot_losses(torch.zeros(1, 2), torch.zeros(1, 2), 1.5)
