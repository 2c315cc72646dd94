"""A baseline that reads words without order: what it can get right, the wording gives away."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LogisticRegression

from thisthat.items.item import Item, render_state

_WORD = re.compile(r"[a-z]+|\d+")


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _tokens(item: Item, option: int) -> list[str]:
    """Words of state, question and option, and each word of the former two beside the option."""
    name, description = item.options[option]
    shown = _words(render_state(item.state)) | {f"q:{word}" for word in _words(item.question)}
    label = name if item.kind == "choice" else str(option)
    own = {f"o:{word}" for word in _words(f"{name} {description or ''}")}
    return [*own, f"place:{option}", *(f"{label}|{word}" for word in shown)]


def held_accuracy(train: Sequence[Item], test: Sequence[Item]) -> float:
    """Accuracy on ``test`` of a linear model over words, trained on ``train``."""
    hasher = FeatureHasher(2**16, input_type="string")
    features = hasher.transform(_tokens(i, o) for i in train for o in range(len(i.options)))
    labels = np.array([int(o == i.answer) for i in train for o in range(len(i.options))])
    model = LogisticRegression(C=0.3, solver="liblinear").fit(features, labels)
    right = 0
    for item in test:
        scores = model.decision_function(
            hasher.transform(_tokens(item, o) for o in range(len(item.options)))
        )
        right += int(np.argmax(scores)) == item.answer
    return right / len(test)


def chance(items: Sequence[Item]) -> float:
    """The mean of one over the number of options."""
    return float(np.mean([1 / len(item.options) for item in items]))
