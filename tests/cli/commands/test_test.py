from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.testing.samples import FILE, fixed
from thisthat.cli.commands.test import run_tests
from thisthat.testing import answering

app = typer.Typer()
app.command()(run_tests)


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def open_fixed(ref: str, **_: object) -> object:
        return fixed(yes=0.9, billing=0.4) if ref == "new" else fixed(yes=0.7)

    monkeypatch.setattr(answering, "open_answerer", open_fixed)
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(FILE))
    return path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_failures_are_listed_and_the_exit_code_is_1(cases: Path) -> None:
    outcome = run(str(cases))
    assert outcome.exit_code == 1
    assert "FAILED charged twice [refund]: expected 'yes' with at least 0.8" in outcome.output
    assert "2 of 4 expectations hold, answered by fixed" in outcome.output


def test_all_passed_is_exit_code_0(cases: Path, tmp_path: Path) -> None:
    table = json.loads(cases.read_text())
    table["cases"] = [{"state": "x", "expect": {"anger": 1}}]
    cases.write_text(json.dumps(table))
    outcome = run(str(cases), "--junit", str(tmp_path / "junit.xml"), "--json")
    assert outcome.exit_code == 0
    assert json.loads(outcome.stdout)["failed"] == 0
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert suite.get("tests") == "1"


@pytest.mark.parametrize("saved", [True, False])
def test_two_checkpoints_are_compared(cases: Path, tmp_path: Path, saved: bool) -> None:
    earlier = "old"
    if saved:
        earlier = str(tmp_path / "run.json")
        assert run(str(cases), "--save", earlier).exit_code == 1
    outcome = run(str(cases), "--checkpoint", "new", "--against", earlier)
    assert outcome.exit_code == 1
    assert "2 of 2 cases changed, these 2 across the threshold" in outcome.output
    assert "now passes charged twice [refund]: 'yes' 0.700 -> 0.900" in outcome.output
    assert "NOW FAILS charged twice [queue]: 'billing' 0.700 -> 0.400" in outcome.output
    as_json = run(str(cases), "--checkpoint", "new", "--against", earlier, "--json")
    comparison = json.loads(as_json.stdout)["comparison"]
    assert (comparison["compared"], comparison["cases"]) == (4, 2)
    assert [change["crossed"] for change in comparison["changes"]] == [True] * 3


def test_cases_that_came_later_are_named(cases: Path, tmp_path: Path) -> None:
    run(str(cases), "--save", str(tmp_path / "run.json"))
    table = json.loads(cases.read_text())
    table["cases"][0]["name"] = "renamed"
    cases.write_text(json.dumps(table))
    outcome = run(str(cases), "--against", str(tmp_path / "run.json"))
    assert "only before: charged twice / refund, charged twice / queue" in outcome.output
    assert "only now: renamed / refund, renamed / queue" in outcome.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["CASES", "--against", "nowhere.json"], "nowhere.json: cannot be read"),
        (["CASES", "--against", "old", "--moved", "7"], "moved: is 7"),
        (["CASES", "--save", "CASES"], "is an input; write to another file"),
        (["CASES", "--junit", "/"], "/: is a folder"),
    ],
)
def test_bad_input_is_named(cases: Path, words: list[str], message: str) -> None:
    outcome = run(*(str(cases) if word == "CASES" else word for word in words))
    assert message in str(outcome.exception)
