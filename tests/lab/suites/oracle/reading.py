"""Numbers, days, clocks, comparisons and JSON, read from text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from thisthat.items.item import Item

MONTH = (
    "January|February|March|April|May|June|July|August|September|October|November|December"
)  # fmt: skip
DATE = rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}} (?:{MONTH}) \d{{4}}|(?:{MONTH}) \d{{1,2}}, \d{{4}})"
NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
# Longer words first: "no more than" holds "more than".
BOUNDS = {
    "no less than": ">=", "no more than": "<=", "greater than": ">", "smaller than": "<",
    "higher than": ">", "lower than": "<", "more than": ">", "less than": "<", "not below": ">=",
    "not above": "<=", "at least": ">=", "short of": "<", "at most": "<=", "up to": "<=",
    "above": ">", "below": "<", "under": "<", "over": ">",
}  # fmt: skip
BOUNDS_AFTER = {"or more": ">=", "or above": ">=", "or less": "<="}
DAYS = {
    "on or before": "<=", "no earlier than": ">=", "no later than": "<=", "on or after": ">=",
    "earlier than": "<", "not before": ">=", "later than": ">", "not after": "<=", "before": "<",
    "after": ">",
}  # fmt: skip
DAYS_AFTER = {"or later": ">=", "or earlier": "<="}
COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": lambda value, limit: not value < limit,
    ">": lambda value, limit: bool(limit < value),
    "<=": lambda value, limit: not limit < value,
    "<": lambda value, limit: bool(value < limit),
}


def one_of(words: Any) -> str:
    """A pattern for any of these words, the longest first."""
    return "(?:" + "|".join(re.escape(one) for one in sorted(words, key=len, reverse=True)) + ")"


def number(text: str) -> float:
    """The first number of a text, whatever unit stands around it."""
    found = re.search(rf"(-?)\$?(-?)({NUMBER})", text)
    assert found is not None, text
    value = float(found[3].replace(",", ""))
    return -value if found[1] or found[2] else value


def count(text: str) -> int:
    """``three`` or ``3``."""
    return COUNTS.index(text.lower()) if text.lower() in COUNTS else int(text)


def day(text: str) -> int:
    """A date in any of the three ways of writing it, as a number that can be subtracted."""
    for form in ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y"):
        try:
            return datetime.strptime(text, form).date().toordinal()
        except ValueError:
            continue
    raise AssertionError(text)


def clock(text: str) -> int:
    """``14:30`` or ``2:30 pm`` as minutes since midnight."""
    found = re.fullmatch(r"(\d+):(\d\d)(?: (am|pm))?", text)
    assert found is not None, text
    hour = int(found[1])
    if found[3] is not None:
        hour = hour % 12 + (12 if found[3] == "pm" else 0)
    return hour * 60 + int(found[2])


def comparison(text: str, read: Callable[[str], float]) -> tuple[str, float]:
    """``at least 5 kg`` or ``5 kg or more`` (or their likes for days) as sign and limit."""
    text = text.strip().lower()
    before = DAYS if read is day else BOUNDS
    after = DAYS_AFTER if read is day else BOUNDS_AFTER
    for words, sign in before.items():
        if text.startswith(words + " "):
            return sign, read(text[len(words) + 1 :])
    for words, sign in after.items():
        if text.endswith(" " + words):
            return sign, read(text[: -len(words) - 1])
    raise AssertionError(text)


def loaded(item: Item) -> Any:
    """The state as JSON where it is JSON (or JSON in a string), else as text."""
    if isinstance(item.state, str) and item.state[:1] in "{[" and item.state[-1:] in "}]":
        try:
            return json.loads(item.state)
        except json.JSONDecodeError:
            return item.state
    return item.state


def texts_in(state: Any) -> list[str]:
    """Every text of a JSON state, at any depth."""
    if isinstance(state, str):
        return [state]
    inner = state.values() if isinstance(state, dict) else state if isinstance(state, list) else ()
    return [text for one in inner for text in texts_in(one)]


def option(item: Item, name: str) -> int:
    """The place of the option with this name."""
    places = [index for index, (known, _) in enumerate(item.options) if known == name]
    assert len(places) == 1, (name, item.options)
    return places[0]


def yes_no(item: Item, answers: set[bool]) -> int:
    """The place of yes, of no, or of the abstain option when both are possible."""
    if len(answers) > 1:
        return option(item, item.facts["abstain"])
    return option(item, "yes" if answers.pop() else "no")


def level(item: Item, levels: set[int]) -> int:
    """The level, or the abstain option when several are possible."""
    return option(item, item.facts["abstain"]) if len(levels) > 1 else levels.pop()
