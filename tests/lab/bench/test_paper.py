"""Every table and figure of the paper, from recorded replies and without a network.

`docs/measuring.md` lists them with their commands; the list and this file hold the same names.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.lab.bench.conftest import ROOT
from tests.lab.bench.fake_endpoint import Fake
from tests.lab.bench.measurements.test_measurements import few_released
from thisthat.errors import InvalidInputError
from thisthat.items.files import read_items, write_items
from thisthat.items.item import Item
from thisthat_lab.bench import suite
from thisthat_lab.bench.anchors import Price
from thisthat_lab.bench.measure import Context, Measurement, Setting, run_measurement
from thisthat_lab.bench.measurements.questions import actuator, branch, heldout, ladder, parity
from thisthat_lab.bench.measurements.questions.spatial import first_of_each, measurement_of
from thisthat_lab.bench.report import style
from thisthat_lab.bench.report.plots import PLOTS
from thisthat_lab.bench.result import Result
from thisthat_lab.bench.systems.protocol import SystemOptions
from thisthat_lab.suites.spatial import released
from thisthat_lab.suites.spatial.held_out_sets import local_geometry

PAPER = {
    "Table 1": (
        "cohort",
        [
            "accuracy",
            "Brier, on p(yes)",
            "negative log likelihood",
            "majority answer",
            "latency at the client, p50",
            "cost of this pass",
        ],
    ),
    "Table 2": (
        "actuator",
        [
            "noisy actuator: accuracy",
            "noisy actuator: qL2",
            "local geometry: accuracy",
            "local geometry: qL2",
            "ceiling E[max(q, 1 − q)]",
            "always yes",
            "noisy actuator: constant predictor, qL2",
            "local geometry: constant predictor, qL2",
            "questions without an answer",
            "cost of this pass",
        ],
    ),
    "Table 3": (
        "spatial",
        [
            "tokens generated per question",
            "accuracy",
            "seen families",
            "unseen families",
            "questions without an answer",
            "cost of this pass",
            "chance",
        ],
    ),
    "Surfaces": ("surfaces", ["ascii", "json", "prose", "chance"]),
    "Held-out families": ("heldout", ["accuracy", "simulator set: bands"]),
    "The same quantity": ("parity", ["parity right, given the band is right"]),
    "Branch and arithmetic": ("branch", ["accuracy"]),
    "Figure 1": ("cost", ["cost of 16 questions", "milliseconds per question, median"]),
    "Figure 2": ("actuator", ["tokens generated per question"]),
    "Figure 3": ("actuator", ["best predictor that reads ρ alone, qL2"]),
    "Figure 4": ("ladder", ["side 32, the whole map", "side 200, the part that matters"]),
    "Figure 5": ("ladder", ["questions without an answer", "cost of this pass"]),
}
DRAWN = {
    "Figure 1": "accuracy-cost",
    "Figure 2": "accuracy-tokens",
    "Figure 3": "calibration",
    "Figure 4": "ladder",
    "Figure 5": "ladder-panels",
}


def published(items: list[Item]) -> str:
    """Items as rows of the paper's public file."""
    rows = [
        {
            "family": item.family,
            "state": item.state if isinstance(item.state, str) else json.dumps(item.state),
            "question": item.question,
            "options": [name for name, _ in item.options],
            "answer": item.options[item.answer][0],
            "answer_index": item.answer,
        }
        for item in items
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_cohort(path: Path) -> None:
    """A stand-in for the recorded cohort, which is not part of the package: its rows, our mazes."""
    rows = [
        {
            "state": item.state,
            "question": item.question,
            "options": [f"{name}: {text}" for name, text in item.options],
            "answer_index": item.answer,
            "recorded_service_p_yes": 0.25 + 0.5 * item.answer,
        }
        for item in local_geometry(1)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def answer(path: str, body: dict[str, Any], call: int) -> tuple[int, dict[str, str], str]:
    """Every question its first option at 0.7, after five generated tokens."""
    question = body["questions"]["q"]
    if question["type"] == "noul":
        found: dict[str, Any] = {"noul": 0.3}
    else:
        names = list(question["criteria"])
        rest = 0.3 / (len(names) - 1)
        found = {"probabilities": {n: rest if place else 0.7 for place, n in enumerate(names)}}
    usage = {"input_tokens": 30, "output_tokens": 5}
    return 200, {}, json.dumps({"answers": {"q": found}, "usage": usage})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """All measurements of an endpoint: asked once, recorded, and again from the recording."""
    folder = tmp_path_factory.mktemp("paper")
    write_cohort(folder / "recorded_68.jsonl")
    few = few_released()
    test_file = folder / "test.jsonl"
    test_file.write_text(published(few))
    measurements = {name: suite.measurement(name) for name, _ in PAPER.values()}
    measurements["spatial"] = measurement_of(test_file, 5)
    server = Fake()
    server.answering = answer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(released, "read_released", lambda: few)
        patch.setattr(branch, "QUICK_PER_FAMILY", 2)
        patch.setattr(heldout, "QUICK_PER_FAMILY", 12)
        patch.setattr(heldout, "QUICK_BANDS_PER_SIDE", 2)
        patch.setattr(actuator, "QUICK_STATES_PER_SIDE", 2)
        patch.setattr(parity, "QUICK_MAZES", 6)
        patch.setattr(ladder, "QUICK_WORLDS_PER_SIDE", 1)
        try:
            first = _measure(measurements, server.url, folder, record=folder / "said.jsonl")
            asked = len(server.requests)
            found = _measure(measurements, server.url, folder, replay=folder / "said.jsonl")
            assert len(server.requests) == asked
        finally:
            server.close()
    assert {name: result.lines for name, result in found.items()} == {
        name: result.lines for name, result in first.items()
    }
    return found


def _measure(
    measurements: dict[str, Measurement], url: str, folder: Path, **how: Path
) -> dict[str, Result]:
    setting = Setting(
        system=f"systemone+{url}",
        options=SystemOptions(model="m", concurrency=8, **how),  # type: ignore[arg-type]
        quick=True,
        out=folder,
        data=folder,
        prices={"m": Price(1.0, 2.0, "made up")},
    )
    context = Context(setting, Console(file=io.StringIO()))
    found = {
        name: run_measurement(each, context, ["thisthat", "bench"])[1]
        for name, each in measurements.items()
    }
    context.finish()
    return found


@pytest.mark.parametrize("place", PAPER)
def test_a_table_has_its_columns(place: str, results: dict[str, Result]) -> None:
    name, wanted = PAPER[place]
    labels = [line.label for line in results[name].lines]
    assert [label for label in wanted if label not in labels] == []


@pytest.mark.parametrize("place", DRAWN)
def test_a_figure_is_drawn(place: str, results: dict[str, Result]) -> None:
    plot = next(plot for plot in PLOTS if plot.name == DRAWN[place])
    with style.styled() as plt:
        figure = plot.draw(plt, list(results.values()))
        assert figure is not None
        texts = {text.get_text() for axes in figure.axes for text in axes.texts}
    if place == "Figure 1":
        assert "Jev (published price)" in texts
    if place == "Figure 5":
        (panel,) = [axes for axes in figure.axes if axes.get_visible()]
        assert "whole map: no answer" in [line.get_label() for line in panel.lines]


def test_the_subset_is_the_first_of_every_family(results: dict[str, Result]) -> None:
    subset = results["spatial"]
    assert subset.measurement == "spatial-test-5"
    assert subset.title == "Spatial benchmark, test.jsonl, the first 5 of every family"
    assert {group.questions for group in subset.grouped("family")} == {5}
    assert {group.name for group in subset.grouped("surface")} == {"ascii", "json", "prose"}
    items = [item for item in few_released() for _ in range(2)]
    kept = first_of_each(items, 3)
    assert kept == [
        item
        for family in dict.fromkeys(i.family for i in items)
        for item in [i for i in items if i.family == family][:3]
    ]


def test_the_papers_columns_stand_beside_the_subset() -> None:
    from thisthat_lab.bench.anchors import anchor, table

    ours = next(row for row in table("spatial") if row["system"] == "this-that-model-1.0")
    for column in ("accuracy", "seen", "unseen"):
        assert anchor(f"spatial.subset.{column}").paper == ours[column]


def test_the_public_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text(published(few_released()))
    items = list(read_items(path))
    assert [item.answer for item in items] == [item.answer for item in few_released()]
    assert {item.kind for item in items} == {"boolean", "choice"}
    bands = next(item for item in items if item.family == "distance_band")
    assert bands.options[0] == ("1-4 moves", None)
    path.write_text(path.read_text().replace('"answer_index": 0', '"answer_index": 9', 1))
    with pytest.raises(InvalidInputError, match=r"test.jsonl, line \d+: answer is 9"):
        list(read_items(path))


def test_another_file_is_refused(tmp_path: Path) -> None:
    write_items(tmp_path / "other.jsonl", few_released()[:3])
    context = Context(Setting(system="constant", out=tmp_path), Console(file=io.StringIO()))
    with pytest.raises(InvalidInputError, match="families of the spatial benchmark"):
        run_measurement(measurement_of(tmp_path / "other.jsonl", None), context, ["thisthat"])


def test_the_docs_list_every_table_and_figure() -> None:
    text = (ROOT / "docs" / "measuring.md").read_text()
    listed = re.findall(r"^\| \*\*([^*]+)\*\*", text, re.MULTILINE)
    assert listed == [*PAPER, "λ", "Latency", "Training"]
