from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from thisthat.errors import InvalidInputError
from thisthat.items import metrics
from thisthat_lab.bench import suite
from thisthat_lab.bench.measure import Context, Setting, run_measurement
from thisthat_lab.bench.measurements.questions.cohort import read_cohort, recorded_replies
from thisthat_lab.bench.scoring import score_lines


def test_the_recorded_service_scores_as_published(shared_data: Path) -> None:
    items = read_cohort(shared_data / "recorded_68.jsonl")
    replies = recorded_replies(items)
    yes = [reply.probabilities[1] for reply in replies if reply.probabilities]
    answers = [item.answer for item in items]
    assert len(items) == 68
    assert len({item.state_hash for item in items}) == 17
    assert round(metrics.accuracy([reply.choice for reply in replies], answers), 3) == 0.765
    assert round(metrics.bernoulli_brier(yes, answers), 3) == 0.133
    table = [reply.probabilities or () for reply in replies]
    assert round(metrics.negative_log_likelihood(table, answers), 3) == 0.403


def test_the_lines_of_the_measurement_carry_the_same_numbers(shared_data: Path) -> None:
    items = read_cohort(shared_data / "recorded_68.jsonl")
    lines = {
        line.anchor: line
        for line in score_lines(items, recorded_replies(items), "cohort", bernoulli=True)
    }
    found = [lines[f"cohort.{name}"].value for name in ("accuracy", "brier", "nll")]
    assert [round(value or 0, 3) for value in found] == [0.765, 0.133, 0.403]
    assert all(line.low is not None and line.high is not None for line in (lines["cohort.nll"],))


def test_the_services_own_brier_and_nll_are_computed(shared_data: Path, tmp_path: Path) -> None:
    setting = Setting(system="constant", out=tmp_path, data=shared_data)
    context = Context(setting, Console(file=io.StringIO()))
    _, found = run_measurement(suite.measurement("cohort"), context, ["thisthat"])
    name = "the recorded service itself: "
    told = [
        (line.label.removeprefix(name), round(line.value or 0, 3), line.method)
        for line in found.lines
        if line.label.startswith(name)
    ]
    assert told == [
        ("accuracy", 0.765, "bootstrap over states"),
        ("Brier, on p(yes)", 0.133, "bootstrap over states"),
        ("negative log likelihood", 0.403, "bootstrap over states"),
    ]


def test_cohort_options_are_no_and_yes_with_their_meaning(shared_data: Path) -> None:
    item = read_cohort(shared_data / "recorded_68.jsonl")[0]
    assert [name for name, _ in item.options] == ["no", "yes"]
    assert all(text for _, text in item.options)


@pytest.mark.parametrize(
    "change", [{"answer_index": 2}, {"options": ["no"]}, {"recorded_service_p_yes": "x"}]
)
def test_a_bad_row_names_file_and_line(tmp_path: Path, change: dict[str, object]) -> None:
    good = {
        "state": "s",
        "question": "q",
        "options": ["no: a", "yes: b"],
        "answer_index": 1,
        "recorded_service_p_yes": 0.4,
    }
    path = tmp_path / "recorded_68.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | change) + "\n")
    with pytest.raises(InvalidInputError, match=r"recorded_68.jsonl, line 2"):
        read_cohort(path)


def test_a_missing_file_says_how_to_name_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="--data"):
        read_cohort(tmp_path / "recorded_68.jsonl")
