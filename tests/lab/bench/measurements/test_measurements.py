"""Every measurement, run through the real facade with an engine whose answers are a hash."""

from __future__ import annotations

import io
import json
import platform
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.lab.bench.conftest import ROOT
from tests.lab.suites.written import samples
from tests.path_engine import PathEngine, path_decider
from thisthat.engine.prefix_cache import CacheStatistics
from thisthat.engine.protocol import Capabilities, Engine
from thisthat.engine.rows import Logits, Row, RowResult
from thisthat.engine.second_reading import SecondReading
from thisthat.engine.statistics import EngineStatistics
from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.questions import Source
from thisthat.rng import Rng
from thisthat.temperature import Temperatures
from thisthat_lab.bench import measure, suite
from thisthat_lab.bench.measure import Context, Setting, run_measurement
from thisthat_lab.bench.measurements.questions import actuator, branch, heldout, parity
from thisthat_lab.bench.measurements.questions import ladder as ladder_module
from thisthat_lab.bench.measurements.questions import lambda_sweep as sweep_module
from thisthat_lab.bench.measurements.speed import audit, cost, latency
from thisthat_lab.bench.measurements.trust import forms
from thisthat_lab.bench.measurements.trust.forms import LEADS
from thisthat_lab.bench.registry import REGISTRY
from thisthat_lab.bench.report.terminal import print_result
from thisthat_lab.bench.result import Result, read_result
from thisthat_lab.bench.systems.competitors import COMPETITORS
from thisthat_lab.bench.systems.opening import EngineSystem, OneAtATime
from thisthat_lab.bench.systems.protocol import SystemOptions
from thisthat_lab.bench.timing import contest, growth
from thisthat_lab.bench.timing.beside_onnx import ONNX
from thisthat_lab.bench.timing.contest import Limits
from thisthat_lab.suites.spatial import released
from thisthat_lab.suites.spatial.evenness import Evenness
from thisthat_lab.suites.spatial.pool import EvaluationPool
from thisthat_lab.suites.spatial.registry import benchmark_families
from thisthat_lab.suites.spatial.training import ask_about


def few_released() -> list[Item]:
    """Some items of every family, made as the released set's are but not balanced."""
    pool = EvaluationPool("bench test", (8, 16), 4)
    rng = Rng("bench test")
    items: list[Item] = []
    for family in benchmark_families().values():
        found = 0
        while found < 6:
            scene = pool.scene(family.scene_kind, rng, rng.choice((8, 16)))
            item = ask_about(scene, family, rng, Evenness()) if scene else None
            if item is not None:
                items.append(item)
                found += 1
    return items


def open_paths(name: str, options: SystemOptions) -> EngineSystem:
    decider = path_decider()
    decider.source = Source("paths", "1", 1.0 if options.lam is None else options.lam)
    return EngineSystem(decider)


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.setattr(measure, "open_system", open_paths)
    monkeypatch.setattr(released, "read_released", few_released)
    monkeypatch.setattr(branch, "QUICK_PER_FAMILY", 4)
    monkeypatch.setattr(heldout, "QUICK_PER_FAMILY", 12)
    monkeypatch.setattr(actuator, "QUICK_STATES_PER_SIDE", 6)
    monkeypatch.setattr(parity, "QUICK_MAZES", 30)
    monkeypatch.setattr(ladder_module, "QUICK_WORLDS_PER_SIDE", 1)
    monkeypatch.setattr(sweep_module, "QUICK_LAMBDAS", (0.0, 1.0))
    monkeypatch.setattr(latency, "QUICK_SECONDS", 0.1)
    monkeypatch.setattr(contest, "PAUSE", 0.0)
    once = Limits(seconds=0, patience=0, least=1, most=1)
    monkeypatch.setattr(latency, "QUICK_LIMITS", once)
    monkeypatch.setattr(growth, "QUICK_SPENDING", growth.Spending(once, 0.001))
    return Context(Setting(quick=True, out=tmp_path), Console(file=io.StringIO()))


def measured(context: Context, name: str) -> Result:
    path, result = run_measurement(suite.measurement(name), context, ["thisthat", "bench", name])
    assert read_result(path) == result
    assert result.system["name"] == "paths"
    assert result.caveats
    return result


def value(result: Result, anchor: str) -> float:
    line = result.line(anchor)
    assert line is not None
    assert line.value is not None
    return line.value


def test_spatial_and_surfaces_share_their_answers(context: Context) -> None:
    spatial = measured(context, "spatial")
    assert len(spatial.grouped("family")) == 15
    assert {group.name for group in spatial.grouped("map side of search families")} <= {"8", "16"}
    calls = len(context.engine.decider.engine.calls)  # type: ignore[attr-defined]
    surfaces = measured(context, "surfaces")
    assert len(context.engine.decider.engine.calls) == calls  # type: ignore[attr-defined]
    assert {group.name for group in surfaces.grouped("surface")} == {"ascii", "json", "prose"}
    assert spatial.series["reliability"]


def test_actuator_and_held_out_sets(context: Context) -> None:
    found = measured(context, "actuator")
    assert 0.5 < value(found, "actuator.ceiling") < 1
    assert value(found, "actuator.rho_qL2") <= value(found, "actuator.constant_qL2")
    assert found.series["decomposition"]["gap"] < 1e-12
    observed = found.series["decomposition"]
    distance = abs(observed["observed"] - observed["expected"])
    assert distance < 5 * observed["standard_error"]
    assert {group.name for group in found.grouped("ρ")} == {"0.1", "0.3", "0.7", "0.9"}
    held_out = measured(context, "heldout")
    assert len(held_out.grouped("family")) == 4
    assert {g.name for g in held_out.grouped("geometry by map side")} == {"8", "16", "32", "50"}


def test_parity_counts_pairs(context: Context) -> None:
    found = measured(context, "parity")
    rows = found.rows
    right = [
        answer == chosen for answer, chosen in zip(rows["answer"], rows["chosen"], strict=True)
    ]
    both = sum(band and parity for band, parity in zip(right[::2], right[1::2], strict=True))
    assert value(found, "parity.conditional") == pytest.approx(both / sum(right[::2]))
    # Every step changes the parity, so no path has to be found: the caveat says so.
    assert found.lines[-1].label.endswith("coordinates alone")
    assert found.lines[-1].value == 1
    assert any("printed coordinates" in caveat for caveat in found.caveats)


@pytest.mark.parametrize(
    ("name", "recipe", "told"),
    [
        ("actuator", "further", "trained on q itself"),
        ("actuator", "mixture", "single outcomes alone"),
        ("parity", "default", "no unseen readout"),
        ("parity", "mixture", "No readout that determines a parity was trained"),
        ("parity", "deepening", "trained on no maze"),
        ("surfaces", "worlds", "in all three surfaces"),
        ("lambda", "further", "trained on the cohort's own wording"),
        ("lambda", "worlds", "trained on these fifteen families"),
    ],
)
def test_what_training_saw_stands_beside_the_figure(
    name: str, recipe: str, told: str, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told not in " ".join(measured(context, name).caveats)
    monkeypatch.setattr(context.system, "recipes", (recipe,))
    assert told in " ".join(measured(context, name).caveats)


def test_a_checkpoint_that_went_on_to_mazes_is_not_said_to_know_none(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context.system, "recipes", ("deepening", "worlds"))
    assert "trained on no maze" not in " ".join(measured(context, "parity").caveats)


def test_every_recipe_with_mazes_is_named_beside_their_figures() -> None:
    with_mazes = {
        path.stem
        for path in (ROOT / "recipes").glob("*.toml")
        if 'suite = "spatial"' in path.read_text(encoding="utf-8")
    }
    assert "worlds" in with_mazes
    for name in ("cohort", "spatial", "surfaces", "heldout", "parity", "ladder"):
        named = {recipe for recipes in REGISTRY[name].trained.values() for recipe in recipes}
        assert named == with_mazes, name


def test_the_sweep_says_what_the_sets_it_asks_say() -> None:
    for name in ("cohort", "spatial", "actuator"):
        assert REGISTRY[name].trained.items() <= REGISTRY["lambda"].trained.items()


def test_a_rung_that_does_not_fit_is_a_result(context: Context) -> None:
    found = measured(context, "ladder")
    points = {(p["arm"], p["side"]): p for p in found.series["ladder"]}
    assert len(points) == 10
    assert found.problems == {"too long": 20}
    for side in (32, 50, 80, 128, 200):
        assert points["whole", side]["unanswered"] == 1
        assert points["whole", side]["accuracy"] == 0
        assert points["whole", side]["milliseconds"] is None
        assert points["window", side]["unanswered"] == 0
        assert points["window", side]["milliseconds"] > 0


def test_branch_has_every_family_and_arithmetic_apart(context: Context) -> None:
    found = measured(context, "branch")
    assert len(found.grouped("family")) > 40
    assert value(found, "branch.arithmetic") >= 0
    assert {group.name for group in found.grouped("kind")} == {"boolean", "choice", "score"}


def test_order_finds_flips_of_an_engine_that_reads_places(context: Context) -> None:
    found = measured(context, "order")
    flips = found.lines[0]
    # The hash engine answers every order anew, so most answers flip.
    assert flips.value is not None
    assert flips.value > 0.3


def test_lambda_sweep_opens_every_lambda(context: Context) -> None:
    found = measured(context, "lambda")
    assert {point["lambda"] for point in found.series["lambda"]} == {0.0, 1.0}
    sets = {point["set"] for point in found.series["lambda"]}
    assert sets == {"windows", "branch", "actuator"}


def test_the_sweep_asks_written_tasks_where_there_are_some(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "branches").mkdir()
    tasks = [samples.late(split="heldout"), samples.how_late(split="heldout")]
    lines = "".join(json.dumps(task) + "\n" for task in tasks)
    (tmp_path / "branches" / "all.jsonl").write_text(lines)
    context.setting = replace(context.setting, data=tmp_path)
    shown: list[tuple[str, int]] = []
    bar = context.progress

    def watch(title: str, total: int, completed: int = 0) -> Any:
        shown.append((title, total))
        return bar(title, total, completed)

    monkeypatch.setattr(context, "progress", watch)
    found = measured(context, "lambda")
    assert shown[0] == ("λ = 0, written", 2)
    assert ("λ = 1, written", 2) in shown
    graded = [line.label for line in found.lines if "written" in line.label]
    assert graded == ["λ = 0, written: accuracy", "λ = 1, written: accuracy"]
    assert [p["lambda"] for p in found.series["lambda"] if p["set"] == "written"] == [0, 1]


def test_latency_states_its_workloads(context: Context) -> None:
    found = measured(context, "latency")
    assert found.questions["count"] == 0
    for values in found.series["latency"].values():
        assert len(values) >= latency.QUICK_LEAST_CALLS
    assert value(found, "latency.milliseconds") > 0


def test_latency_names_every_competitor_and_every_bar(context: Context) -> None:
    found = measured(context, "latency")
    absent = [caveat for caveat in found.caveats if "absent. they run on the CPU" in caveat]
    assert len(absent) == len(COMPETITORS)
    # The memory and start of a fresh process are measured for engines on a CPU alone.
    assert len(found.bars) == 13
    booleans = [(bar.limit, bar.machine, bar.note) for bar in found.bars[:3]]
    assert [limit for limit, _, _ in booleans] == [48, 165, 850]
    assert {machine for _, machine, _ in booleans} == {"vnni"}
    assert booleans[0][2] == "set for two cores with AVX-512 VNNI"
    assert found.bars[0].value == np.median(found.series["latency"]["1 boolean, 80 tokens"])
    assert found.bars[0].reached(found.machine) is None, "its kernels are others"
    assert [bar.note for bar in found.bars[1:3]] == ["left out of a quick run"] * 2
    assert found.timings
    assert not list(context.setting.out.glob("turns-*"))
    out = io.StringIO()
    print_result(found, Console(file=out, width=250))
    printed = out.getvalue()
    assert "not measured\n    they run on the CPU" in printed
    assert "≥ 3.5×" in printed
    assert "not measured\n    left out of a quick run" in printed
    assert "(a) thisthat, 4 questions" in printed
    assert f"python {platform.python_version()}" in printed


def test_native_kernels_take_turns_with_onnxruntime(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latency, "open_decider", lambda *_, **__: path_decider())
    engine = context.engine.decider.engine
    monkeypatch.setattr(engine, "description", "native kernels (avx2), cpu", raising=False)
    found = measured(context, "latency")
    timed = {timing.workload for timing in found.timings if timing.system == ONNX}
    booleans = [workload for workload in latency.WORKLOADS if workload.boolean]
    assert timed == {workload.name for workload in booleans}
    assert timed <= {bar.label.removesuffix(": (o)/(a)") for bar in found.bars}
    assert not list(context.setting.out.glob("turns-*"))


class Counting(PathEngine):
    """Has counts, as an engine must that is read twice."""

    statistics = EngineStatistics(0, 0, 0, 0, CacheStatistics(0, 0, 0, 0, 0, 0, 0, 0))

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        return [RowResult(tuple(map(self.moved, each.logits)), 0) for each in super().run(rows)]

    def moved(self, logits: Logits) -> Logits:
        return logits


class Hesitating(Counting):
    """No answer leads."""

    def moved(self, logits: Logits) -> Logits:
        return np.zeros_like(logits)


def reading_twice(fast: Engine) -> EngineSystem:
    decider = path_decider()
    decider.engine = SecondReading(fast, Counting)
    decider.source = Source("paths", "1", 1.0)
    return EngineSystem(decider)


@pytest.mark.parametrize(("fast", "share"), [(Counting(), 0.0), (Hesitating(), 1.0)])
def test_how_often_close_calls_were_read_twice_is_told(
    context: Context, monkeypatch: pytest.MonkeyPatch, fast: Engine, share: float
) -> None:
    monkeypatch.setattr(measure, "open_system", lambda *_: reading_twice(fast))
    monkeypatch.setattr(EngineSystem, "open", open_reference)
    for name in ("latency", "fidelity"):
        twice = [each for each in measured(context, name).lines if "read twice" in each.label]
        assert [each.value for each in twice] == [pytest.approx(share, abs=0.1)]


def test_audit_compares_the_same_decisions_and_misses_no_line(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "MANY_LINES", 20)
    found = measured(context, "audit")
    ratio, *_, missing, unequal = found.lines
    assert ratio.value is not None
    assert ratio.low is not None
    assert ratio.high is not None
    assert 0 < ratio.low <= ratio.value <= ratio.high
    assert ratio.label.endswith(f"(median of {audit.QUICK_PAIRS} pairs of blocks)")
    assert (missing.value, unequal.value) == (0, 0)
    assert [bar.limit for bar in found.bars] == [1.05]
    assert found.bars[0].value == ratio.value
    assert {len(times) for times in found.series["audit"].values()} == {audit.QUICK_PAIRS}
    assert [line.unit for line in found.lines[1:6]] == ["ms"] * 5
    assert context.engine.decider.log is None
    assert [path.name for path in context.setting.out.iterdir()] == ["audit.json"]
    assert "audit" not in suite.SUITE


def test_cost_is_power_times_time(context: Context) -> None:
    context.setting = replace(context.setting, watts=80.0)
    found = measured(context, "cost")
    point = found.series["cost"]
    assert point["dollars"] > 0
    seconds = point["dollars"] / 0.30 * 3.6e6 / 80
    assert seconds < found.seconds + 1
    assert "80 W (as stated with --watts)" in found.caveats[0]
    assert {point["axis"] for point in found.series["growth"]} == set(growth.AXES)
    assert any(line.label.endswith("tokens grow") for line in found.lines)
    assert any(caveat.startswith("State length stops at 512") for caveat in found.caveats)


def test_an_unknown_power_gives_no_dollars(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost, "device_watts", lambda stated, on_gpu: None)
    found = measured(context, "cost")
    assert found.series["cost"]["dollars"] is None
    assert found.series["cost"]["accuracy"] == found.lines[0].value
    assert not [line for line in found.lines if line.unit == "dollars"]
    assert "--watts" in found.caveats[0]


def test_cost_with_the_cohort(
    context: Context, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Setting(quick=True, out=tmp_path / "cohort", data=shared_data, watts=80.0)
    asked = Context(setting, Console(file=io.StringIO()))
    monkeypatch.setattr(asked.system, "recipes", ("further",))
    found = measured(asked, "cost")
    assert found.line("cost.cohort_dollars") is not None
    assert found.questions["count"] == 68
    assert "trained on the cohort's own wording" in found.caveats[0]
    # Branch questions say nothing about the cohort.
    monkeypatch.setattr(context.system, "recipes", ("further",))
    assert "cohort" not in " ".join(measured(context, "cost").caveats)


def open_reference(ref: str, **how: Any) -> EngineSystem:
    decider = path_decider()
    decider.source = Source("paths", "1", how["lam"])
    decider.engine.description = f"paths, {how['form']}"  # type: ignore[attr-defined]
    return EngineSystem(decider)


def test_a_form_is_faithful_to_itself(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EngineSystem, "open", open_reference)
    found = measured(context, "fidelity")
    assert [line.value for line in found.lines[:4]] == [0, 0, 0, 0]
    assert not [line for line in found.lines if "read twice" in line.label]
    assert found.caveats[2] == "Reference: paths, float32."
    assert [bar.value for bar in found.bars] == [None, None]
    assert [bar.limit for bar in found.bars] == [0.005, 0.005]
    assert all("decisions_dev" in bar.note for bar in found.bars)


def test_fidelity_is_barred_on_branch_and_dev_rows(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {
        "source": "desk",
        "family": "routing",
        "kind": "boolean",
        "question": "Is it late?",
        "options": ["no", "yes"],
        "state": "The parcel is two weeks late.",
        "answer": 1,
        "split": "seen_task",
    }
    (tmp_path / "decisions_dev.jsonl").write_text(json.dumps(row) + "\n")
    monkeypatch.setattr(EngineSystem, "open", open_reference)
    setting = Setting(quick=True, out=tmp_path / "out", data=tmp_path)
    found = measured(Context(setting, Console(file=io.StringIO())), "fidelity")
    assert any(line.label.startswith("dev, 1 questions") for line in found.lines)
    assert [bar.value for bar in found.bars] == [0, 0]


class Coarse(PathEngine):
    """Rounds logits to steps of a fifth."""

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        return [
            replace(each, logits=tuple(np.round(one * 5) / 5 for one in each.logits))
            for each in super().run(rows)
        ]


def test_float8_is_held_against_bfloat16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_form(ref: str, **how: Any) -> EngineSystem:
        opened.append(how["dtype"])
        decider = path_decider(temperatures=Temperatures(2.0))
        if how["dtype"] == "float8":
            decider.engine = Coarse()
        decider.engine.description = f"torch, {how['dtype']}"  # type: ignore[misc]
        return EngineSystem(decider)

    monkeypatch.setattr(EngineSystem, "open", open_form)
    items = [
        Item("s", "f", "choice", f"state {n}", "Which?", tuple((o, None) for o in "abc"), 0)
        for n in range(200)
    ]
    monkeypatch.setattr(forms, "_sets", lambda context: {"branch": items})
    options = SystemOptions(engine="torch", dtype="float8")
    setting = Setting(options=options, out=tmp_path)
    found = measured(Context(setting, Console(file=io.StringIO())), "fidelity")
    assert opened == ["float8", "bfloat16"]
    lines = {line.label: line.value for line in found.lines}
    assert lines["answers that differ from bfloat16"] > 0
    # Rounding by a tenth moves a lead by a fifth at most, and by 0.08 on average or so.
    assert 0.04 < lines["mean change of a lead, logits"] < 0.12
    assert lines["leads below 0.05"] <= lines["leads below 0.3"]
    mended = [lines[f"leads below {lead:g} read again: answers that differ"] for lead in LEADS]
    assert mended == sorted(mended, reverse=True)
    assert mended[-1] == 0
    assert found.caveats[2] == "Reference: torch, bfloat16."


def test_an_interrupted_suite_goes_on(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "SUITE", ("spatial", "surfaces"))
    done: list[str] = []

    def stop(path: Path, result: Result) -> None:
        done.append(result.measurement)
        if result.measurement == "surfaces" and done.count("surfaces") == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        suite.run_all(context, ["thisthat"], stop)
    paths = suite.run_all(context, ["thisthat"], stop)
    assert done == ["spatial", "surfaces", "surfaces"]
    assert [path.name for path in paths] == ["spatial.json", "surfaces.json"]
    assert not list(context.setting.out.glob("all.*.partial.json"))


def test_what_a_system_cannot_do_is_left_out_with_a_notice(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=200)
    context = Context(Setting(system="majority", out=tmp_path), console)
    assert suite._left_out("latency", context)
    assert suite._left_out("cohort", context)
    assert suite._left_out("order", context) is None
    with pytest.raises(InvalidInputError, match="none of our engines"):
        _ = context.engine


def test_the_suite_tells_which_questions_a_seed_does_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "SUITE", ("spatial", "branch"))
    monkeypatch.setattr(released, "read_released", few_released)
    monkeypatch.setattr(branch, "QUICK_PER_FAMILY", 1)
    told = io.StringIO()
    setting = Setting(system="constant", out=tmp_path, quick=True, seed=3)
    context = Context(setting, Console(file=told, width=200))
    suite.run_all(context, ["thisthat"], lambda *_: None)
    assert "spatial: always asks the same questions, whatever the seed" in told.getvalue()
    assert "branch: always" not in told.getvalue()


def test_an_engine_isolates_the_state_that_is_too_long() -> None:
    options = (("no", None), ("yes", None))
    items = [
        Item("s", "f", "boolean", text, "q?", options, 0)
        for text in ("short", "long " * 2000, "also short")
    ]
    replies: dict[int, Any] = {}
    system = EngineSystem(path_decider())
    system.answer(items, replies.__setitem__)
    assert [replies[n].problem for n in range(3)] == [None, "too long", None]


def test_one_at_a_time_gives_every_reply_its_time() -> None:
    options = (("no", None), ("yes", None))
    items = [Item("s", "f", "boolean", f"state {n // 2}", f"q{n}?", options, 0) for n in range(4)]
    plain: dict[int, Any] = {}
    timed: dict[int, Any] = {}
    EngineSystem(path_decider()).answer(items, plain.__setitem__)
    system = OneAtATime(EngineSystem(path_decider()), questions_apart=True)
    system.answer(items, timed.__setitem__)
    for number in range(4):
        assert timed[number].probabilities == plain[number].probabilities
        assert timed[number].seconds > 0
    assert "one question at a time" in system.identity.engine


def test_a_gpu_is_asked_in_large_batches() -> None:
    options = (("no", None), ("yes", None))
    items = [Item("s", "f", "boolean", f"state {n}", "q?", options, 0) for n in range(200)]
    counts = []
    for on_gpu in (False, True):
        decider = path_decider()
        decider.engine.capabilities = Capabilities(on_gpu=on_gpu)
        EngineSystem(decider).answer(items, lambda *_: None)
        counts.append(decider.engine.calls)  # type: ignore[attr-defined]
    assert max(counts[0]) <= 64
    assert counts[1] == [200]


def test_abstention_is_measured_for_every_kind_and_stored(context: Context) -> None:
    found = measured(context, "abstain")
    kinds = {line.label.partition(":")[0] for line in found.lines}
    assert kinds == {"boolean", "choice", "score"}
    blank = {line.label: line.value for line in found.lines if "without the state" in line.label}
    assert [value for label, value in blank.items() if "choice" not in label] == [0.5, 0.5]
