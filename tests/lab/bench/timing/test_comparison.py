"""The comparison with an engine whose answers are a hash, and competitors that are made up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.path_engine import path_decider
from thisthat.questions import Question
from thisthat_lab.bench.result import Bar, Result
from thisthat_lab.bench.systems.competitors import COMPETITORS, Absent
from thisthat_lab.bench.timing import comparison, contest
from thisthat_lab.bench.timing.comparison import MANY, OURS, SCHEMA_LABEL, total_milliseconds
from thisthat_lab.bench.timing.contest import Limits, Turn, TurnJournal


class First:
    """Always the first option."""

    settings = "no settings"

    def answer(
        self, state: str, questions: Mapping[str, Question], *, warm: bool
    ) -> dict[str, str]:
        return {name: question.declared[0].name for name, question in questions.items()}


@pytest.fixture
def outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> comparison.ComparisonResult:
    monkeypatch.setattr(contest, "PAUSE", 0.0)
    present, missing = COMPETITORS[:3], COMPETITORS[3]
    return comparison.compare(
        path_decider(),
        {listed: First() for listed in present},
        [Absent(missing, "it is not there")],
        TurnJournal(tmp_path, {}),
        Limits(seconds=0, patience=0.05, least=2, most=3),
        seed=1,
        advance=lambda _: None,
    )


def test_every_system_is_timed_on_every_workload(outcome: comparison.ComparisonResult) -> None:
    for workload in comparison.COMPARED:
        timed = [timing for timing in outcome.timings if timing.workload == workload.name]
        if workload is comparison.LONG:
            assert timed == []
            continue
        assert timed[0].system == OURS
        assert {timing.system for timing in timed[1:]} == {each.label for each in COMPETITORS[:3]}
        for timing in timed:
            assert timing.p25 <= timing.p50 <= timing.p75 <= timing.p90
            assert timing.ratio == pytest.approx(timing.p50 / timed[0].p50)
        assert timed[0].same == timed[0].compared > 0


def test_what_is_absent_or_left_out_is_named(outcome: comparison.ComparisonResult) -> None:
    told = "\n".join(outcome.caveats)
    assert "(d) zero-shot, one pass per option: absent. it is not there." in told
    assert "4,000 tokens: longer than this checkpoint reads; left out." in told
    bars = {bar.label: bar for bar in outcome.bars}
    absent = bars["77 options, 60 tokens, cold: (d)/(a)"]
    assert (absent.value, absent.note) == (None, "it is not there")
    assert absent.reached("x86_64") is None
    assert len(outcome.bars) == 10


def test_kernels_on_vnni_have_bars_of_their_own() -> None:
    def limits(kernels: str | None) -> list[tuple[float, str]]:
        turns = {label: [Turn(1.0, 1)] for label in (OURS, *(each.label for each in COMPETITORS))}
        held = {comparison.TRIAGE_COLD: turns, comparison.TRIAGE_WARM: turns}
        bars = comparison._bars(held, None, [], {}, kernels)
        return [(bar.limit, bar.note) for bar in bars if bar.label.startswith("triage")]

    told = "set for two cores with AVX-512 VNNI"
    assert limits("vnni") == [(6, told), (14, told), (5, told), (12, told)]
    assert limits("avx2") == limits(None) == [(5, ""), (10, ""), (3.5, ""), (10, "")]


def test_a_subset_of_states_is_scaled_and_said(outcome: comparison.ComparisonResult) -> None:
    lines = {line.label: line.value for line in outcome.lines}
    assert f"{MANY:,} states, {SCHEMA_LABEL}: seconds" in lines
    scaled = [each for each in outcome.caveats if re.search(r"timed on \d+; the first call", each)]
    assert len(scaled) == 5
    expected = lines["schema-first saves, by the token formula"]
    assert expected is not None
    assert expected > 6


def test_the_first_call_pays_for_the_schema_once() -> None:
    turns = [Turn(500.0, 10), Turn(100.0, 10), Turn(100.0, 10)]
    assert total_milliseconds(turns, 1000) == pytest.approx(500 + 990 * 10)
    assert total_milliseconds(turns, 30) == pytest.approx(700)
    assert total_milliseconds(turns[:1], 1000) == pytest.approx(50_000)


def test_a_bar_is_judged_on_its_own_machine_alone() -> None:
    slow = Bar("x", 120, 100, at_least=False, machine="aarch64")
    assert slow.reached("aarch64") is False
    assert slow.reached("x86_64") is None
    kernels = replace(slow, machine="vnni")
    assert [kernels.reached(each) for each in ("x86_64 vnni", "x86_64 avx2", "x86_64")] == [
        False,
        None,
        None,
    ]
    here = {"name": "x", "engine": "native kernels (vnni), cpu, 2 threads, int8"}
    assert Result("m", "t", here, {}, [], hardware={"machine": "x86_64"}).machine == "x86_64 vnni"
    assert Bar("x", 5, 5, at_least=True).reached("any") is True


def test_a_quick_run_leaves_out_slow_workloads_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contest, "PAUSE", 0.0)
    outcome = comparison.compare(
        path_decider(),
        {},
        [],
        TurnJournal(tmp_path, {}),
        Limits(seconds=0, patience=0, least=1, most=1),
        seed=1,
        advance=lambda _: None,
        workloads=comparison.QUICK_WORKLOADS,
    )
    assert f"{comparison.LONG.name}: left out of a quick run." in outcome.caveats
    assert comparison.LONG.name not in {timing.workload for timing in outcome.timings}
    assert {timing.workload for timing in outcome.timings} == {
        workload.name for workload in comparison.QUICK_WORKLOADS
    }
