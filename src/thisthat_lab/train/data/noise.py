"""Prose that is never twice the same: words left out, letters mistyped, capitals lost.

A written state that comes back word by word is learned by heart instead of read. Numbers, names in
capitals, negations and what compares keep their place and their letters, for answers hang on them;
records, tables and code are not prose and come back as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.tables import Tables
from thisthat_lab.train.data.augment import Sheet

_KEPT = frozenset(Tables(__file__).words("kept"))
_LEAST_WORDS = 6
_LEAST_PLAIN = 0.75
_PLAIN = re.compile(r"[\"'(]?[A-Za-z]+(?:['’-][A-Za-z]+)*[\"')]?[.,;:!?]*")
_LEAST_GAPS, _MOST_GAPS = 0.05, 0.15
_LONGEST_GAP = 3
_LEAST_SLIPS, _MOST_SLIPS = 0.02, 0.08
_SHORTEST_SLIP = 4


def with_gaps(sheet: Sheet, rng: Rng) -> Sheet:
    """The sheet with a twentieth to a seventh of its state's plain words left out."""
    share = _LEAST_GAPS + (_MOST_GAPS - _LEAST_GAPS) * rng.uniform()
    longest = rng.integer(1, _LONGEST_GAP)
    state = _by_line(sheet.state, lambda words: _gaps(words, share, longest, rng))
    return replace(sheet, state=state)


def with_typos(sheet: Sheet, rng: Rng) -> Sheet:
    """The sheet with its state typed in a hurry: some letters wrong, or every capital lost."""
    if rng.chance(0.3):
        return replace(sheet, state=_by_line(sheet.state, _without_capitals))
    share = _LEAST_SLIPS + (_MOST_SLIPS - _LEAST_SLIPS) * rng.uniform()
    return replace(sheet, state=_by_line(sheet.state, lambda words: _slips(words, share, rng)))


def _by_line(state: Text, change: Callable[[list[str]], list[str]]) -> Text:
    """The state with every line of prose changed; other lines and other states as they are."""
    if not isinstance(state, str):
        return state
    lines = []
    for line in state.split("\n"):
        words = line.split(" ")
        lines.append(" ".join(change(words)) if _is_prose(words) else line)
    return "\n".join(lines)


def _is_prose(words: list[str]) -> bool:
    plain = sum(_PLAIN.fullmatch(word) is not None for word in words)
    return plain >= _LEAST_WORDS and plain >= _LEAST_PLAIN * len(words)


def _may_change(word: str) -> bool:
    """Whether a word is a plain one; a full stop or a colon at its end carries structure."""
    return word.isalpha() and word.islower() and word not in _KEPT


def _gaps(words: list[str], share: float, longest: int, rng: Rng) -> list[str]:
    left, skip = [], 0
    for place, word in enumerate(words):
        if place and not skip and rng.chance(share / longest):
            skip = longest
        if skip and _may_change(word):
            skip -= 1
            continue
        skip = 0
        left.append(word)
    return left


def _slips(words: list[str], share: float, rng: Rng) -> list[str]:
    return [
        _mistyped(word, rng)
        if len(word) >= _SHORTEST_SLIP and _may_change(word) and rng.chance(2 * share)
        else word
        for word in words
    ]


def _mistyped(word: str, rng: Rng) -> str:
    """The word with two letters exchanged, one left out or one doubled, never the first."""
    at = rng.integer(1, len(word) - 2)
    slip = rng.integer(0, 2)
    if slip == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + (word[at + 1 :] if slip == 1 else word[at] + word[at:])


def _without_capitals(words: list[str]) -> list[str]:
    return [word.lower() if _PLAIN.fullmatch(word) else word for word in words]
