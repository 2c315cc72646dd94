"""States for timing: words of an order's history in no order, so many tokens long."""

from __future__ import annotations

from thisthat.decider import Decider
from thisthat.random import Rng

_TEXT = (
    "order invoice refund customer delivery late parcel account charged twice card support agent "
    "replied monday address changed before shipping warehouse confirmed stock item returned box "
    "opened photo attached policy thirty days receipt total amount currency email phone verified"
)


def random_state(rng: Rng, words: int) -> str:
    """So many words of an order's history, in no order."""
    known = _TEXT.split()
    return " ".join(rng.choice(known) for _ in range(words))


def state_of(decider: Decider, rng: Rng, tokens: int) -> str:
    """A state of as many tokens, or as few fewer as whole words allow."""
    words = random_state(rng, tokens).split(" ")
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(decider.builder.encode_state(" ".join(words[:middle]))) <= tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    return " ".join(words[:low])
