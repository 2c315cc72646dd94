"""Conditions and how they are joined: truth by trying out every value that is not known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

from tests.lab.suites.oracle.reading import COUNTS, count

Outcome = TypeVar("Outcome")
Decide = Callable[[Sequence[bool]], Outcome]
TOKEN = r"⟦\d+⟧"
_JOINED = rf"{TOKEN}(?:(?:,| and|, and|,? or| AND| OR|;) {TOKEN})*"


@dataclass(frozen=True)
class Clause:
    """A test of one field, and values on both sides of it."""

    field: str
    test: Callable[[Any], bool]
    tries: tuple[Any, ...]


def outcomes(
    clauses: Sequence[Clause], record: Mapping[str, Any], decide: Decide[Outcome]
) -> set[Outcome]:
    """Everything that ``decide`` can say, over all values of the facts that are not known."""
    missing = sorted({one.field for one in clauses if record.get(one.field) is None})
    tries = [
        [value for one in clauses if one.field == field for value in one.tries] for field in missing
    ]
    found = set()
    for values in product(*tries):
        filled = {**record, **dict(zip(missing, values, strict=True))}
        found.add(decide([one.test(filled[one.field]) for one in clauses]))
    return found


def tokens(text: str) -> list[int]:
    """The numbers of the conditions in a text, in order."""
    return [int(one) for one in re.findall(r"⟦(\d+)⟧", text)]


def _marks(text: str, marks: Sequence[bool]) -> list[bool]:
    assert re.fullmatch(rf"{TOKEN}(?:(?:,|;| or) {TOKEN})*", text), text
    return [marks[index] for index in tokens(text)]


def joined(text: str, marks: Sequence[bool]) -> bool:
    """``⟦0⟧, ⟦1⟧ and ⟦2⟧`` or the same with "or"."""
    assert re.fullmatch(_JOINED, text), text
    values = [marks[index] for index in tokens(text)]
    either = " or " in text or " OR " in text
    assert not (either and (" and " in text or " AND " in text)), text
    return any(values) if either else all(values)


_COUNT = "|".join((*COUNTS, r"\d+"))
# How a list of conditions is opened, and how many of them it asks for: a number, or all, or none.
_LEADS: tuple[tuple[str, str], ...] = (
    (r"all of the following (?:hold|must be true)", "all"),
    (r"every one of these conditions has to be met", "all"),
    (r"the conditions below apply together", "all"),
    (r"each point on this list is required", "all"),
    (r"at least one of the following (?:holds|must be true)", "any"),
    (r"at least one of these (?:holds|is so)", "any"),
    (r"any of these is true", "any"),
    (r"one of these conditions is enough", "any"),
    (r"it suffices that any one of the points below is met", "any"),
    (r"none of the following may be true", "none"),
    (r"not one of these conditions may be met", "none"),
    (r"every point below must be false", "none"),
    (r"none of these is so", "none"),
    (rf"at least ({_COUNT}) of these \d+ hold", "count"),
    (rf"at least ({_COUNT}) of the following must be true", "count"),
    (rf"at least ({_COUNT}) of", "count"),
    (rf"({_COUNT}) or more of these \d+ conditions have to be met", "count"),
    (rf"of the points below, no fewer than ({_COUNT}) must be met", "count"),
)


def enough(how: str, needed: str | None, values: Sequence[bool]) -> bool:
    """Whether as many of the values are true as a list asks for."""
    held = values.count(True)
    if how == "count":
        assert needed is not None
        return held >= count(needed)
    return {"all": held == len(values), "any": held > 0, "none": held == 0}[how]


def holds(text: str, marks: Sequence[bool]) -> bool:
    """A condition in words, its single conditions replaced by tokens."""
    text = text.strip().rstrip(".").strip()
    unless = re.fullmatch(r"(.*?), unless (.*)", text, re.S)
    if unless:
        return joined(unless[1], marks) and not holds(unless[2], marks)
    besides = re.fullmatch(r"(.*), and it is not the case that (.*)", text, re.S)
    if besides:
        return joined(besides[1], marks) and not holds(besides[2], marks)
    denied = re.fullmatch(r"(?:it is not the case that|NOT) \(?(⟦\d+⟧)\)?", text, re.I)
    if denied:
        return not holds(denied[1], marks)
    also = re.fullmatch(rf"({TOKEN}) and, in addition, (?:either )?(.*)", text)
    if also is None:
        also = re.fullmatch(rf"({TOKEN}), and at least one of these holds: (.*)", text)
    if also:
        return holds(also[1], marks) and any(_marks(also[2], marks))
    if re.fullmatch(rf"NOT \({TOKEN}\)(?: AND NOT \({TOKEN}\))+", text):
        return not any(marks[index] for index in tokens(text))
    except_for = re.fullmatch(rf"\(({_JOINED})\) AND NOT \(({TOKEN})\)", text)
    if except_for:
        return joined(except_for[1], marks) and not holds(except_for[2], marks)
    for lead, how in _LEADS:
        found = re.fullmatch(rf"{lead}:\s*(?P<list>.*)", text, re.I | re.S)
        if found:
            needed = found[1] if how == "count" else None
            return enough(how, needed, [marks[index] for index in listed(found["list"])])
    return joined(text, marks)


def listed(text: str) -> list[int]:
    """The conditions of a list: after semicolons, or one per line behind a bullet."""
    for line in re.split(r"\n|; ", text.strip()):
        bare = re.sub(r"^(?:[-*]|\d+\.|\([a-z]\)) ", "", line.strip()).rstrip(".")
        assert re.fullmatch(TOKEN, bare), text
    return tokens(text)


def from_json(rule: Any, read: Callable[[dict[str, Any]], int]) -> Callable[[Sequence[bool]], bool]:
    """A rule in JSON as a function of its conditions; ``read`` numbers a single condition."""
    if "field" in rule:
        place = read(rule)
        return lambda marks: marks[place]
    if "at_least" in rule:
        parts, needed = [from_json(one, read) for one in rule["of"]], rule["at_least"]
        return lambda marks: [part(marks) for part in parts].count(True) >= needed
    whole = "all" in rule
    parts = [from_json(one, read) for one in rule["all" if whole else "any"]]
    exception = from_json(rule["unless"], read) if "unless" in rule else None

    def truth(marks: Sequence[bool]) -> bool:
        if exception is not None and exception(marks):
            return False
        values: Iterable[bool] = [part(marks) for part in parts]
        return all(values) if whole else any(values)

    return truth
