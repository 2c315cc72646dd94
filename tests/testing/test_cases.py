from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.testing.samples import FILE
from thisthat import Boolean, InvalidInputError
from thisthat.testing.cases import Case, Expectation, read_cases

YAML = """
questions:
  refund: Does the customer want money back?
  queue: {type: choice, criteria: [billing, shipping], abstain: true}
  anger: {type: score, criteria: [calm, annoyed, furious]}
cases:
  - name: charged twice
    state: You charged me twice.
    expect:
      refund: {option: yes, at_least: 0.8}
      queue: billing
  - state: {parcel: lost}
    expect: {queue: shipping, anger: 1}
"""
TOML = """
[questions]
refund = "Does the customer want money back?"
queue = {type = "choice", criteria = ["billing", "shipping"], abstain = true}
anger = {type = "score", criteria = ["calm", "annoyed", "furious"]}

[[cases]]
name = "charged twice"
state = "You charged me twice."
expect = {refund = {option = "yes", at_least = 0.8}, queue = "billing"}

[[cases]]
state = {parcel = "lost"}
expect = {queue = "shipping", anger = 1}
"""


def read(tmp_path: Path, text: str, ending: str = "json") -> list[Case]:
    path = tmp_path / f"cases.{ending}"
    path.write_text(text)
    return read_cases(path)


def test_three_formats_hold_the_same_cases(tmp_path: Path) -> None:
    first = read(tmp_path, json.dumps(FILE))
    assert first == read(tmp_path, YAML, "yaml") == read(tmp_path, YAML, "YML")
    assert first == read(tmp_path, TOML, "toml")
    assert [case.name for case in first] == ["charged twice", "case 2"]
    assert first[0].expected == (
        Expectation("refund", "yes", 0.8),
        Expectation("queue", "billing", 0.0),
    )
    assert first[0].questions["refund"] == Boolean("Does the customer want money back?")
    assert list(first[1].questions) == ["queue", "anger"]
    assert first[1].expected[1].option == "1"


def test_a_case_can_bring_its_own_questions_and_least_probabilities(tmp_path: Path) -> None:
    value = deepcopy(FILE)
    value["at_least"] = 0.5
    value["cases"][1] = {
        "state": "x",
        "questions": {"refund": "Is it x?"},
        "at_least": 0.6,
        "expect": {"refund": False},
    }
    cases = read(tmp_path, json.dumps(value))
    assert cases[0].expected[1].at_least == 0.5
    assert cases[1].expected == (Expectation("refund", "no", 0.6),)
    assert cases[1].questions["refund"] == Boolean("Is it x?")


def test_a_level_is_expected_by_number_or_text(tmp_path: Path) -> None:
    for wanted in (1, "1", "annoyed", {"option": "annoyed"}):
        cases = read(tmp_path, changed("cases/1/expect/anger", wanted))
        assert cases[1].expected[1].option == "1"


def changed(path: str, value: Any) -> str:
    table = deepcopy(FILE)
    *steps, last = path.split("/")
    inner: Any = table
    for step in steps:
        inner = inner[int(step) if step.isdigit() else step]
    if value is None:
        del inner[last]
    else:
        inner[int(last) if last.isdigit() else last] = value
    return json.dumps(table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "must be an object, not list"),
        ("{", "cannot be read: Expecting"),
        ('{"cases": 1, "cases": 2}', "the key 'cases' is given twice"),
        (changed("case", []), "case: is not known"),
        (changed("cases", []), "cases: must be a list of at least 1 case"),
        (changed("at_least", 2), "at_least: is 2; it must be a probability"),
        (changed("questions", []), "questions: must be an object"),
        (changed("cases/0/name", " "), r"cases\[0\].name: must be a text"),
        (changed("cases/1/name", "charged twice"), r"cases\[1\].name: 'charged twice' is already"),
        (changed("cases/0/state", None), r"cases\[0\].state: is missing"),
        (changed("cases/0/state", 7), r"cases\[0\].state: must be text"),
        (changed("cases/0/expect", {}), r"cases\[0\].expect: must be an object"),
        (changed("cases/0/expect", {"x": 1}), r"cases\[0\].expect.x: is not a question; known"),
        (
            changed("cases/0/expect/queue", "bills"),
            "expect.queue: 'bills' is not an option; known are billing, shipping, none of these",
        ),
        (
            changed("cases/0/expect/queue", True),
            "expect.queue: True is .*; write it in quotes",
        ),
        (changed("cases/0/expect/refund", {}), "expect.refund.option: is missing"),
        (
            changed("cases/0/expect/refund/at_least", -1),
            r"cases\[0\].expect.refund.at_least: is -1",
        ),
        (
            changed("cases/1/expect/anger", 3),
            "expect.anger: 3 is not an option; known are 0 or .calm",
        ),
        (changed("questions/queue/type", "chance"), "questions.queue.type: is 'chance'"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        read(tmp_path, text)
    assert caught.value.field.startswith(str(tmp_path / "cases.json"))


@pytest.mark.parametrize(
    ("text", "ending", "message"),
    [
        ("cases: [", "yaml", "cannot be read: while parsing"),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "yaml", "line 3: the key 'c' is given twice"),
        ("cases: !!python/object:os.x {}", "yaml", "could not determine a constructor"),
        ("cases: [{state: 2024-01-01, expect: {}}]", "yaml", "state: must be text"),
        ("x = ", "toml", "cannot be read"),
        ("", "txt", "ends in none of .json, .toml, .yaml, .yml"),
    ],
)
def test_each_format_has_its_errors(tmp_path: Path, text: str, ending: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path, text, ending)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"nowhere\.json: cannot be read"):
        read_cases(tmp_path / "nowhere.json")


def test_the_example_of_the_docs_is_a_file_of_cases(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "testing-decisions.md").read_text()
    example = page.partition("```yaml\n")[2].partition("```")[0]
    first, second = read(tmp_path, example, "yaml")
    assert first.expected[0] == Expectation("refund", "yes", 0.8)
    assert second.expected == (Expectation("queue", "shipping", 0.5),)
