"""Systems that learn nothing or next to nothing: the floors a model has to clear.

``majority`` and ``constant`` read the answers of the very questions they are scored on, which
favours them. ``bag-of-words`` is cross-validated with all questions about one state in one fold.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from thisthat.errors import MissingExtraError
from thisthat.items.item import Item, render_state
from thisthat_lab.bench.systems.protocol import Done, Identity, System
from thisthat_lab.bench.systems.replies import Reply, from_probabilities

FOLDS = 5


def _by_family(items: Sequence[Item]) -> Iterator[list[int]]:
    members: dict[str, list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        members[item.family].append(number)
    yield from members.values()


def _right_names(items: Sequence[Item], members: Sequence[int]) -> Counter[str]:
    return Counter(items[n].options[items[n].answer][0] for n in members)


def _restricted(item: Item, weights: dict[str, float]) -> Reply:
    """The reply of name weights limited to the item's own options."""
    raw = np.array([weights.get(name, 0.0) for name, _ in item.options])
    if not raw.sum():
        raw = np.ones(len(raw))
    return from_probabilities(tuple(raw / raw.sum()))


class Majority:
    """Always the family's most frequent right option; no probability of its own."""

    independent: ClassVar[bool] = False
    identity = Identity("majority", "baseline")

    def answer(self, items: Sequence[Item], done: Done) -> None:
        """See System."""
        for members in _by_family(items):
            ranked = [name for name, _ in _right_names(items, members).most_common()]
            for number in members:
                names = [name for name, _ in items[number].options]
                best = next((name for name in ranked if name in names), names[0])
                done(number, Reply(names.index(best)))


class Constant:
    """The family's base rates as the distribution for every question."""

    independent: ClassVar[bool] = False
    identity = Identity("constant", "baseline")

    def answer(self, items: Sequence[Item], done: Done) -> None:
        """See System."""
        for members in _by_family(items):
            rates = {name: float(n) for name, n in _right_names(items, members).items()}
            for number in members:
                done(number, _restricted(items[number], rates))


class BagOfWords:
    """TF-IDF words of state and question into logistic regression, one model per family."""

    independent: ClassVar[bool] = False
    identity = Identity("bag-of-words", "baseline", engine="scikit-learn")

    def answer(self, items: Sequence[Item], done: Done) -> None:
        """See System. Raises MissingExtraError without scikit-learn."""
        for members in _by_family(items):
            for number, weights in self._cross_validate(items, members):
                done(number, _restricted(items[number], weights))

    def _cross_validate(
        self, items: Sequence[Item], members: list[int]
    ) -> Iterator[tuple[int, dict[str, float]]]:
        texts = [_words(items[n]) for n in members]
        names = [items[n].options[items[n].answer][0] for n in members]
        folds = np.array([int(items[n].state_hash[:8], 16) % FOLDS for n in members])
        for fold in range(FOLDS):
            asked = np.flatnonzero(folds == fold)
            known = np.flatnonzero(folds != fold)
            if asked.size == 0:
                continue
            seen = sorted({names[k] for k in known})
            if len(seen) < 2:
                weights = dict.fromkeys(seen, 1.0)
                yield from ((members[k], weights) for k in asked)
                continue
            model = _classifier()
            model.fit([texts[k] for k in known], [names[k] for k in known])
            table = model.predict_proba([texts[k] for k in asked])
            classes = [str(name) for name in model.classes_]
            for k, row in zip(asked, table, strict=True):
                yield members[k], dict(zip(classes, map(float, row), strict=True))


def _words(item: Item) -> str:
    return "\n".join([render_state(item.state), item.question])


def _classifier() -> Any:
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
    except ImportError:
        raise MissingExtraError("the bag-of-words baseline", "bench") from None
    words = TfidfVectorizer(token_pattern=r"[^\s]+", ngram_range=(1, 2), sublinear_tf=True)
    return make_pipeline(words, LogisticRegression(C=10.0, max_iter=300))


BASELINES: dict[str, Callable[[], System]] = {
    "majority": Majority,
    "constant": Constant,
    "bag-of-words": BagOfWords,
}
