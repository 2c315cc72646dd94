"""A sentence embedder as a zero-shot system: the option whose text lies nearest to the state.

It never reads the question, so booleans are close to chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item, render_state
from thisthat_lab.bench.systems.embedder import Embedder
from thisthat_lab.bench.systems.protocol import Done, Identity
from thisthat_lab.bench.systems.replies import from_probabilities

SHARPNESS = 20.0
"""What cosines are multiplied by before the softmax, as the embedder was trained."""


class Embeds(Protocol):
    """Sentences to vectors of length 1, one row each."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text."""


class NearestOption:
    """Cosines between a state and its options, a name and description each, through a softmax."""

    independent: ClassVar[bool] = True
    identity = Identity("all-MiniLM-L6-v2, nearest option", "baseline", engine="transformers")

    def __init__(self, embedder: Embeds) -> None:
        self.embedder = embedder

    @classmethod
    def open(cls, wheel: str) -> NearestOption:
        """With the embedder of a wheel. Raises InvalidInputError where there is no such file."""
        if not Path(wheel).is_file():
            raise InvalidInputError("--system", f"nearest:{wheel}: there is no such wheel")
        return cls(Embedder(Path(wheel)))

    def answer(self, items: Sequence[Item], done: Done) -> None:
        """See System. Every text is embedded once."""
        states = [render_state(item.state) for item in items]
        options = [[_shown(*option) for option in item.options] for item in items]
        texts = sorted({*states, *(text for each in options for text in each)})
        vectors = self.embedder.embed(texts)
        place = {text: number for number, text in enumerate(texts)}
        for number, (state, offered) in enumerate(zip(states, options, strict=True)):
            found = vectors[[place[text] for text in offered]] @ vectors[place[state]]
            weights = np.exp(SHARPNESS * (found - found.max()).astype(np.float64))
            done(number, from_probabilities(tuple(weights / weights.sum())))


def _shown(name: str, description: str | None) -> str:
    return f"{name}: {description}" if description else name
