"""Labelled scores for tests: drawn from a known law, and from a noisy oracle over suite items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thisthat.calibrate.threshold import Scored
from thisthat.random import Rng
from thisthat.suites.branch.registry import families
from thisthat.suites.branch.settings import BranchSettings
from thisthat.suites.item import Item


def drawn(rows: int, options: int, seed: int, heat: float = 0.7) -> Scored:
    """Answers whose labels follow softmax(z) while the scorer says softmax(z / heat)."""
    random = np.random.default_rng(seed)
    z = random.normal(scale=6.0, size=(rows, options))
    truth = softmax(z)
    labels = (truth.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)
    said = softmax(z / heat)
    return Scored(said.argmax(axis=1), said.max(axis=1), labels)


def suite_items(name: str, count: int) -> list[Item]:
    settings, rng = BranchSettings(abstain=0.0), Rng("trust", name)
    found: list[Item] = []
    while len(found) < count:
        item = families()[name].generate(rng, settings.draw(rng), "train")
        if item is not None:
            found.append(item)
    return found


def noisy_oracle(items: Sequence[Item], seed: int) -> tuple[list[list[float]], list[int]]:
    """Distributions of a scorer that knows the answer, but sees longer states less clearly."""
    random = np.random.default_rng(seed)
    distributions: list[list[float]] = []
    for item in items:
        clarity = random.gamma(2.0, 9.0 / (1 + len(str(item.state)) / 400))
        logits = random.normal(scale=1.5, size=len(item.options))
        logits[item.answer] += clarity
        distributions.append(softmax(logits[None])[0].tolist())
    return distributions, [item.answer for item in items]


def softmax(z: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    weights = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
