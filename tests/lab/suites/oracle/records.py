"""Families over typed records: checks, routes, ratings, counts, statements and pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from tests.lab.suites.oracle import reading
from tests.lab.suites.oracle.logic import TOKEN, Clause, holds, outcomes
from tests.lab.suites.oracle.record_text import Sheet, flat, vocabulary
from thisthat.items.item import Item
from thisthat_lab.suites.branch.families.records import duplicate_ticket
from thisthat_lab.suites.branch.machinery.declared import declared_names, own_types
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.fields import NumberField, RecordType

Truth = Callable[[Sequence[bool]], bool]
_OWN_TYPES: dict[str, tuple[RecordType, ...]] = {
    "duplicate_ticket": duplicate_ticket.TYPES,
    **{name: types for name in declared_names() if (types := own_types(name))},
}


def sheet_of(item: Item) -> Sheet:
    """The state of the item taken apart."""
    return Sheet(item, vocabulary(_OWN_TYPES.get(item.family, record_types())))


def _asked_row(sheet: Sheet, text: str) -> dict[str, Any]:
    """The record that a question is about."""
    if len(sheet.rows) == 1:
        return next(iter(sheet.rows.values()))
    (name,) = {name for name in sheet.rows if re.search(rf"{name}(?!\d)", text)}
    return sheet.rows[name]


# How a rule is opened, and how a question can be told that asks for its failure.
CHECKS = {
    "contract_clause": (
        r"Playbook position for a [\w -]+:|A [\w -]+ is compliant exactly when this is so:|"
        r"Counsel accepts a [\w -]+ under this rule and no other:|Required terms:",
        r"depart|another round|a gap|break",
    ),
    "feature_flag": (
        r"Targeting rule of the flag:|The feature is shown to a [\w -]+ exactly when:|"
        r"flag audience =|Rollout condition \(everyone else keeps the old version\):",
        r"flag off|outside|keep the old|left out",
    ),
    "loan_precheck": (
        r"A [\w -]+ passes the pre-check exactly when this holds:|Pre-check rule for a [\w -]+:|"
        r"To go forward, a [\w -]+ has to satisfy this rule; otherwise it is turned away:|"
        r"The lender lets a [\w -]+ through only under this rule, and always then:",
        r"fail|turned away|stopped|ruled out",
    ),
}


def check(item: Item) -> int:
    """Whether the record satisfies the rule, or fails it, as is asked."""
    sheet = sheet_of(item)
    record = _asked_row(sheet, item.question)
    clauses: list[Clause] = []
    described = [(name, text) for name, text in item.options[:2] if text]
    if described:
        name, text = described[0]
        found = re.fullmatch(r"This (holds|does not hold): (.*)", text, re.S)
        assert found is not None
        rule, wanted = sheet.words.scan(found[2], clauses), found[1] == "holds"
        wanted = wanted is (name == "yes")
        return reading.yes_no(
            item, outcomes(clauses, record, lambda marks: holds(rule, marks) is wanted)
        )
    leads, denials = CHECKS[item.family]
    spoken = sheet.words.scan(f"{sheet.rest}\n\n{item.question}", clauses)
    opening = re.search(leads, spoken)
    assert opening is not None, spoken
    rule = _up_to_last_token(spoken[opening.end() :])
    asked = re.search(denials, _question_in(item.question)) is None
    return reading.yes_no(
        item, outcomes(clauses, record, lambda marks: holds(rule, marks) is asked)
    )


def _question_in(text: str) -> str:
    """The line that ends with a question mark (and perhaps a name in brackets)."""
    (line,) = [one for one in text.splitlines() if re.search(r"\?(?: \([^)]*\))?$", one)]
    return line


def _up_to_last_token(text: str) -> str:
    *_, last = re.finditer(rf"{TOKEN}\)?", text)
    return text[: last.end()]


_SAYS = (
    r"Is it true that (.*)\?", r"Would you say that (.*)\?", r"Is it so that (.*)\?",
    r"Statement: (.*)\. Is it right\?", r"(.*)\. True\?", r"Does the record say that (.*)\?",
    r"True or false: (.*)\.", r"Check this against the data: (.*)\.",
    r"Criterion: (.*)\. Is it met\?", r"Answer yes if (.*), otherwise no\.",
    r"The branch is taken when (.*)\. Is it taken\?",
    r"if \((.*)\) then proceed\. Does it proceed\?",
    r"A colleague claims that (.*)\. Does the record bear this out\?",
    r"Someone reports that (.*)\. Is the report correct\?",
    r"The summary says that (.*)\. Does that agree with the entry\?",
    r"Can it be confirmed that (.*)\?",
)  # fmt: skip
_DENIES = (
    r"Statement: (.*)\. Is it wrong\?", r"Is it false that (.*)\?",
    r"A colleague claims that (.*)\. Does the record contradict this\?",
    r"Answer no if (.*), otherwise yes\.", r"Skip the entry unless (.*)\. Is it skipped\?",
    r"The summary says that (.*)\. Is the summary mistaken\?",
)  # fmt: skip
_ABOUT = r"(?:for|in the case of) [\w' -]+ [A-Z]{2}-\d+, "


def facts_hold(item: Item) -> int:
    """Whether what is said of the record is so."""
    sheet = sheet_of(item)
    clauses: list[Clause] = []
    meaning = dict(item.options[:2]).get("yes")
    source = meaning or item.question
    record = _asked_row(sheet, source)
    text = sheet.words.scan(source, clauses)
    wanted = True
    if not meaning:
        text, wanted = _statement(text)
    text = re.sub(rf"^{_ABOUT}", "", text, flags=re.I)
    return reading.yes_no(
        item, outcomes(clauses, record, lambda marks: holds(text, marks) is wanted)
    )


def _statement(question: str) -> tuple[str, bool]:
    for patterns, wanted in ((_SAYS, True), (_DENIES, False)):
        for pattern in patterns:
            found = re.fullmatch(pattern, question, re.S)
            if found:
                return found[1], wanted
    found = re.fullmatch(r"Is it (not the case that .*)\?", question)
    if found:
        bare = re.sub(rf"that {_ABOUT}", "that ", found[1])
        return f"it is {bare}", True
    found = re.fullmatch(r"(?:[\w' -]+ [A-Z]{2}-\d+: )?(.*)\?", question)
    assert found is not None, question
    return found[1], True


def route(item: Item) -> int:
    """The outcome of the first line that applies."""
    sheet = sheet_of(item)
    (record,) = sheet.rows.values()
    names = [name for name, _ in item.options if name != item.facts.get("abstain")]
    clauses: list[Clause] = []
    lines: list[tuple[str | None, str]] = []
    if any(text for name, text in item.options if name in names):
        for name, text in item.options:
            rest = text in ("None of the others applies.", "Everything else.")
            lines.append((None if rest else sheet.words.scan(str(text), clauses), name))
        lines.sort(key=lambda line: line[0] is None)
    else:
        for line in sheet.words.scan(f"{sheet.rest}\n{item.question}", clauses).splitlines():
            found = _line(line, names)
            if found is not None:
                lines.append(found)
    assert [what is None for what, _ in lines] == [False] * (len(names) - 1) + [True], lines

    def decide(marks: Sequence[bool]) -> str:
        return next(name for what, name in lines if what is None or holds(what, marks))

    found_names = outcomes(clauses, record, decide)
    return reading.option(
        item, item.facts["abstain"] if len(found_names) > 1 else found_names.pop()
    )


def _line(line: str, names: Sequence[str]) -> tuple[str | None, str] | None:
    """A line of the list: its condition (None for the rest) and its outcome; None for others."""
    name = f"(?P<name>{reading.one_of(names)})"
    what = rf"(?P<what>{TOKEN}(?:\W+(?:and |or )?{TOKEN})*)"
    for pattern in (
        rf"(?:\d+\. )?if {what}: {name}\.",
        rf"(?:\d+\. )?{name} if {what}\.",
        rf"(?:\d+\. )?{what} -> {name}\.",
        rf"(?:\d+\. )?when {what}, choose {name}\.",
        rf"(?:\d+\. )?(?:otherwise|in all other cases): {name}\.",
    ):
        found = re.fullmatch(pattern, line.strip(), re.I)
        if found:
            (known,) = [one for one in names if one.lower() == found["name"].lower()]
            return found.groupdict().get("what"), known
    return None


def _fits(text: str, value: float, most: int) -> bool:
    """Whether a definition of a level fits a number, a total, a count or a climb."""
    text = text.strip().rstrip(".")
    amount = rf"(-?\$?{reading.NUMBER}%?(?: [\w/]+)*?)"
    if text in ("none of them", "all of them"):
        return value == (0 if text.startswith("none") else most)
    if text == "condition 1 fails":
        return value == 0
    patterns: tuple[tuple[str, Callable[[Any], bool]], ...] = (
        (r"conditions? (?:1 to )?(\d+) (?:all )?met(?:, condition \d+ fails)?",
         lambda found: value == int(found[1])),
        (r"(?:exactly )?(\w+)(?: of the conditions| met| fulfilled)",
         lambda found: value == reading.count(found[1])),
        (r"exactly (\w+)", lambda found: value == reading.count(found[1])),
        (rf"at least {amount} but below {amount}",
         lambda found: reading.number(found[1]) <= value < reading.number(found[2])),
        (rf"from {amount} up to, not including, {amount}",
         lambda found: reading.number(found[1]) <= value < reading.number(found[2])),
        (rf"(?:below|less than|under) {amount}", lambda found: value < reading.number(found[1])),
        (rf"(?:at least {amount}|{amount} or more|from {amount} upwards)",
         lambda found: value >= reading.number(next(one for one in found.groups() if one))),
        (rf"{amount} to {amount}",
         lambda found: reading.number(found[1]) <= value <= reading.number(found[2])),
        (amount, lambda found: value == reading.number(found[1])),
    )  # fmt: skip
    for pattern, test in patterns:
        found = re.fullmatch(pattern, text)
        if found:
            return test(found)
    raise AssertionError(text)


def definitions(names: Sequence[str], text: str) -> list[str] | None:
    """What the names of a scale mean, where the text says so for each of them in a row."""
    for arrow in (" = ", ": ", " -> ", " means ", " is "):
        if not all(f"{name}{arrow}" in text for name in names):
            continue
        for between in ("; ", "\n"):
            for order in (list(names), list(reversed(names))):
                body = between.join(
                    rf"{re.escape(name)}{re.escape(arrow)}([^;\n.]+?)" for name in order
                )
                found = re.search(rf"(?:^|(?<=\s)){body}(?=\.|\n|$)", text)
                if found:
                    groups = list(found.groups())
                    return groups if order == list(names) else groups[::-1]
    return None


def rating(item: Item) -> int:
    """The level that the rubric gives the record."""
    sheet = sheet_of(item)
    (record,) = sheet.rows.values()
    clauses: list[Clause] = []
    text = sheet.words.scan(f"{sheet.rest}\n{item.question}", clauses)
    names = [str(said) for name, said in item.options if name != item.facts.get("abstain")]
    lined = _proposals(text, names)
    if lined is not None:
        return reading.level(item, outcomes(clauses, record, lined))
    meanings = definitions(names, text) or [name.rpartition(": ")[2] for name in names]
    band = re.search(
        r"The level depends on (.*?) alone\.|Go by (.*?)\.|Read the level off (.*?):|"
        r"What counts is (.*?)\.",
        text,
    )

    def level_of(value: float, most: int = 0) -> int:
        (place,) = [i for i, said in enumerate(meanings) if _fits(said, value, most)]
        return place

    if band is not None and not clauses:
        phrase = next(one for one in band.groups() if one)
        value = record.get(phrase)
        return reading.option(item, item.facts["abstain"]) if value is None else level_of(value)
    weights = _weights(text)
    if weights is not None:
        start = re.search(r"(?:Start at|Base score:) (\d+) points", text)
        first = int(start[1]) if start else 0
        return reading.level(
            item,
            outcomes(
                clauses,
                record,
                lambda marks: level_of(first + sum(weights[i] for i, m in enumerate(marks) if m)),
            ),
        )
    most = len(clauses)
    if re.search(r"Count how many of these|by how many of these|Tick each line", text):
        return reading.level(
            item, outcomes(clauses, record, lambda marks: level_of(marks.count(True), most))
        )
    assert re.search(r"at the first that fails|counts only if all|Climb one step", text), text
    numbers = re.findall(r"(\d+)\. ⟦(\d+)⟧", text)
    order = [int(place) for _, place in sorted(numbers, key=lambda pair: int(pair[0]))]
    assert sorted(order) == list(range(most))

    def climb(marks: Sequence[bool]) -> int:
        height = 0
        while height < most and marks[order[height]]:
            height += 1
        return level_of(height, most)

    return reading.level(item, outcomes(clauses, record, climb))


def _weights(text: str) -> dict[int, int] | None:
    found: dict[int, int] = {}
    for size, place in re.findall(r"([+-]\d+) if ⟦(\d+)⟧", text, re.I):
        found[int(place)] = int(size)
    for word, size, place in re.findall(r"(Add|Take off) (\d+) points? if ⟦(\d+)⟧", text):
        found[int(place)] = int(size) if word == "Add" else -int(size)
    for place, word, size in re.findall(r"⟦(\d+)⟧: (plus|minus) (\d+) points?", text):
        found[int(place)] = int(size) if word == "plus" else -int(size)
    return found or None


def _proposals(text: str, names: Sequence[str]) -> Callable[[Sequence[bool]], int] | None:
    """Lines that each propose a level, and which of those that apply stands."""
    lead = re.search(
        r"(Take the first line|The first match wins)|(highest level stands|Take the highest)|"
        r"(lowest level stands|Take the lowest)",
        text,
    )
    if lead is None:
        return None
    lines = []
    for found in re.finditer(r"⟦(\d+)⟧(?::| ->) '([^']*)'\.|'([^']*)' when ⟦(\d+)⟧\.", text):
        place, name = (found[1], found[2]) if found[1] else (found[4], found[3])
        lines.append((int(place), names.index(name)))
    default = re.search(r"(?:If no line applies|Otherwise): '([^']*)'", text)
    assert default is not None
    otherwise = names.index(default[1])

    def decide(marks: Sequence[bool]) -> int:
        proposed = [level for place, level in lines if marks[place]]
        if not proposed:
            return otherwise
        return proposed[0] if lead[1] else max(proposed) if lead[2] else min(proposed)

    return decide


def count_matching(item: Item) -> int:
    """How many of the records satisfy the rule, or miss it."""
    sheet = sheet_of(item)
    clauses: list[Clause] = []
    text = sheet.words.scan(item.question, clauses)
    rule = re.sub(
        r"^(?:How many entries (?:do not )?satisfy this\?|"
        r"Count the records for which the following is (?:not )?so\.|"
        r"For how many does this (?:hold|fail)\?|Condition:) ",
        "",
        text,
    )
    failing = (
        re.search(r"do not satisfy this\?|is not so\.|this fail\?|miss it\?", text) is not None
    )
    rule = _up_to_last_token(rule)
    met = 0
    for record in sheet.rows.values():
        (truth,) = outcomes(clauses, record, lambda marks: holds(rule, marks))
        met += truth is not failing
    size = len(sheet.rows)
    ways = {str(met), f"exactly {met}", f"{met} of {size}"}
    ways |= {"none"} if met == 0 else set()
    ways |= {f"all {size}"} if met == size else set()
    (place,) = [i for i, (_, said) in enumerate(item.options) if said in ways]
    return place


def facts_across(item: Item) -> int:
    """Whether a statement about several records is so."""
    sheet = sheet_of(item)
    clauses: list[Clause] = []
    text = sheet.words.scan(item.question, clauses)
    denied = re.search(r"^Is it false|Is it wrong\?|contradict", text) is not None
    values = list(sheet.rows.values())
    met = sum(
        outcomes(clauses, record, lambda marks: all(marks)).pop() for record in values if clauses
    )
    quantity = re.search(
        rf"(there is at least one|for every|there is no|for at least (\w+) of the listed|"
        rf"for exactly (\w+) of the listed)[\w ]*? {TOKEN}",
        text,
    )
    if quantity:
        truth = {
            "there is at least one": met != 0,
            "for every": met == len(values),
            "there is no": met == 0,
        }.get(quantity[1])
        if truth is None:
            truth = (
                met >= reading.count(quantity[2])
                if quantity[2]
                else (met == reading.count(quantity[3]))
            )
        return reading.yes_no(item, {truth is not denied})
    return reading.yes_no(item, {_compared(sheet, item.question) is not denied})


def _compared(sheet: Sheet, text: str) -> bool:
    names = {name for name in sheet.rows if re.search(rf"{name}(?!\d)", text)}
    (phrase,) = [f.phrase for f in sheet.words.kind.fields if f"'{f.phrase}'" in text]
    value = {name: record[phrase] for name, record in sheet.rows.items()}
    found = re.search(r"is (later|higher|earlier|lower) for (\S+) than for ([^\s.?]+)", text)
    if found:
        gap = value[found[2]] - value[found[3]]
        return bool(gap > 0 if found[1] in ("later", "higher") else gap < 0)
    if "have the same" in text:
        one, two = names
        return bool(value[one] == value[two])
    assert re.search(r"comes up to|than all the others", text), text
    (name,) = names
    return all(value[name] > value[other] for other in value if other != name)


def _possible(marks: Sequence[bool | None]) -> list[tuple[bool, ...]]:
    return list(product(*((True, False) if mark is None else (mark,) for mark in marks)))


def _agreement(sheet: Sheet, phrase: str) -> bool | None:
    left, right = (record.get(phrase) for record in sheet.rows.values())
    if left is None or right is None:
        return None
    return set(left) == set(right) if isinstance(left, tuple) else bool(left == right)


def duplicates(item: Item) -> int:
    """Whether everything that the rule names agrees, and the days are close enough."""
    sheet = sheet_of(item)
    text = f"{sheet.rest}\n{item.question}"
    near = re.search(
        r"'(?P<a>[^']+)' must lie at most (?P<m>\d+) days apart|"
        r"no more than (?P<n>\d+) days apart by '(?P<b>[^']+)'|"
        r"More than (?P<o>\d+) days between the '(?P<c>[^']+)' dates rules it out",
        text,
    )
    marks: list[bool | None] = []
    if near:
        phrase = near["a"] or near["b"] or near["c"]
        first, second = (record[phrase] for record in sheet.rows.values())
        marks.append(abs(first - second) <= int(near["m"] or near["n"] or near["o"]))
        text = text.replace(near[0], "")
    named = [f.phrase for f in sheet.words.kind.fields if f"'{f.phrase}'" in text]
    assert named
    marks += [_agreement(sheet, phrase) for phrase in named]
    apart = re.search(r"separate cases\?|kept apart\?|wrong to merge", text) is not None
    return reading.yes_no(item, {all(one) is not apart for one in _possible(marks)})


def record_agreement(item: Item) -> int:
    """On how many of the named fields two records agree, or differ."""
    sheet = sheet_of(item)
    named = [f.phrase for f in sheet.words.kind.fields if f"'{f.phrase}'" in item.question]
    differ = re.search(r"\b(?:differ|disagree)\b", item.question) is not None
    marks = [_agreement(sheet, phrase) for phrase in named]
    levels = {one.count(not differ) for one in _possible(marks)}
    if len(levels) == 1 and re.match(r"none of|all|\d+ of", str(item.options[0][1])):
        (met,) = levels
        size = len(named)
        said = "none of" if met == 0 else f"all {size}" if met == size else f"{met} of {size}"
        (place,) = [i for i, (_, text) in enumerate(item.options) if str(text).startswith(said)]
        return place
    return reading.level(item, levels)


def change_level(item: Item) -> int:
    """How two readings of one figure differ, by the margins that are stated."""
    state = reading.loaded(item)
    names = [str(said) for name, said in item.options if name != item.facts.get("abstain")]
    said = (
        item.question
        + "\n"
        + "\n".join(reading.texts_in(state) if not isinstance(state, str) else [state])
    )
    phrases = {
        field.phrase: field
        for kind in record_types()
        for field in kind.fields
        if isinstance(field, NumberField)
    }
    asked = [
        phrase
        for phrase in phrases
        if re.search(
            rf"How did the {re.escape(phrase)} of the|movement in {re.escape(phrase)}\.|"
            rf"change in {re.escape(phrase)}\?|readings of {re.escape(phrase)}\.",
            item.question,
        )
    ]
    old, new = _readings(state, max(asked, key=len))
    if old is None or new is None:
        return reading.option(item, item.facts["abstain"])
    return names.index(_change(new - old, said))


def _readings(state: Any, phrase: str) -> tuple[float | None, float | None]:
    if isinstance(state, str):
        line = re.search(rf"^(?:[\w ]+: )?{re.escape(phrase)}: (.*)$", state, re.M)
        assert line is not None, state
        for before, after in _WHEN:
            found = re.fullmatch(rf"{before} (.*), {after} (.*)", line[1])
            if found:
                one, two = (None if t == "missing" else reading.number(t) for t in found.groups())
                return one, two
        raise AssertionError(line[0])
    for content in (state, *state.values()):
        for before, after in _WHEN:
            pair = [before.replace(" ", "_"), after.replace(" ", "_")]
            if isinstance(content, dict) and set(pair) <= set(content):
                keys = [k for k in content[pair[0]] if flat(k).startswith(flat(phrase))]
                key = min(keys, key=len)
                return content[pair[0]][key], content[pair[1]][key]
    raise AssertionError(state)


_WHEN = (
    ("last month", "this month"), ("before", "after"), ("in the morning", "in the evening"),
    ("at the first visit", "at the second visit"), ("previous", "current"),
    ("baseline", "latest"),
)  # fmt: skip


def _change(moved: float, text: str) -> str:
    two = re.search(
        r"'([^']*)' means a larger number than before, anything else is '([^']*)'", text
    )
    if two:
        return two[1] if moved > 0 else two[2]
    level = re.search(r"a change of up to ([^;]*?) either way is '([^']*)'", text)
    assert level is not None, text
    if abs(moved) <= reading.number(level[1]):
        return level[2]
    three = re.search(r"a greater fall is '([^']*)', a greater rise '([^']*)'", text)
    if three:
        return three[1] if moved < 0 else three[2]
    five = re.search(
        r"beyond that, up to (.*?) down is '([^']*)' and up to .*? up is '([^']*)'; "
        r"still more is '([^']*)' or '([^']*)'",
        text,
    )
    assert five is not None, text
    near = abs(moved) <= reading.number(five[1])
    if moved < 0:
        return five[2] if near else five[4]
    return five[3] if near else five[5]
