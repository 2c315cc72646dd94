"""States for timing: a customer's message and the history of the order, so many tokens long.

Sentences as tickets have them, not words at random: an engine that reads close calls twice takes
as long as the case is clear, and nothing is clear about words at random.
"""

from __future__ import annotations

from thisthat.decide.decider import Decider
from thisthat.rng import Rng
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
THINGS = _TABLES.words("things")
MATTERS = _TABLES.read("matters", dict[str, str])
"""What can be the matter with each of ``THINGS``, and how a customer says it."""

_SINCE = _TABLES.words("since")
_WISHES = _TABLES.words("wishes")
_EVENTS = _TABLES.words("events")


def ticket(rng: Rng, words: int) -> str:
    """So many words: what the customer writes, then what happened before, cut off at the end."""
    thing, matter = rng.choice(THINGS), rng.choice(tuple(MATTERS.values()))
    parts = [f"{matter.format(thing=thing)} {rng.choice(_SINCE)}. {rng.choice(_WISHES)}"]
    length = len(parts[0].split())
    while length < words:
        day = f"2026-{rng.integer(1, 12):02}-{rng.integer(1, 28):02}"
        event = rng.choice(_EVENTS).format(amount=rng.integer(5, 900), number=rng.integer(2, 9))
        parts.append(f"On {day} {event}.")
        length += len(parts[-1].split())
    return " ".join(" ".join(parts).split()[:words])


def state_of(decider: Decider, rng: Rng, tokens: int) -> str:
    """A state of as many tokens, or as few fewer as whole words allow."""
    words = ticket(rng, tokens).split(" ")
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(decider.builder.encode_state(" ".join(words[:middle]))) <= tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    return " ".join(words[:low])
