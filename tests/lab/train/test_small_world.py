"""Learning from chance in a world small enough to know the truth: a noisy actuator.

The model sees an intended move and its reliability; training sees one attempt per row, never q.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from thisthat.items.metrics import expected_calibration_error
from thisthat_lab.train.config import Objective
from thisthat_lab.train.step import losses_of
from thisthat_lab.worlds.actuator import collision_free_probability
from thisthat_lab.worlds.grid import DIRECTIONS

RELIABILITIES = (0.1, 0.3, 0.7, 0.9)


def world() -> tuple[torch.Tensor, torch.Tensor]:
    """Features of every (free directions, intended move, reliability), and q of each."""
    features, truths = [], []
    for free in range(16):
        safe = tuple(way for i, way in enumerate(DIRECTIONS) if free >> i & 1)
        for index, intended in enumerate(DIRECTIONS):
            for reliability in RELIABILITIES:
                one = np.zeros(4 + 4 + 4)
                one[:4] = [free >> i & 1 for i in range(4)]
                one[4 + index] = 1
                one[8 + RELIABILITIES.index(reliability)] = 1
                features.append(one)
                truths.append(collision_free_probability(reliability, intended, safe))
    return torch.tensor(np.array(features), dtype=torch.float32), torch.tensor(truths)


def small_model() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(12, 96), torch.nn.Tanh(), torch.nn.Linear(96, 96), torch.nn.Tanh(),
        torch.nn.Linear(96, 2),
    )  # fmt: skip


def learn(settings: Objective, outcomes: bool, flipped: float = 0.0) -> torch.Tensor:
    """The model's probability of yes for the whole world after training on single attempts."""
    torch.manual_seed(0)
    features, truths = world()
    model = small_model()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    steps = 900
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = 3e-3 * (1 - step / steps)
        pick = torch.randint(len(features), (512,))
        chance = truths[pick] * (1 - flipped) + (1 - truths[pick]) * flipped
        attempt = torch.bernoulli(chance).long()
        logits = torch.zeros(512, 4)
        logits[:, :2] = model(features[pick])
        targets = torch.nn.functional.one_hot(attempt, 4).float()
        losses, _, _ = losses_of(
            logits, torch.full((512,), 2), targets, attempt if outcomes else None, settings
        )
        optimiser.zero_grad()
        losses.mean().backward()
        optimiser.step()
    with torch.no_grad():
        return torch.softmax(model(features), -1)[:, 1]


@pytest.mark.parametrize(
    ("settings", "outcomes"),
    [
        (Objective(draws=32), True),
        (Objective(exact=True), True),
        (Objective(cross_entropy=0.5), False),
    ],
    ids=["draws", "exact", "labels"],
)
def test_single_attempts_recover_q(settings: Objective, outcomes: bool) -> None:
    _, truths = world()
    yes = learn(settings, outcomes)
    distance = float((2 * (yes - truths).square()).mean())
    constant = float((2 * (truths.mean() - truths).square()).mean())
    assert distance < 0.01
    assert distance < constant / 10


def test_flipped_labels_leave_probabilities_calibrated() -> None:
    """With 20 % of the labels flipped the model must say what the labels do, and be right."""
    _, truths = world()
    noisy = 0.8 * truths + 0.2 * (1 - truths)
    yes = learn(Objective(), outcomes=False, flipped=0.2).double()
    random = np.random.default_rng(0)
    repeats = 200
    labels = random.random((repeats, len(noisy))) < noisy.numpy()
    chosen = (yes > 0.5).numpy()
    confidence = torch.maximum(yes, 1 - yes).numpy()
    hits = labels == chosen
    error = expected_calibration_error(np.tile(confidence, repeats), hits.reshape(-1))
    assert error <= 0.05
