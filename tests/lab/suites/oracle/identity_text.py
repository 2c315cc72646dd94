"""Records of people, companies and things that are written in different ways."""

from __future__ import annotations

import re
from typing import Any

from tests.lab.suites.oracle import reading
from tests.lab.suites.oracle.branch_text import blocks_of, is_idle
from thisthat.items.item import Item
from thisthat_lab.suites.base.fields import Domain, Flag
from thisthat_lab.suites.branch.machinery.identities import KINDS, Kind

_TITLES = ("record A", "record B", "left", "right", "entry 1", "entry 2")
_NAMES = ("name", "patient_name", "family_doctor")
_DATES = ("birth_date", "date_of_birth", "founded", "first_registered")


def agreement_domain(kind: Kind) -> Domain:
    """The traits of a kind as statements that they agree."""
    return Domain(
        kind.noun,
        kind.prefix,
        tuple(
            Flag(trait.key, f"the {trait.plural} agree", f"the {trait.plural} differ")
            for trait in kind.traits
        ),
    )


def same(key: str, one: str, two: str) -> bool:
    """Whether two ways of writing mean the same."""
    if key in _DATES:
        return reading.day(one) == reading.day(two)
    if key in _NAMES:
        return sorted(re.findall(r"\w+", one.lower())) == sorted(re.findall(r"\w+", two.lower()))
    return re.sub(r"[\W_]", "", one.lower()) == re.sub(r"[\W_]", "", two.lower())


def pair_of(item: Item) -> tuple[dict[str, Any], dict[str, Any], Kind, list[Any]]:
    """Two records side by side, their kind, and what else the state says."""
    if isinstance(item.state, dict):
        titles = {title.replace(" ", "_") for title in _TITLES}
        first, second = (item.state[key] for key in item.state if key in titles)
        assert isinstance(first, dict)
        assert isinstance(second, dict)
        rest = [value for key, value in item.state.items() if key not in titles]
    else:
        assert isinstance(item.state, str)
        pair, rest = [], []
        for block in blocks_of(item.state):
            heading = block.split("\n")[0].strip("#[]: ").lower()
            if heading in {title.lower() for title in _TITLES}:
                pair.append(_lines(block))
            elif not is_idle(block):
                rest.append(block)
        first, second = pair
    keys = set(first) | set(second)
    noun = " ".join([item.question, *(text or "" for _, text in item.options), *map(str, rest)])
    kinds = [k for k in KINDS if keys <= {trait.key for trait in k.traits}]
    kind = kinds[0] if len(kinds) == 1 else _by_traits(kinds, noun)
    return dict(first), dict(second), kind, rest


def _by_traits(kinds: list[Kind], text: str) -> Kind:
    """The kind whose traits the rule names most of."""
    return max(kinds, key=lambda kind: sum(trait.plural in text.lower() for trait in kind.traits))


def _lines(block: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in block.splitlines()[1:]:
        key, _, shown = line.partition(": ")
        found[key.replace(" ", "_")] = None if shown in ("unknown", "-", "not given") else shown
    return found


def which_record(item: Item) -> int:
    """The only candidate that agrees in everything the rule names."""
    plurals = [(trait.plural, trait.key) for kind in KINDS for trait in kind.traits]
    rule = " ".join([item.question, *reading.texts_in(item.state)])
    found = re.search(r"A record matches when the (.*?) agree\.", rule)
    assert found is not None
    named = re.split(r", | and ", found[1])
    if isinstance(item.state, dict):
        key = next(key for key in ("incoming", "looked_for", "new_entry") if key in item.state)
        wanted: Any = item.state[key]
        candidates: Any = item.state.get("candidates", {})
    else:
        assert isinstance(item.state, str)
        blocks = {b.split("\n")[0].strip("#[]: ").lower(): b for b in blocks_of(item.state)}
        key = next(key for key in ("incoming", "looked for", "new entry") if key in blocks)
        wanted = _traits(blocks[key].split("\n")[1])
        candidates = {}
        for line in blocks.get("candidates", "").splitlines()[1:]:
            name, _, text = line.partition(": ")
            candidates[name] = _traits(text)
    if not candidates:
        candidates = {name: _traits(text) for name, text in item.options if text is not None}
    fitting = []
    for name, one in candidates.items():
        keys = [next(k for p, k in plurals if p == plural and k in one) for plural in named]
        if all(same(k, wanted[k], one[k]) for k in keys):
            fitting.append(name)
    if not fitting:
        return _none(item)
    (name,) = fitting
    return reading.option(item, name)


def _none(item: Item) -> int:
    (place,) = [
        index
        for index, (name, _) in enumerate(item.options)
        if name in ("none", "no match", "a new record")
    ]
    return place


def _traits(text: str) -> dict[str, str]:
    """``name Ana Ruiz; birth date 5 May 2020`` and its like."""
    keys = {trait.key.replace("_", " "): trait.key for kind in KINDS for trait in kind.traits}
    found = {}
    for part in text.split("; "):
        shown = max((one for one in keys if part.startswith(one + " ")), key=len)
        found[keys[shown]] = part[len(shown) + 1 :]
    return found
