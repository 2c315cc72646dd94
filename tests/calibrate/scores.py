"""Labelled scores for tests: drawn from a known law, and from a noisy oracle over suite items."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from thisthat.calibrate.threshold import Scored
from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.base.settings import BranchSettings
from thisthat_lab.suites.branch.registry import families

Answering = Callable[[int, int], tuple[NDArray[np.float64], NDArray[np.int64]]]
"""What is said of so many rows and their labels, by a seed."""


def drawn(rows: int, options: int, seed: int, heat: float = 0.7) -> Scored:
    """Answers whose labels follow softmax(z) while the scorer says softmax(z / heat)."""
    return drawn_with_law(rows, options, seed, heat)[0]


def drawn_with_law(
    rows: int, options: int, seed: int, heat: float = 0.7
) -> tuple[Scored, NDArray[np.float64]]:
    """``drawn``, and how probable it is for every row that its best option is right."""
    random = np.random.default_rng(seed)
    z = random.normal(scale=6.0, size=(rows, options))
    truth = softmax(z)
    labels = (truth.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)
    said = softmax(z / heat)
    return scored_of(said, labels), truth.max(axis=1)


def suite_items(name: str, count: int) -> list[Item]:
    settings, rng = BranchSettings(abstain=0.0), Rng("trust", name)
    found: list[Item] = []
    while len(found) < count:
        item = families()[name].generate(rng, settings.draw(rng), "train")
        if item is not None:
            found.append(item)
    return found


def noisy_oracle(items: Sequence[Item]) -> Answering:
    """What a scorer says that knows the answers but sees long states less clearly, and the labels.

    Every row is an item taken at random with noise of its own: rows are independent.
    """
    lengths = np.array([len(str(item.state)) for item in items])
    labels = np.array([item.answer for item in items])

    def answers(rows: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        random = np.random.default_rng(seed)
        taken = random.integers(0, len(items), rows)
        logits = random.normal(scale=1.5, size=(rows, len(items[0].options)))
        sure = random.gamma(2.0, 9.0 / (1 + lengths[taken] / 400))
        logits[np.arange(rows), labels[taken]] += sure
        return softmax(logits), labels[taken]

    return answers


def scored_of(said: NDArray[np.float64], labels: NDArray[np.int64]) -> Scored:
    return Scored(said.argmax(axis=1), said.max(axis=1), labels)


def softmax(z: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    weights = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
