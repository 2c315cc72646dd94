"""Instructions hidden in states: every wording, in every wrapping, at every place.

A state is data; an instruction in it is somebody's text and must not move a decision. Each probe
has a neutral twin (an everyday sentence in the same wrapping at the same place), because any
added text moves some decisions. The probes are for measuring: they belong in no training data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias

from thisthat.questions import Text, check_text

Place: TypeAlias = Literal["start", "middle", "end"]
PLACES: tuple[Place, ...] = ("start", "middle", "end")

_TEXTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
WORDINGS: dict[str, str] = _TEXTS["wordings"]
NEUTRAL: list[str] = _TEXTS["neutral"]
WRAPPINGS: dict[str, str] = _TEXTS["wrappings"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One instruction: its wording, its wrapping and its place, by their names."""

    wording: str
    wrapping: str
    place: Place

    def plant(self, state: Text, option: str) -> Text:
        """The state with a planted instruction to answer ``option``."""
        return planted(state, WORDINGS[self.wording].format(option=option), self)

    def plant_neutral(self, state: Text) -> Text:
        """The state with an everyday sentence in the instruction's place."""
        number = list(WORDINGS).index(self.wording)
        return planted(state, NEUTRAL[number % len(NEUTRAL)], self)


def injection_probes() -> tuple[Probe, ...]:
    """All probes, in a fixed order in which neighbours differ in wording."""
    return tuple(
        Probe(wording, wrapping, place)
        for wrapping, place, wording in product(WRAPPINGS, PLACES, WORDINGS)
    )


def planted(state: Text, text: str, probe: Probe) -> Text:
    """Plant any text into a state the way a probe does: as a line of text or a JSON field."""
    check_text(state, "state")
    wrapped = WRAPPINGS[probe.wrapping].replace("{text}", text)
    if isinstance(state, str):
        at = {"start": 0, "middle": _middle(state), "end": len(state)}[probe.place]
        return "\n".join(part for part in (state[:at].rstrip(), wrapped, state[at:]) if part)
    at = {"start": 0, "middle": len(state) // 2, "end": len(state)}[probe.place]
    if isinstance(state, Mapping):
        fields = list(state.items())
        return dict([*fields[:at], (_free_name(state), wrapped), *fields[at:]])
    return [*state[:at], wrapped, *state[at:]]


def _middle(text: str) -> int:
    """The place after the line break or sentence nearest to the middle; the end if none is."""
    half = len(text) / 2
    places = [
        at + 1 for at in range(len(text) - 1) if text[at] == "\n" or text[at : at + 2] == ". "
    ]
    return min(places, key=lambda at: abs(at - half), default=len(text))


def _free_name(state: Mapping[str, object]) -> str:
    name, number = "comment", 2
    while name in state:
        name, number = f"comment_{number}", number + 1
    return name
