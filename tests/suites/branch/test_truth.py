"""Answers recomputed from the rendered state alone, by code that shares nothing with the suite."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from tests.suites.branch.oracle import first_match, flat, minutes, rule_truth
from thisthat.random import Rng
from thisthat.suites.branch import families
from thisthat.suites.branch.settings import BranchSettings
from thisthat.suites.branch.shell_commands import COMMAND, write_command
from thisthat.suites.item import Item

VERDICTS = ("refund", "access", "escalation", "claim", "deploy_gate")
TABLES = (
    "rate_limit",
    "discount_tier",
    "shipping",
    "severity",
    "order_priority",
    "log_anomaly",
)


def drawn(name: str, count: int) -> Iterator[tuple[Any, Item]]:
    family = families()[name]
    rng = Rng("truth", name)
    closed = BranchSettings(abstain=0)
    for _ in range(count):
        case = family.draw(rng, closed.draw(rng))
        if case is not None:
            yield case, family.item_for(case, rng, "test")


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts_from_the_json_state(name: str) -> None:
    checked = 0
    for case, item in drawn(name, 1500):
        if not isinstance(item.state, dict):
            continue
        policies = [v for v in item.state.values() if isinstance(v, dict) and "when" in v]
        if not policies:
            continue
        truth = rule_truth(policies[0]["when"], flat(item.state))
        assert item.answer == int(truth != case.asks_opposite)
        checked += 1
    assert checked > 80


@pytest.mark.parametrize("name", TABLES)
def test_tables_from_the_json_state(name: str) -> None:
    checked = 0
    for _, item in drawn(name, 1500):
        if not isinstance(item.state, dict):
            continue
        tables = [
            value
            for value in item.state.values()
            if isinstance(value, dict) and ("first_match" in value or "count" in value)
        ]
        tables = [table for table in tables if "id" not in table]
        if not tables:
            continue
        named = first_match(tables[0], flat(item.state))
        name_shown, description = item.options[item.answer]
        assert named == (description if item.kind == "score" else name_shown)
        checked += 1
    assert checked > 80


def test_meeting_conflicts_minute_by_minute() -> None:
    for case, item in drawn("meeting_conflict", 1500):
        if not isinstance(item.state, dict):
            continue
        proposal = item.state.get("proposed_meeting", item.question)
        assert isinstance(proposal, str)
        clock = r"\d+:\d+(?: [ap]m)?"
        found = re.search(rf"({clock})(?:-| to )({clock}), with (.*?)(?:\.|$)", proposal)
        assert found is not None
        invited = re.split(r", | and ", found[3])
        gap_found = re.search(r"at least (\d+) minutes", str(item.state["rule"]))
        gap = int(gap_found[1]) if gap_found else 0
        asked = set(range(minutes(found[1]) - gap, minutes(found[2]) + gap))
        calendar: Any = item.state["calendar"]
        clash = any(
            row["who"] in invited and asked & set(range(minutes(row["start"]), minutes(row["end"])))
            for row in calendar
        )
        assert item.answer == int(clash != case.asks_free)


def test_commands_show_their_facts() -> None:
    rng = Rng("commands")
    for _ in range(1000):
        record = {field.key: field.draw(rng) for field in COMMAND.fields}
        line = write_command(record, rng)
        words = shlex.split(line)
        assert (words[0] == "sudo") == record["sudo"]
        assert words[1 if record["sudo"] else 0] == record["program"]
        assert bool({"-r", "-R"} & set(words)) == record["recursive"]
        assert any(str(record["directory"]) + "/" in word for word in words)
        assert ("*" in line) == record["wildcard"]
        assert ("|" in words) == record["piped"]
        assert ("2>/dev/null" in line) == record["redirected"]
        assert (words[-1] == "&") == record["background"]


def _normal(value: str) -> str:
    return re.sub(r"[^a-z0-9]", "", value.lower())


def _same(key: str, one: str, two: str) -> bool:
    if "name" in key or key == "family_doctor":
        return sorted(re.findall(r"\w+", one.lower())) == sorted(re.findall(r"\w+", two.lower()))
    months = "january february march april may june july august september october november december"
    dates = []
    for text in (one, two):
        parts = re.findall(r"[a-z]+|\d+", text.lower())
        spelled = [part for part in parts if part in months.split()]
        if spelled and len(parts) == 3:
            numbers = sorted((int(part) for part in parts if part.isdigit()), reverse=True)
            dates.append((numbers[0], months.split().index(spelled[0]) + 1, numbers[1]))
        elif re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            dates.append(tuple(int(part) for part in parts))
    return dates[0] == dates[1] if len(dates) == 2 else _normal(one) == _normal(two)


def test_pairs_of_records_agree_where_the_case_says() -> None:
    for case, item in drawn("same_record", 1500):
        if not isinstance(item.state, dict):
            continue
        pair = [value for value in item.state.values() if isinstance(value, dict)]
        assert len(pair) == 2
        first, second = pair
        for key, shown in first.items():
            assert isinstance(shown, str)
            other = second[key]
            assert isinstance(other, str)
            assert _same(key, shown, other) == case.sheet.record[key], (key, shown, other)


def test_the_matching_record_is_the_only_one_that_agrees() -> None:
    for case, item in drawn("which_record", 1500):
        if not isinstance(item.state, dict) or "candidates" not in item.state:
            continue
        candidates: Any = item.state["candidates"]
        key = next(k for k in ("incoming", "looked_for", "new_entry") if k in item.state)
        wanted: Any = item.state[key]
        matching = [
            name
            for name, one in candidates.items()
            if all(_same(trait, wanted[trait], one[trait]) for trait in case.required)
        ]
        right = item.options[item.answer][0]
        assert matching == ([right] if right in candidates else [])
