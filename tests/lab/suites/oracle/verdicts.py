"""Families with one record and one rule, or a list of rules, over domains."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from tests.lab.suites.oracle import reading
from tests.lab.suites.oracle.branch_text import Page, blocks_of, is_idle, json_clause, scanner
from tests.lab.suites.oracle.identity_text import agreement_domain, pair_of, same
from tests.lab.suites.oracle.logic import TOKEN, Clause, enough, from_json, holds, listed, outcomes
from thisthat.items.item import Item
from thisthat_lab.suites.base.fields import Domain
from thisthat_lab.suites.branch.machinery.shell_commands import COMMAND

Truth = Callable[[Sequence[bool]], bool]
# What follows from the rule, what otherwise, and how a question for the latter can be told.
WORDS = {
    "access": ("access is given", "access is denied", r"denied|rejected|against|miss the"),
    "refund": ("the refund is granted", "the refund is refused", r"refused|outside|fail|turned"),
    "claim": (
        "the claim is cleared for payment",
        "the claim is sent to an adjuster",
        r"adjuster|held back|withheld",
    ),
    "deploy_gate": ("the gate opens", "the gate stays shut", r"shut|held back|stopped|fail"),
    "escalation": (
        "the case is escalated",
        "the case stays with the first line",
        r"first line|without escalation|unnecessary",
    ),
    "shell_safety": (
        "the command may run",
        "the command must not run",
        r"stopped|forbidden|break|off limits",
    ),
    "same_record": (
        r"the two records are the same [\w ]+?",
        "the two records are different ones",
        r"different|separate|apart",
    ),
}
SCORES = ("severity", "order_priority", "log_anomaly", "shell_risk")
_ELSE = r"(?:In every other case|Otherwise|If not,)"


class Facts:
    """What a state says: record, domain of its fields, and the other parts of the state."""

    def __init__(self, item: Item) -> None:
        self.policies: list[Any]
        self.domain: Domain
        self.record: dict[str, Any]
        if item.family in ("shell_safety", "shell_risk"):
            self.domain, (self.record, self.policies) = COMMAND, _command(item)
        elif item.family == "same_record":
            first, second, kind, self.policies = pair_of(item)
            self.domain = agreement_domain(kind)
            self.record = {
                key: same(key, shown, second[key])
                for key, shown in first.items()
                if shown is not None and second.get(key) is not None
            }
        else:
            page = Page(item)
            self.domain, self.record, self.policies = page.domain, page.record, page.policies

    def scan(self, text: str, clauses: list[Clause]) -> str:
        return scanner(self.domain).scan(text, clauses)


def _command(item: Item) -> tuple[dict[str, Any], list[Any]]:
    if isinstance(item.state, dict):
        line = next(
            item.state[key] for key in ("command", "proposed_command", "cmd") if key in item.state
        )
        host = item.state["host"]
        known = ("command", "proposed_command", "cmd", "host", "user", "earlier_commands")
        policies = [value for key, value in item.state.items() if key not in known]
    else:
        assert isinstance(item.state, str)
        blocks = blocks_of(item.state)
        block = next(one for one in blocks if re.search(r"\w@[\w-]+:~\$ |Proposed command: ", one))
        policies = [one for one in blocks if one is not block and not is_idle(one)]
        proposed = re.search(r"Host: (.*)\nUser: .*\nProposed command: (.*)", block)
        if proposed is None:
            proposed = re.match(r".*@([\w-]+):~\$ (.*)", block.splitlines()[-1])
        assert proposed is not None
        host, line = proposed[1], proposed[2]
    words = shlex.split(str(line))
    sudo = words[0] == "sudo"
    paths = [word for word in words if word.startswith("/") and not word.startswith("/mnt/spare")]
    record = {
        "sudo": sudo,
        "program": words[sudo],
        "recursive": "-r" in words or "-R" in words,
        "directory": paths[0].rpartition("/")[0],
        "wildcard": "*" in paths[0],
        "piped": "|" in words,
        "redirected": "2>/dev/null" in words,
        "background": words[-1] == "&",
        "host": host,
    }
    return record, policies


def _decree(text: str, outcome: str, opposite: str) -> Callable[[Sequence[bool]], bool]:
    """A decree, its conditions replaced by tokens, as whether the outcome follows."""
    side = rf"(?P<side>{outcome}|{opposite})"
    what = r"(?P<what>[^.\n]*?)"
    patterns = (
        rf"{side} (?:exactly when|if, and only if,|when|if) {what}\.(?: {_ELSE} .*)?",
        rf"if {what}, {side}\.(?: {_ELSE} .*)?",
        rf"Condition: {what}\. When it is met {side}; when it is not .*\.",
        rf"{side} (?:when|if) (?P<count>.+) of (?:these points applies|the following is met):\n"
        r"(?P<list>.*)\nOtherwise .*\.",
    )
    for pattern in patterns:
        found = re.fullmatch(pattern, text.strip(), re.I | re.S)
        if found is None:
            continue
        wanted = re.fullmatch(outcome, found["side"], re.I) is not None
        if "count" in found.groupdict():
            how, needed, places = *_how_many(found["count"]), listed(found["list"])
            return lambda marks: enough(how, needed, [marks[i] for i in places]) is wanted
        what_text = found["what"]
        return lambda marks: holds(what_text, marks) is wanted
    raise AssertionError(text)


def _how_many(text: str) -> tuple[str, str | None]:
    if text in ("every one", "each", "each and every one"):
        return "all", None
    if text in ("at least one", "any one"):
        return "any", None
    found = re.fullmatch(r"a minimum of (\w+)", text)
    assert found is not None, text
    return "count", found[1]


def verdict(item: Item) -> int:
    """Yes, no or open, for one record and one rule."""
    facts = Facts(item)
    outcome, opposite, asks_opposite = WORDS[item.family]
    clauses: list[Clause] = []
    described = dict(item.options[:2])
    if any(described.values()):
        spoken = {name: facts.scan(text or "", clauses) for name, text in described.items()}
        (name,) = [name for name, text in spoken.items() if "⟦" in text]
        text = re.sub(r"^(?:when|if) ", "", spoken[name])
        return reading.yes_no(
            item,
            outcomes(clauses, facts.record, lambda marks: holds(text, marks) is (name == "yes")),
        )
    question, truth = item.question, None
    for policy in facts.policies:
        if isinstance(policy, dict) and "when" in policy:
            truth = _json_rule(policy, facts.domain, clauses, outcome)
        elif isinstance(policy, str):
            spoken_policy = facts.scan(policy, clauses)
            if "⟦" in spoken_policy:
                truth = _decree(_body(spoken_policy, outcome, opposite), outcome, opposite)
    if truth is None:
        spoken_question = facts.scan(question, clauses)
        question, truth = _in_question(spoken_question, outcome, opposite)
    asked = re.search(asks_opposite, question) is None
    return reading.yes_no(
        item, outcomes(clauses, facts.record, lambda marks: truth(marks) is asked)
    )


def _json_rule(
    policy: dict[str, Any], domain: Domain, clauses: list[Clause], outcome: str
) -> Truth:
    def read(condition: dict[str, Any]) -> int:
        clauses.append(json_clause(condition, domain))
        return len(clauses) - 1

    assert re.fullmatch(outcome, policy["outcome"])
    return from_json(policy["when"], read)


def _start(text: str, outcome: str, opposite: str) -> int:
    """Where the decree begins behind a heading."""
    found = re.search(
        rf"(?:^|\n)(?:[\w ]+: )?(?=(?:Condition: |If |{outcome}|{opposite}))", text, re.I
    )
    assert found is not None, text
    return found.end()


def _body(text: str, outcome: str, opposite: str) -> str:
    return text[_start(text, outcome, opposite) :]


def _in_question(text: str, outcome: str, opposite: str) -> tuple[str, Truth]:
    """The question proper and the decree before or after it."""
    lines = text.split("\n")
    for place in range(1, len(lines)):
        first, second = "\n".join(lines[:place]).strip(), "\n".join(lines[place:]).strip()
        for question, decree in ((first, second), (second, first)):
            if question.endswith("?") and "\n" not in question and "⟦" not in question:
                body = _body(decree, outcome, opposite)
                return question, _decree(body, outcome, opposite)
    raise AssertionError(text)


def _named(item: Item) -> list[str]:
    """The names of the outcomes: level names for a score, option names for a choice."""
    options = [pair for pair in item.options if pair[0] != item.facts.get("abstain")]
    if _is_score(item):
        return [str(text).partition(": ")[0] for _, text in options]
    return [name for name, _ in options]


def _is_score(item: Item) -> bool:
    return item.family in SCORES


def _find(name: str, names: Sequence[str]) -> str:
    (found,) = [one for one in names if one.lower() == name.lower()]
    return found


def _line_of(line: str, names: Sequence[str]) -> tuple[str, str | None]:
    """A line of a table: the outcome it names, and its condition (None for the last)."""
    line = re.sub(r"^(?:[-*]|\d+\.|\([a-z]\)) ", "", line).rstrip(".")
    for pattern in (
        r"(?P<name>.+?) otherwise",
        r"in every other case the [\w ]+? is (?P<name>.+)",
    ):
        found = re.fullmatch(pattern, line, re.I)
        if found:
            return _find(found["name"], names), None
    for pattern in (
        rf"if (?P<what>.*{TOKEN}|exactly .*), the [\w ]+? is (?P<name>.+)",
        r"(?P<name>.+?) if (?P<what>.+)",
        r"(?P<name>.+?): (?P<what>.+)",
    ):
        found = re.fullmatch(pattern, line, re.I)
        if found and found["name"].lower() in [one.lower() for one in names]:
            return _find(found["name"], names), found["what"]
    raise AssertionError(line)


def _meets(what: str, marks: Sequence[bool]) -> bool:
    exactly = re.fullmatch(r"exactly (\d+) (?:of them true|met|fulfilled)", what)
    return marks.count(True) == int(exactly[1]) if exactly else holds(what, marks)


def outcome(item: Item) -> int:
    """The outcome of the first line that holds (or of the highest level that does)."""
    facts = Facts(item)
    names = _named(item)
    clauses: list[Clause] = []
    lines: list[tuple[str, str | None]] = []
    for policy in facts.policies:
        if isinstance(policy, dict) and ("first_match" in policy or "count" in policy):
            return _place(item, names, _json_table(policy, facts, clauses))
        if isinstance(policy, str):
            spoken = facts.scan(policy, clauses)
            if "⟦" in spoken or "exactly" in spoken:
                lines = _table(spoken, names)
    if not lines:
        facts.scan(item.question, clauses)
        lines = _in_options(item, names, facts, clauses)
    assert lines[-1][1] is None

    def decide(marks: Sequence[bool]) -> str:
        return next(name for name, what in lines if what is None or _meets(what, marks))

    return _place(item, names, outcomes(clauses, facts.record, decide))


def _place(item: Item, names: Sequence[str], found: set[str]) -> int:
    if len(found) > 1:
        return reading.option(item, item.facts["abstain"])
    if _is_score(item):
        return names.index(found.pop())
    return reading.option(item, found.pop())


def _json_table(policy: dict[str, Any], facts: Facts, clauses: list[Clause]) -> set[str]:
    def read(condition: dict[str, Any]) -> int:
        clauses.append(json_clause(condition, facts.domain))
        return len(clauses) - 1

    if "count" in policy:
        for one in policy["count"]:
            read(one)
        (levels,) = [value for key, value in policy.items() if key != "count"]
        return outcomes(clauses, facts.record, lambda marks: str(levels[str(marks.count(True))]))
    rows = []
    for row in policy["first_match"]:
        (name,) = [value for key, value in row.items() if key != "when"]
        rows.append((name, from_json(row["when"], read)))

    def decide(marks: Sequence[bool]) -> str:
        return next((name for name, truth in rows if truth(marks)), str(policy["default"]))

    return outcomes(clauses, facts.record, decide)


def _table(text: str, names: Sequence[str]) -> list[tuple[str, str | None]]:
    start = re.search(
        r"(?:first line that applies decides|by the first line that fits|"
        r"stop at the first match)\.\n",
        text,
    )
    assert start is not None, text
    return [_line_of(line, names) for line in text[start.end() :].splitlines()]


def _in_options(
    item: Item, names: Sequence[str], facts: Facts, clauses: list[Clause]
) -> list[tuple[str, str | None]]:
    what: dict[str, str | None] = {}
    for option_name, text in item.options:
        if option_name == item.facts.get("abstain"):
            continue
        name, said = (str(text).split(": ", 1)) if _is_score(item) else (option_name, str(text))
        spoken = facts.scan(said, clauses)
        found = re.fullmatch(r"(?:if|when) (.*)", spoken)
        what[name] = found[1] if found else None
    if _is_score(item):
        return [(name, what[name]) for name in reversed(names)]
    order = re.search(r"the first that holds counts: (.*)\.$", item.question) or re.search(
        r"the earliest of (.*) wins\.$", item.question
    )
    assert order is not None
    first = order[1].split(", ")
    return [(name, what[name]) for name in [*first, *(one for one in names if one not in first)]]


NOTHING = ("nothing", "no blocker", "all clear", "none fails")


def blocker(item: Item) -> int:
    """The first requirement that fails, in the order in which they stand."""
    facts = Facts(item)
    clauses: list[Clause] = []
    for policy in facts.policies:
        if isinstance(policy, list) and policy and isinstance(policy[0], dict):
            clauses = [json_clause(one, facts.domain) for one in policy]
        elif isinstance(policy, str):
            facts.scan(policy, clauses)
    if not clauses:
        listed_there = re.search(r"Required, in this order: (.*)\.\n", item.question)
        assert listed_there is not None
        facts.scan(listed_there[1], clauses)
    (nothing,) = [name for name, _ in item.options if name in NOTHING]

    def decide(marks: Sequence[bool]) -> str:
        failing = [one for one, mark in zip(clauses, marks, strict=True) if not mark]
        return failing[0].field.replace("_", " ") if failing else nothing

    found = outcomes(clauses, facts.record, decide)
    return reading.option(item, item.facts["abstain"] if len(found) > 1 else found.pop())


def route(item: Item) -> int:
    """The one queue whose description fits."""
    facts = Facts(item)
    names = [name for name, _ in item.options if name != item.facts.get("abstain")]
    clauses: list[Clause] = []
    rules: dict[str, Truth] = {}

    def read(condition: dict[str, Any]) -> int:
        clauses.append(json_clause(condition, facts.domain))
        return len(clauses) - 1

    for policy in facts.policies:
        if isinstance(policy, dict) and set(policy) == set(names):
            rules = {name: from_json(policy[name], read) for name in names}
        elif isinstance(policy, str):
            for line in facts.scan(policy, clauses).splitlines():
                bare = re.sub(r"^(?:[-*]|\d+\.|\([a-z]\)) ", "", line)
                found = re.fullmatch(r"(.+?)(?:: | takes it when | <- )(.*⟦.*)", bare)
                if found:
                    rules[_find(found[1], names)] = _whether(found[2])
    if not rules:
        for name, text in item.options:
            if name in names:
                spoken = facts.scan(str(text), clauses)
                rules[name] = _whether(re.sub(r"^(?:when|takes what fits:) ", "", spoken))
    assert set(rules) == set(names), rules

    def decide(marks: Sequence[bool]) -> str:
        (name,) = [name for name, truth in rules.items() if truth(marks)]
        return name

    found_names = outcomes(clauses, facts.record, decide)
    return reading.option(
        item, item.facts["abstain"] if len(found_names) > 1 else found_names.pop()
    )


def _whether(text: str) -> Truth:
    return lambda marks: holds(text, marks)
