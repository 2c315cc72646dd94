from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.testing.samples import FILE, FixedAnswerer, fixed
from thisthat import InvalidInputError
from thisthat.testing.cases import Case, read_cases
from thisthat.testing.compare import compare
from thisthat.testing.junit import junit_xml
from thisthat.testing.run import (
    CaseOutcome,
    Run,
    read_run,
    run_as_dict,
    run_cases,
    write_run,
)


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(FILE))
    return read_cases(path)


def test_the_best_option_and_its_probability_both_count(cases: list[Case]) -> None:
    run = run_cases(cases, fixed(yes=0.7, billing=0.7))
    assert [outcome.passed for outcome in run.outcomes] == [False, True, False, True]
    refund, queue = run.failed
    assert refund.reason == ("expected 'yes' with at least 0.8, which has 0.700; the best is 'yes'")
    assert (queue.best, queue.option) == ("billing", "shipping")
    assert len(run_cases(cases, fixed(yes=0.9)).failed) == 1


def test_levels_are_told_with_their_texts(cases: list[Case]) -> None:
    answerer = FixedAnswerer(
        queue={"billing": 0.1, "shipping": 0.9}, anger={"0": 0.1, "1": 0.2, "2": 0.7}
    )
    run = run_cases(cases[1:], answerer)
    (anger,) = run.failed
    assert anger.reason == "expected '1: annoyed', which has 0.200; the best is '2: furious'"
    assert (anger.option, anger.best) == ("1", "2")
    kept = run_as_dict(run)["outcomes"][1]
    assert kept == {
        "case": "case 2",
        "question": "anger",
        "option": "1",
        "at_least": 0.0,
        "best": "2",
        "probability": 0.2,
        "passed": False,
    }


def test_a_kept_run_reads_back(tmp_path: Path, cases: list[Case]) -> None:
    run = run_cases(cases, fixed())
    write_run(tmp_path / "run.json", run)
    assert read_run(tmp_path / "run.json") == run


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"label": "x", "outcomes": [{"case": 1}]}'])
def test_other_files_are_no_saved_runs(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match="is not a saved run"):
        read_run(path)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_run(tmp_path / "nowhere.json")


def outcomes(*probabilities: float, least: float = 0.5) -> Run:
    return Run(
        "made",
        tuple(
            CaseOutcome(f"case {number}", "q", "yes", least, "yes" if p > 0.5 else "no", p)
            for number, p in enumerate(probabilities)
        ),
    )


def test_changes_and_those_across_the_threshold() -> None:
    before, after = outcomes(0.9, 0.9, 0.6, 0.8, 0.3), outcomes(0.9, 0.7, 0.4, 0.81, 0.7)
    found = compare(before, after)
    assert found.summary == "3 of 5 cases changed, these 2 across the threshold"
    assert [change.after.case for change in found.changes] == ["case 4", "case 2", "case 1"]
    assert [change.after.case for change in found.crossed] == ["case 4", "case 2"]
    assert compare(before, before, moved=0).summary == "none of 5 cases changed"
    assert compare(before, after, moved=0.01).summary.startswith("4 of 5")
    moved_only = compare(outcomes(0.9), outcomes(0.7))
    assert moved_only.summary == "1 of 1 case changed, none across the threshold"
    assert compare(outcomes(0.9), outcomes(0.9)).summary == "none of 1 case changed"
    alone = compare(outcomes(0.9, 0.9), outcomes(0.3, 0.7))
    assert alone.summary == "2 of 2 cases changed, this 1 across the threshold"


def test_cases_of_one_run_only_are_named() -> None:
    found = compare(outcomes(0.9, 0.9), outcomes(0.9))
    assert (found.compared, found.only_before, found.only_after) == (1, ("case 1 / q",), ())
    with pytest.raises(InvalidInputError, match="moved: is 3"):
        compare(outcomes(0.9), outcomes(0.9), moved=3)


def test_junit_lists_every_expectation(cases: list[Case]) -> None:
    run = run_cases(cases, fixed(yes=0.7))
    odd = Run("x\x00y", (*run.outcomes, CaseOutcome("bell \x07 <&", "q", "a", 0, "b", 0.1)))
    root = ElementTree.fromstring(junit_xml(odd, "cases.yaml", 1.5))
    suite = root.find("testsuite")
    assert suite is not None
    assert suite.attrib == {
        "name": "cases.yaml",
        "tests": "5",
        "failures": "3",
        "errors": "0",
        "time": "1.500",
    }
    names = [(case.get("classname"), case.get("name")) for case in suite.iter("testcase")]
    assert names[0] == ("charged twice", "refund")
    assert names[-1] == ("bell \ufffd <&", "q")
    failures = [case.find("failure") for case in suite.iter("testcase")]
    assert [failure is not None for failure in failures] == [True, False, True, False, True]
