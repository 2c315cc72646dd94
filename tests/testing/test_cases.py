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


@pytest.mark.parametrize(
    "criteria",
    [
        "{true: danger, false: it can wait}",
        "{yes: danger, no: it can wait}",
        '{"true": danger, "false": it can wait}',
    ],
)
def test_yaml_describes_a_boolean_with_bare_keys(tmp_path: Path, criteria: str) -> None:
    text = f"""
questions:
  urgent: {{type: boolean, instructions: It is urgent., criteria: {criteria}}}
cases:
  - {{state: It burns., expect: {{urgent: yes}}}}
  - state: It burns.
    questions:
      hot: {{type: noul, instructions: It is hot., criteria: {{no: cold}}}}
    expect: {{hot: yes}}
"""
    first, second = read(tmp_path, text, "yaml")
    asked = Boolean("It is urgent.", true="danger", false="it can wait")
    assert first.questions == {"urgent": asked}
    assert first.specs["urgent"]["criteria"] == {"true": "danger", "false": "it can wait"}
    assert second.questions == {"hot": Boolean("It is hot.", false="cold")}


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        (
            "urgent: {type: boolean, criteria: {maybe: x}}",
            'questions.urgent.criteria: must be an object with "true" and "false" at most',
        ),
        (
            "urgent: {type: boolean, criteria: [yes, no]}",
            'questions.urgent.criteria: must be an object with "true" and "false" at most',
        ),
        (
            'urgent: {type: boolean, criteria: {true: x, "true": y}}',
            "questions.urgent.criteria.true: is given twice",
        ),
        (
            "urgent: {type: choice, criteria: [yes, later]}",
            "questions.urgent.criteria: has True, which is no text; write it in quotes",
        ),
        (
            "urgent: {type: choice, criteria: {no: x, later: y}}",
            "questions.urgent.criteria: has False, which is no text; write it in quotes",
        ),
        (
            "urgent: {type: boolean, on: x, off: y, foo: z}",
            "questions.urgent.False: is not known; a question has",
        ),
        ("yes: It is urgent.", "questions: has True for a name; write it in quotes"),
    ],
)
def test_a_shared_question_is_refused_where_it_stands(
    tmp_path: Path, questions: str, message: str
) -> None:
    text = f"questions: {{{questions}}}\ncases: [{{state: x, expect: {{urgent: yes}}}}]\n"
    with pytest.raises(InvalidInputError) as caught:
        read(tmp_path, text, "yaml")
    assert str(caught.value).startswith(f"{tmp_path / 'cases.yaml'}.{message}")


def test_a_case_refuses_its_own_question_where_it_stands(tmp_path: Path) -> None:
    text = "cases: [{state: x, questions: {a: {type: chance}}, expect: {a: yes}}]"
    with pytest.raises(InvalidInputError, match=r"yaml\.cases\[0\]\.questions\.a\.type: is"):
        read(tmp_path, text, "yaml")


def test_questions_can_stand_in_a_schema_file(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    schema = tmp_path / "schemas" / "desk.json"
    schema.write_text(json.dumps(FILE["questions"]))
    by_path = {**FILE, "questions": "schemas/desk.json"}
    assert read(tmp_path, json.dumps(by_path)) == read(tmp_path, json.dumps(FILE))
    with pytest.raises(InvalidInputError, match=r"cases\.json\.questions: 'x\.json' is no file"):
        read(tmp_path, json.dumps({**FILE, "questions": "x.json"}))
    schema.write_text('{"refund": {"type": "boolean", "hint": "x"}}')
    with pytest.raises(InvalidInputError) as caught:
        read(tmp_path, json.dumps(by_path))
    assert caught.value.field == f"{schema}, questions.refund.hint"
    schema.write_text('{"refund": "x", "refund": "y"}')
    with pytest.raises(InvalidInputError, match="twice in one object"):
        read(tmp_path, json.dumps(by_path))


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
    assert second.expected == (
        Expectation("queue", "shipping", 0.5),
        Expectation("urgent", "no", 0.5),
    )
    assert second.questions["urgent"] == Boolean(
        "Must somebody act today?", true="somebody is in danger", false="it can wait"
    )
