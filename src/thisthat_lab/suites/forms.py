"""Other questions with a known answer, made by program from a question that has one.

A choice becomes "is the answer X?", a boolean its opposite, a score "is it at least X?". Whether
the new answer is yes is drawn before anything else, so that no wording leans to either side.
"""

from __future__ import annotations

from dataclasses import replace

from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import YES_NO
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_IS_RIGHT = _TABLES.words("is_right")
_IS_WRONG = _TABLES.words("is_wrong")
_NEGATED = _TABLES.words("negated")
_AT_LEAST = _TABLES.words("at_least")
_BELOW = _TABLES.words("below")


def verified(item: Item, rng: Rng) -> Item | None:
    """A boolean that proposes one option of a choice or score; None for uncertain items."""
    if item.kind == "boolean" or not _certain(item) or len(item.options) < 2:
        return None
    propose_right, ask_wrong = rng.chance(0.5), rng.chance(0.25)
    others = [place for place in range(len(item.options)) if place != item.answer]
    option = item.answer if propose_right else rng.choice(others)
    name, text = item.options[option]
    shown = f"{name}: {text}" if text and rng.chance(0.3) else text if is_bare(name) else name
    wording = rng.choice(_IS_WRONG if ask_wrong else _IS_RIGHT)
    return _boolean(
        item,
        wording.format(option=shown or name, question=item.question),
        propose_right != ask_wrong,
    )


def negated(item: Item, rng: Rng) -> Item | None:
    """A boolean asked the other way round, its descriptions exchanged; None for other kinds."""
    if item.kind != "boolean":
        return None
    (_, false), (_, true) = item.options
    target = None if item.target is None else (item.target[1], item.target[0])
    return replace(
        item,
        question=rng.choice(_NEGATED).format(question=item.question),
        options=(("no", true), ("yes", false)),
        answer=1 - item.answer,
        target=target,
    )


def at_least(item: Item, rng: Rng) -> Item | None:
    """A boolean about one level of a score; None for other kinds."""
    if item.kind != "score" or not _certain(item) or len(item.options) < 2:
        return None
    reaches, ask_below = rng.chance(0.5), rng.chance(0.3)
    levels = [level for level in range(1, len(item.options)) if (item.answer >= level) == reaches]
    if not levels:
        return None
    name, text = item.options[rng.choice(levels)]
    wording = rng.choice(_BELOW if ask_below else _AT_LEAST)
    shown = text if text and is_bare(name) else name
    return _boolean(item, wording.format(level=shown, question=item.question), reaches != ask_below)


def with_fewer_options(item: Item, rng: Rng) -> Item | None:
    """A choice among the right option and some of the others; None where there are only two."""
    if item.kind != "choice" or not _certain(item) or len(item.options) < 3:
        return None
    others = [place for place in range(len(item.options)) if place != item.answer]
    kept = sorted([item.answer, *rng.sample(others, rng.integer(1, len(others) - 1))])
    return replace(
        item,
        options=tuple(item.options[place] for place in kept),
        answer=kept.index(item.answer),
        target=None,
    )


def _boolean(item: Item, question: str, yes: bool) -> Item:
    return replace(
        item,
        family=f"{item.family}_verified",
        kind="boolean",
        question=question,
        options=YES_NO,
        answer=int(yes),
        target=None,
    )


def _certain(item: Item) -> bool:
    return item.target is None or max(item.target) == 1.0


def is_bare(name: str) -> bool:
    """Whether a name says nothing alone (``R1``, ``7``)."""
    return sum(character.isalpha() for character in name) < 3
