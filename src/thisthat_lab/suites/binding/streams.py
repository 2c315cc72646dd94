"""Endless binding items: a few named things in a state, and several questions about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from thisthat.items.item import Item
from thisthat.questions import Kind, Text
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import YES_NO
from thisthat_lab.suites.binding.words import LEVELS, NAMES, THINGS
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_WHICH = _TABLES.words("which")
_IS_IT = _TABLES.words("is_it")


@dataclass(frozen=True)
class BindingSettings:
    """``facts`` is the most things a state names, ``questions`` the most asked about it."""

    facts: int = 3
    questions: int = 6


def training_items(seed: int, settings: BindingSettings | None = None) -> Iterator[Item]:
    """Items about one state follow one another."""
    settings = settings or BindingSettings()
    rng = Rng("binding", seed)
    while True:
        kinds = rng.sample([*THINGS, *LEVELS], rng.integer(1, settings.facts))
        facts = {kind: rng.choice(THINGS.get(kind) or LEVELS[kind]) for kind in kinds}
        state = _state(facts, rng)
        for _ in range(rng.integer(1, settings.questions)):
            yield _question(state, facts, rng)


def _state(facts: dict[str, str], rng: Rng) -> Text:
    style = rng.integer(0, 4)
    if style == 0:
        return dict(facts)
    if style == 1:
        return json.dumps(facts)
    if style == 2:
        return "\n".join(f"{kind}: {name}" for kind, name in facts.items())
    if style == 3:
        parts = [f"the {kind} is {name}" for kind, name in facts.items()]
        return f"{rng.choice(NAMES)} says that {', '.join(parts)}."
    return " ".join(f"{rng.choice(NAMES)} wrote {name} as {kind}." for kind, name in facts.items())


def _question(state: Text, facts: dict[str, str], rng: Rng) -> Item:
    kind = rng.choice(list(facts))
    right = facts[kind]
    if rng.chance(0.3):
        return _yes_or_no(state, kind, right, rng)
    question = rng.choice(_WHICH).format(kind=kind)
    if kind in LEVELS:
        levels = LEVELS[kind]
        return _item("score", state, question, levels, levels.index(right))
    others = rng.sample([name for name in THINGS[kind] if name != right], rng.integer(1, 7))
    options = tuple(rng.shuffled([right, *others]))
    return _item("choice", state, question, options, options.index(right))


def _yes_or_no(state: Text, kind: str, right: str, rng: Rng) -> Item:
    yes = rng.chance(0.5)
    names = THINGS.get(kind) or LEVELS[kind]
    name = right if yes else rng.choice([other for other in names if other != right])
    question = rng.choice(_IS_IT).format(kind=kind, name=name)
    return Item("binding", "binding_is", "boolean", state, question, YES_NO, int(yes))


def _item(kind: Kind, state: Text, question: str, names: tuple[str, ...], answer: int) -> Item:
    options = tuple((name, None) for name in names)
    return Item("binding", f"binding_{kind}", kind, state, question, options, answer)
