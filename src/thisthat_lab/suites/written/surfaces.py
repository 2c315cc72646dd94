"""Sentences around a state that have nothing to do with any question."""

from __future__ import annotations

from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_BEFORE = _TABLES.words("before")
_AFTER = _TABLES.words("after")


def with_remark(state: Text, rng: Rng) -> Text:
    """The state with a sentence before or after it that does not matter."""
    if not isinstance(state, str):
        return state
    if rng.chance(0.4):
        return f"{rng.choice(_BEFORE)}{rng.choice((' ', chr(10), chr(10) * 2))}{state}"
    return f"{state}{rng.choice((' ', chr(10), chr(10) * 2))}{rng.choice(_AFTER)}"
