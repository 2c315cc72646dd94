"""Sentences around a state that have nothing to do with any question."""

from __future__ import annotations

from thisthat.questions import Text
from thisthat.rng import Rng

_BEFORE = (
    "Forwarded without comment.",
    "See below.",
    "For your information:",
    "Copied from the shared folder.",
    "Found this in the queue just now.",
    "Entry as it was recorded:",
    "Please read the following.",
    "Next one on the list:",
    "From this morning's batch:",
    "Pasting it here as it is.",
    "[start of text]",
    "Good morning everyone,",
)
_AFTER = (
    "Sent from my phone.",
    "(End of text.)",
    "The kitchen on the second floor is closed for painting this week.",
    "PS: thanks for the birthday card!",
    "Printed on recycled paper.",
    "The train was full again today.",
    "Reference: none.",
    "It has been raining here since Sunday.",
    "Page 1 of 1",
    "My desk is by the window now, in case you look for me.",
    "Have a good day.",
    "Lunch today: lentil soup.",
    "[end of text]",
    "The lift is working again.",
)


def with_remark(state: Text, rng: Rng) -> Text:
    """The state with a sentence before or after it that does not matter."""
    if not isinstance(state, str):
        return state
    if rng.chance(0.4):
        return f"{rng.choice(_BEFORE)}{rng.choice((' ', chr(10), chr(10) * 2))}{state}"
    return f"{state}{rng.choice((' ', chr(10), chr(10) * 2))}{rng.choice(_AFTER)}"
