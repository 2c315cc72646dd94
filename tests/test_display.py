"""One line at a prompt, an escaped table in a notebook."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import Annotated, Any, Literal

import numpy as np
import pytest

import thisthat
from tests.path_engine import path_decider
from thisthat import Boolean, Choice, Option, Scale, Score
from thisthat.calibrate.coherence import check_schema
from thisthat.calibrate.fit_policy import fit_policy
from thisthat.decide.target import parse_target
from thisthat.display import counted
from thisthat.items.labels import LabelledStates
from thisthat.questions import Cut, Decision, PolicyOutcome, Source, Usage, answer_for
from thisthat.schema import schema_of
from thisthat.teach.evaluate import evaluate

NASTY = "<script>alert('x')</script>"
SURE = answer_for(Boolean("Is it?"), [0.19, 0.81])
TEAM = answer_for(Choice([*"abcd", NASTY]), [0.1, 0.4, 0.15, 0.15, 0.2])
ANGER = answer_for(Score(["calm", {"level": "<b>"}]), [0.25, 0.75])


class Reader(HTMLParser):
    """The tags of a page and its texts; fails on tags that do not close."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


TAGS = {"table", "thead", "tbody", "tr", "th", "td", "b", "span", "div"}

QUESTIONS = [
    Boolean("Is it?"),
    Boolean(),
    Boolean("Is it?", true="so", false=["no", 1], abstain=True),
    Choice(["a", "b"]),
    Choice([("a", "the first"), "b"], "Which?", abstain=Option("neither", "no sign")),
    Score(["low", {"x": 1}], "How much?", abstain="unknown"),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=repr)
def test_a_question_is_shown_as_the_code_that_declares_it(question: Any) -> None:
    known = {"Boolean": Boolean, "Choice": Choice, "Score": Score, "Option": Option}
    assert eval(repr(question), known) == question


def test_answers_are_one_line() -> None:
    assert repr(SURE) == "<BooleanAnswer yes 0.810>"
    assert repr(TEAM) == f"<ChoiceAnswer b 0.400, {NASTY} 0.200, c 0.150, 2 more>"
    assert repr(ANGER) == '<ScoreAnswer 1: {"level": "<b>"} 0.750, 0: calm 0.250; mean 0.75>'
    torn = answer_for(Boolean("Is it?", abstain=True), [0.2, 0.3, 0.5])
    assert repr(torn) == "<BooleanAnswer yes 0.300, none of these 0.500>"
    acted = replace(SURE, outcome=PolicyOutcome("act", "yes", "why", "hash"))
    assert repr(acted) == "<BooleanAnswer yes 0.810 → act>"
    unlikely = replace(SURE, outcome=PolicyOutcome("act", "no", "why", "hash"))
    assert repr(unlikely) == "<BooleanAnswer yes 0.810 → act on no>"


def decision(**changes: Any) -> Decision:
    answers = {"sure": SURE, "team": TEAM, NASTY: ANGER}
    found = Decision(answers, Source("m", "1", 0.5), Usage(42), 0.0184)
    return replace(found, **changes)


def test_a_decision_says_what_and_by_what() -> None:
    assert repr(decision()) == (
        f'<Decision sure: yes 0.810, team: b 0.400, {NASTY}: 1: {{"level": "<b>"}} 0.750 '
        "(m 1, λ = 0.5, 42 tokens, 18 ms)>"
    )
    assert "the state was cut" in repr(decision(cut=Cut("head", 9, 5)))


class Triage:
    lost: Annotated[bool, "Is a parcel lost?"]
    queue: Literal["billing", "shipping"]
    anger: Annotated[int, Scale("calm", "furious")]


def test_what_is_opened_and_typed_is_shown_by_name() -> None:
    decider = path_decider()
    assert repr(decider).startswith("<Decider paths 1, λ = ")
    found = repr(decider.decide("The parcel never came.", Triage))
    assert found.startswith("<TypedDecision Triage(lost=")
    assert ", queue='" in found
    assert repr(schema_of(Triage)).startswith(
        "<Schema Triage with lost: Boolean('Is a parcel lost?'), queue: Choice(['billing',"
    )
    batch = thisthat.BatchDecider(Triage, state=["a", "b"], server="http://x:1", key="secret")
    assert repr(batch) == "<BatchDecider lost, queue, anger of a, b by default at http://x:1>"


def test_tables_are_escaped_and_whole() -> None:
    page = Reader(decision(cut=Cut("head", 9, 5))._repr_html_())
    assert page.tags <= TAGS
    assert page.rows[0] == ["question", "option", "probability", ""]
    assert page.rows[1:3] == [["sure", "no", "0.190", ""], ["", "yes", "0.810", ""]]
    assert ["", NASTY, "0.200", ""] in page.rows
    assert page.text.endswith("m 1, λ = 0.5, 42 tokens, 18 ms, the state was cut")
    assert Reader(SURE._repr_html_()).rows[2] == ["yes", "0.810", ""]


def test_of_many_options_the_likely_ones_are_shown() -> None:
    many = answer_for(Choice([f"o{n}" for n in range(255)]), list(np.full(255, 1 / 255)))
    page = Reader(many._repr_html_())
    assert len(page.rows) == 22
    assert page.rows[-1][:2] == ["235 more", f"{235 / 255:.3f}"]


def test_an_outcome_is_told_with_its_reason() -> None:
    outcome = PolicyOutcome("escalate", None, "below <0.9>", "hash", forced=("the schema differs",))
    page = Reader(replace(SURE, outcome=outcome)._repr_html_())
    assert page.text.endswith("escalate, because below <0.9> (forced: the schema differs)")


def test_policies_evaluations_and_reports_are_tables() -> None:
    decider = path_decider()
    schema = {"lost": Boolean("Is it?"), NASTY: Choice(["red", NASTY])}
    states = [f"state {number}" for number in range(60)]
    right = [
        {name: list(a.probabilities).index(a.best_name) for name, a in each.answers.items()}
        for each in decider.decide_many(states, schema)
    ]
    labelled = LabelledStates(schema, states, right)

    policy = fit_policy(decider, labelled, parse_target("error<=0.2"))
    assert repr(policy) == str(policy)
    assert repr(policy).startswith("<Policy error<=0.2 with confidence 0.95, for paths 1, λ = ")
    assert "acts on lost " in repr(policy)
    page = Reader(policy._repr_html_())
    assert page.tags <= TAGS
    assert [row[:2] for row in page.rows[1:]] == [
        ["lost", "no"],
        ["", "yes"],
        [NASTY, "red"],
        ["", NASTY],
    ]
    assert "without its guarantee" in Reader(policy.force()._repr_html_()).text

    before = evaluate(decider, labelled)
    found = evaluate(decider, labelled, before=before)
    assert repr(found).startswith("<Evaluation of paths 1, λ = ")
    assert "accuracy of lost 1.000 of 60" in repr(found)
    page = Reader(found._repr_html_())
    assert page.rows[1][:2] == ["lost", "60"]
    assert page.rows[2][-1] == "no difference in accuracy shown"
    assert len(Reader(before._repr_html_()).rows[0]) == 5

    report = check_schema(decider, schema, states[:3], injections=0)
    assert repr(report).startswith("<CoherenceReport on 3 states: ")
    page = Reader(report._repr_html_())
    assert len(page.rows) == 1 + len(report.findings)


def test_one_of_anything_is_no_plural() -> None:
    assert counted(1, "row", "different") == "1 different row"
    assert [counted(count, "state") for count in (0, 1, 2)] == [
        "0 states",
        "1 state",
        "2 states",
    ]
