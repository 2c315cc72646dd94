"""The nearest option, with vectors that count letters in place of an embedder's."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.items.item import Item
from thisthat_lab.bench.systems.nearest import NearestOption
from thisthat_lab.bench.systems.opening import open_system
from thisthat_lab.bench.systems.protocol import SystemOptions
from thisthat_lab.bench.systems.replies import Reply


class Letters:
    """Vectors of how often each letter occurs."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        found = np.array([[1 + 9 * text.count(c) for c in "abc"] for text in texts], np.float32)
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def item(state: str, *options: tuple[str, str | None]) -> Item:
    return Item("made up", "letters", "choice", state, "Which?", options, 0)


def test_the_option_with_the_nearest_text_is_likeliest_and_texts_are_read_once() -> None:
    embedder = Letters()
    replies: dict[int, Reply] = {}
    asked = [item("aaa", ("a", None), ("b", None)), item("ccb", ("a", None), ("x", "bcc"))]
    NearestOption(embedder).answer(asked, replies.__setitem__)
    assert replies[0].probabilities is not None
    assert replies[0].probabilities[0] > 0.9
    assert sum(replies[0].probabilities) == pytest.approx(1)
    assert replies[1].probabilities is not None
    assert replies[1].probabilities[1] > 0.9
    assert sorted(embedder.texts) == sorted({"aaa", "a", "b", "ccb", "x: bcc"})


def test_a_wheel_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"nearest:.*no\.whl"):
        open_system(f"nearest:{tmp_path}/no.whl", SystemOptions())


def test_without_transformers_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "some.whl"
    wheel.touch()
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"a sentence embedder needs .*\.\[torch\]"):
        open_system(f"nearest:{wheel}", SystemOptions())
