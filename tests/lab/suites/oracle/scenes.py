"""Scenes read again from what is shown: sentences are looked for in the text, questions in turn.

Knows the tables' words and nothing of how a scene was drawn. Every sentence that could state a
value is looked for; where several are found, the last one counts, for mistakes come before what
is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

from tests.lab.suites.oracle.reading import COUNTS
from thisthat.items.item import Item
from thisthat_lab.suites.scenes.facts import fact as shared
from thisthat_lab.suites.scenes.facts.fact import Fact
from thisthat_lab.suites.scenes.facts.group import Group
from thisthat_lab.suites.scenes.facts.named import Named
from thisthat_lab.suites.scenes.facts.number import Number
from thisthat_lab.suites.scenes.facts.order import Order
from thisthat_lab.suites.scenes.facts.status import Status
from thisthat_lab.suites.scenes.facts.who import Who
from thisthat_lab.suites.scenes.table import Table, tables

FOLDER = Path(shared.__file__).parent
FRAMES = json.loads((FOLDER / "fact.json").read_text())
ORDER = json.loads((FOLDER / "order.json").read_text())
GROUP = json.loads((FOLDER / "group.json").read_text())
NAME = r"(?-i:[A-Z][a-z]+)"
NUMBER = rf"\d+:\d\d|\d+|{'|'.join(COUNTS)}"
CLOCK = r"\d+:\d\d"
BREAK = rf"\s+(?:{NAME}: )?"
"""What may stand between two sentences: in a chat the speaker's name."""


def answer(item: Item) -> int:
    """The index of the right option, from the state, the question and the options."""
    table = tables()[item.facts["table"]]
    fact = next(one for one in table.facts if one.field == item.facts["fact"])
    value = _value(fact, table, item.state)
    if item.kind == "boolean":
        holds, denied = _judged(fact, table, value, item)
        return int(holds != denied)
    return _chosen(fact, table, value, item)


def _pattern(template: str, table: Table, **gaps: str) -> str:
    """A pattern for the template: the table's words, and what ``gaps`` say, in its gaps."""
    known = {gap: f"(?:{'|'.join(map(re.escape, words))})" for gap, words in table.fill.items()}
    parts = re.split(r"\{(\w+)\}", template)
    return "".join(
        (known | gaps)[part] if number % 2 else re.escape(part) for number, part in enumerate(parts)
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _texts(state: Any) -> str:
    """All text of a state, part by part."""
    if isinstance(state, Mapping):
        return "\n".join(map(_texts, state.values()))
    return "\n".join(map(_texts, state)) if isinstance(state, list) else str(state)


def _field(fact: Fact, state: Any, field: str) -> Any:
    """What a record says of a field, None where the state is no record."""
    if isinstance(state, Mapping):
        return state.get(field)
    name = field.replace("_", " ").capitalize()
    found = re.search(rf"^{re.escape(name)}:(?: (.*)|((?:\n  .*)+))$", str(state), re.MULTILINE)
    if found is None:
        return None
    if found[1] is not None:
        return found[1]
    return dict(line.strip().rsplit(": ", 1) for line in found[2].strip().split("\n"))


def _last(found: Iterable[tuple[str, Any]], text: str) -> Any:
    """What belongs to the pattern that is found last; a function is given the match."""
    hits = [
        (match.end(), value(match) if callable(value) else value)
        for pattern, value in found
        for match in _compiled(pattern).finditer(text)
    ]
    assert hits, text
    return max(hits, key=lambda hit: hit[0])[1]


def _value(fact: Fact, table: Table, state: Any) -> Any:
    recorded = _field(fact, state, fact.field)
    if recorded is not None:
        return _recorded(fact, table, state, recorded)
    return _told(fact, table, _texts(state))


def _recorded(fact: Fact, table: Table, state: Any, recorded: Any) -> Any:
    if isinstance(fact, Number):
        limit = fact.limit and _field(fact, state, fact.limit.field)
        return _parsed(recorded), limit and _parsed(limit)
    if isinstance(fact, Order):
        return tuple(sorted(recorded, key=lambda event: _parsed(recorded[event])))
    return recorded


def _parsed(text: str) -> int:
    found = re.search(NUMBER, text, re.IGNORECASE)
    assert found is not None, text
    written = found[0].lower()
    if ":" in written:
        hours, minutes = written.split(":")
        return 60 * int(hours) + int(minutes)
    return COUNTS.index(written) if written in COUNTS else int(written)


def _told(fact: Fact, table: Table, text: str) -> Any:
    if isinstance(fact, Status):
        pairs = ((_pattern(say, table), one.name) for one in fact.values for say in one.say)
        return _last(pairs, text)
    if isinstance(fact, Named):
        return _last(
            (
                (_pattern(say, table, v=re.escape(value)), value)
                for value in fact.values
                for say in fact.say_it
            ),
            text,
        )
    if isinstance(fact, Who):
        says = (_pattern(say, table, x=f"(?P<x>{NAME})") for say in fact.say_it)
        return _last(((say, lambda match: match["x"]) for say in says), text)
    if isinstance(fact, Number):
        says = (_pattern(say, table, n=rf"(?P<n>{NUMBER})\b") for say in fact.say_it)
        number = _last(((say, lambda match: _parsed(match["n"])) for say in says), text)
        return number, _limit(fact, table, text)
    if isinstance(fact, Order):
        return _last(_orders(fact, table), text)
    assert isinstance(fact, Group)
    return _last(_groups(fact, table), text)


def _limit(fact: Number, table: Table, text: str) -> int | None:
    for say in fact.limit.say if fact.limit else ():
        found = re.search(_pattern(say, table, m=rf"(?P<m>{NUMBER})\b"), text, re.IGNORECASE)
        if found:
            return _parsed(found["m"])
    return None


def _orders(fact: Order, table: Table) -> Iterator[tuple[str, Any]]:
    def stated(match: re.Match[str]) -> tuple[str, str]:
        return match["first"], match["second"]

    for first, second in permutations(fact.events, 2):
        gaps = {"t": CLOCK, "u": CLOCK, "day": NAME, "next": NAME}
        gaps["A"] = f"(?P<first>{_pattern(first, table)})"
        gaps["B"] = f"(?P<second>{_pattern(second, table)})"
        for sentences in ORDER["say"]:
            yield BREAK.join(_pattern(one, table, **gaps) for one in sentences), stated


def _groups(fact: Group, table: Table) -> Iterator[tuple[str, Any]]:
    verb = {"past": _pattern(fact.past, table), "base": _pattern(fact.base, table)}
    names = {"x": f"(?P<x>{NAME})", "rest": f"{NAME}, {NAME} and {NAME}"}
    for key, others in (("all_but_one", True), ("one_alone", False)):
        for form in GROUP[key]:
            pattern = _pattern(form, table, **verb, **names)
            yield pattern, lambda match, others=others: (match["x"], others)


def _judged(fact: Fact, table: Table, value: Any, item: Item) -> tuple[bool, bool]:
    """Whether the proposal of a boolean holds, and whether the question denies it."""
    for claim, direct, holds in _proposals(fact, table, value):
        for denied, key in ((False, "claims"), (True, "denied")):
            for frame in FRAMES[key]:
                put = _pattern(frame, table, claim=claim, Claim=claim)
                if match := _compiled(put).fullmatch(item.question):
                    return holds(match), denied
        for pattern in direct:
            if match := _compiled(pattern).fullmatch(item.question):
                return holds(match), False
    raise AssertionError(item.question)


def _proposals(fact: Fact, table: Table, value: Any) -> Iterator[tuple[str, list[str], Any]]:
    """Claims, direct questions, and what says of a match whether the claim holds."""
    if isinstance(fact, Status):
        for one in fact.values:
            asks = [_pattern(ask, table) for ask in one.ask]
            yield _pattern(one.claim, table), asks, lambda _, one=one: one.name == value
    elif isinstance(fact, Named):
        for name in fact.values:
            gap = re.escape(name)
            asks = [_pattern(ask, table, v=gap) for ask in fact.ask_it]
            yield _pattern(fact.claim_it, table, v=gap), asks, lambda _, name=name: name == value
    elif isinstance(fact, Who):
        gap = f"(?P<x>{NAME})"
        asks = [_pattern(ask, table, x=gap) for ask in fact.ask_it]
        yield _pattern(fact.claim_it, table, x=gap), asks, lambda match: match["x"] == value
    elif isinstance(fact, Number):
        yield from _bounds(fact, table, value)
    elif isinstance(fact, Order):
        for pair in permutations(fact.events, 2):
            first, second = (_pattern(event, table) for event in pair)
            claim = rf"(?P<one>{first}) before (?P<two>{second})"
            yield claim, [], lambda match: _same(match["one"], value[0])
    elif isinstance(fact, Group):
        verb = {"past": _pattern(fact.past, table), "base": _pattern(fact.base, table)}
        gap = f"(?P<x>{NAME})"
        asks = [_pattern(ask, table, x=gap, **verb) for ask in GROUP["did"]]
        yield f"{gap} {verb['past']}", asks, lambda match: _did(match["x"], value)


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _did(name: str, value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value[name] == "yes")
    odd, others = value
    return bool((name != odd) == others)


def _bounds(fact: Number, table: Table, value: Any) -> Iterator[tuple[str, list[str], Any]]:
    number, limit = value
    gap = f"(?P<m>{NUMBER})"
    for side, above in ((fact.more, True), (fact.less, False)):
        asks = [_pattern(ask, table, m=gap) for ask in side.ask]

        def beyond(match: re.Match[str], above: bool = above) -> bool:
            return bool((number > _parsed(match["m"])) == above)

        yield _pattern(side.claim, table, m=gap), asks, beyond
    if fact.limit is not None and limit is not None:
        for side, above in ((fact.limit.over, True), (fact.limit.within, False)):
            asks = [_pattern(ask, table) for ask in side.ask]
            yield _pattern(side.claim, table), asks, lambda _, a=above: (number > limit) == a


def _chosen(fact: Fact, table: Table, value: Any, item: Item) -> int:
    names = [name for name, _ in item.options]
    if isinstance(fact, Number):
        number = value[0]
        if item.kind == "choice":
            return [_parsed(name) for name in names].index(number)
        edges = [_parsed(name) for name in names[1:]]
        return sum(number >= edge for edge in edges)
    if isinstance(fact, Order):
        last = any(_asked(text, item.question) for text in ORDER["last"])
        return [name.casefold() for name in names].index(value[int(last)].casefold())
    if isinstance(fact, Group):
        if isinstance(value, Mapping):
            said = list(value.values())
            value = next(name for name in value if said.count(value[name]) == 1), None
        return names.index(value[0])
    return names.index(value)


def _asked(wording: str, question: str) -> bool:
    return wording.casefold().strip("?") in question.casefold()
