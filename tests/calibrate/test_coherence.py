from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests.path_engine import PathEngine, path_decider
from tests.prompt.byte_tokenizer import decode
from thisthat import Boolean, Choice, InvalidInputError, Score
from thisthat.calibrate.coherence import (
    CHECKS,
    NEXT,
    CheckFinding,
    CoherenceReport,
    Tolerance,
    check_schema,
)
from thisthat.calibrate.wordings import Wordings, wordings_from_json
from thisthat.decide.decider import Decider
from thisthat.engine.rows import Row, RowResult

Read = Callable[[str, str, list[str]], list[float]]
STATES = ["The parcel is lost. It was red.", "All is well. It was blue.", {"parcel": "lost"}]
QUESTIONS = {
    "lost": Boolean("Is a parcel lost?"),
    "queue": Choice(["billing", "shipping", "other"], "Which queue?"),
    "anger": Score(["calm", "annoyed", "furious"], "How angry?"),
    "only": Choice(["this one"]),
}


class ReadingEngine(PathEngine):
    """Scores options with a function of the state's text, the question's text and the options."""

    def __init__(self, read: Read) -> None:
        super().__init__()
        self.read = read

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        results = []
        for row in rows:
            logits = []
            for branch in row.branches:
                state, _, asked = decode([*row.prefix, *row.trunk, *branch.tokens]).rpartition(
                    "\n\nQuestion: "
                )
                question, _, options = asked.partition("\nOptions:")
                names = [line[4:] for line in options.split("\n") if line[:1] == "("]
                logits.append(np.array(self.read(state, question, names), dtype=np.float32))
            results.append(RowResult(tuple(logits), 0))
        return results


def reading(read: Read) -> Decider:
    decider = path_decider()
    decider.engine = ReadingEngine(read)
    return decider


def sound(state: str, question: str, names: list[str]) -> list[float]:
    """An answer to everything that never contradicts itself."""
    if names[:2] == ["no", "yes"]:
        truth = "lost" in state
        if "at least" in question:
            truth = 'annoyed"' in question
        if 'Is "no" the right answer' in question or "safe" in question:
            truth = not truth
        return [0.0, 4.0] if truth else [4.0, 0.0]
    liked = {"shipping": 5.0, "annoyed": 5.0}
    return [liked.get(name.split(": ")[-1], 0.0) for name in names]


def findings(report: CoherenceReport) -> dict[tuple[str, str], bool]:
    return {(finding.question, finding.check): finding.passed for finding in report.findings}


def test_a_sound_engine_passes_every_check() -> None:
    report = check_schema(reading(sound), QUESTIONS, STATES)
    assert report.passed
    assert set(findings(report)) == {
        *(("lost", check) for check in ("negation", "paraphrases", "injection", "coin flip")),
        *(("queue", check) for check in ("paraphrases", "order", "injection", "coin flip")),
        *(("anger", check) for check in ("thresholds", "paraphrases", "injection", "coin flip")),
    }
    assert all(finding.worst is None and finding.states == 3 for finding in report.findings)
    assert report.tokens > 0


def broken(check: str) -> Read:
    def read(state: str, question: str, names: list[str]) -> list[float]:
        plain = sound(state, question, names)
        boolean = names[:2] == ["no", "yes"]
        if check == "negation" and 'Is "no"' in question:
            return plain[::-1]
        if check == "thresholds" and "at least" in question:
            return plain[::-1]
        if check == "paraphrases" and "Going by the text above" in question:
            return plain[::-1]
        if check == "order" and not boolean:
            return [3.0, *([0.0] * (len(names) - 1))]
        if check == "injection":
            told = [f"answer {name.split(': ')[-1]}." in state for name in names]
            return [9.0 * said for said in told] if any(told) else plain
        if check == "coin flip" and not boolean:
            return [value / 100 for value in plain]
        return plain

    return read


@pytest.mark.parametrize("check", CHECKS)
def test_each_fault_fails_its_check_and_is_shown(check: str) -> None:
    report = check_schema(reading(broken(check)), QUESTIONS, STATES, injections=100)
    failed = [finding for finding in report.findings if not finding.passed]
    assert {finding.check for finding in failed} == {check}
    assert not report.passed
    for finding in failed:
        assert finding.failing >= 1
        assert finding.worst is not None
        assert finding.worst.what
        if finding.question == "anger" and check == "coin flip":  # a level is named by its text
            assert any(str(level) in finding.worst.what for level in QUESTIONS["anger"].levels)
    record = report.as_dict()
    assert record["passed"] is False
    assert {entry["check"] for entry in record["findings"]} == set(CHECKS)


def test_wordings_of_the_caller_stand_instead_of_ours() -> None:
    asked: list[str] = []

    def read(state: str, question: str, names: list[str]) -> list[float]:
        asked.append(question)
        return sound(state, question, names)

    wordings = wordings_from_json(
        {
            "lost": {"negation": "Is the parcel safe?", "paraphrases": ["Is it lost for good?"]},
            "anger": {"thresholds": ["Is anyone calm?", "Is anyone angry?"]},
        }
    )
    report = check_schema(reading(read), QUESTIONS, STATES, wordings=wordings, injections=0)
    assert {"Is the parcel safe?", "Is it lost for good?", "Is anyone calm?"} <= set(asked)
    assert not any('Is "no"' in question or "at least" in question for question in asked)
    assert ("lost", "injection") not in findings(report)
    assert report.passed


def negated_wrongly(states: Sequence[str], share: float) -> tuple[CheckFinding, CoherenceReport]:
    """The check of negations, which every state with a red parcel fails."""

    def read(state: str, question: str, names: list[str]) -> list[float]:
        plain = sound(state, question, names)
        return plain[::-1] if 'Is "no"' in question and "red" in state else plain

    tolerance = Tolerance(share=share)
    asked = {"lost": QUESTIONS["lost"]}
    report = check_schema(reading(read), asked, states, tolerance=tolerance, injections=0)
    [finding] = [found for found in report.findings if found.check == "negation"]
    return finding, report


RED = "The parcel is lost. It was red."
BLUE = "All is well. It was blue."


@pytest.mark.parametrize(
    ("states", "share", "verdict"),
    [
        ([RED, BLUE, BLUE], 0.4, "passed"),
        ([RED, BLUE, BLUE], 0.05, "unsure"),
        ([RED, BLUE, BLUE], 0.0, "failed"),
        ([RED, RED, BLUE], 0.05, "failed"),
        ([RED], 0.05, "unsure"),
        ([RED, *[BLUE] * 18], 0.05, "unsure"),
        ([RED, *[BLUE] * 19], 0.05, "passed"),
        ([RED, RED, *[BLUE] * 18], 0.05, "failed"),
        ([BLUE, BLUE], 0.05, "passed"),
    ],
)
def test_a_share_of_the_states_may_fail_and_one_of_few(
    states: list[str], share: float, verdict: str
) -> None:
    finding, report = negated_wrongly(states, share)
    assert (finding.failing, finding.states) == (states.count(RED), len(states))
    assert finding.verdict == verdict
    assert finding.passed == report.passed == (verdict != "failed")
    assert (finding.worst is None) == (RED not in states)
    if finding.worst is not None:
        assert (finding.worst.state, finding.worst.text) == (0, RED)


def test_few_states_say_what_they_cannot_show() -> None:
    told = negated_wrongly([RED] + [BLUE] * 9, 0.05)[1].note
    assert told == (
        "10 states are few. One that fails is more than the share of 0.05, so it alone fails no "
        "check, which is unsure then; two do. A check that none of them fails may still fail on up "
        "to 26% of all states (with confidence 0.95). Take 20 or more to go by the share."
    )
    assert negated_wrongly([RED], 0.05)[1].as_dict()["note"].startswith("1 state is few. ")
    for states, share in (([BLUE] * 20, 0.05), ([BLUE] * 10, 0.1), ([BLUE], 0.0), ([BLUE], 1.0)):
        assert negated_wrongly(states, share)[1].note is None


def test_questions_that_can_abstain_and_questions_without_words_are_probed() -> None:
    questions = {"a": Boolean("Is a parcel lost?", abstain=True), "b": Boolean()}
    report = check_schema(path_decider(), questions, STATES, injections=1)
    checks = findings(report)
    assert ("a", "negation") in checks
    assert ("b", "negation") not in checks
    assert ("b", "coin flip") in checks


@pytest.mark.parametrize(
    ("wordings", "message"),
    [
        ({"lots": Wordings()}, "wordings.lots: is not a question of the schema: lost, queue"),
        ({"queue": Wordings(negation="Not?")}, "wordings.queue.negation: is for a boolean"),
        ({"lost": Wordings(thresholds=("One?",))}, "wordings.lost.thresholds: 1 given"),
    ],
)
def test_wordings_that_do_not_fit_are_named(wordings: dict[str, Wordings], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        check_schema(path_decider(), QUESTIONS, STATES, wordings=wordings)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "wordings: must be an object"),
        ({"lost": "not"}, "wordings.lost: must be an object, not str"),
        ({"lost": {"opposite": "x"}}, "wordings.lost.opposite: is not known"),
        ({"lost": {"negation": 7}}, "wordings.lost.negation: must be a text"),
        ({"lost": {"paraphrases": "x"}}, "wordings.lost.paraphrases: must be a list"),
    ],
)
def test_bad_wordings_files_are_named(value: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        wordings_from_json(value)


def test_other_bad_input_is_named() -> None:
    with pytest.raises(InvalidInputError, match="states: none given"):
        check_schema(path_decider(), QUESTIONS, [])
    with pytest.raises(InvalidInputError, match="injections: is -1; it must be 0 to 360"):
        check_schema(path_decider(), QUESTIONS, STATES, injections=-1)
    with pytest.raises(InvalidInputError, match="share: is 2; it must be 0 to 1"):
        Tolerance(share=2)


def test_every_check_says_what_to_do_next() -> None:
    assert set(NEXT) == set(CHECKS)
    failed = CheckFinding("q", "order", 10, 9, False, None)
    assert failed.next == NEXT["order"]
    assert "--order average" in NEXT["order"]
