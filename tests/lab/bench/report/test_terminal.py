"""What the terminal shows of a result, at any width."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from thisthat_lab.bench.report.terminal import print_result, wrapped
from thisthat_lab.bench.result import Bar, Group, Line, Result, Timing, read_result

RESULTS = sorted((Path(__file__).parents[4] / "docs" / "results").glob("*.json"))
EMPTY = Result("m", "Title", {"name": "made", "engine": "e"}, {}, [])
TIMED = Timing("w", "(b) another", "call", 3, 12.0, 30.0, 11.0, 13.0, 11.5, 12.5, 6.0, 2, 3)


def printed(result: Result, width: int) -> str:
    out = io.StringIO()
    print_result(result, Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_no_stored_result_is_cut_in_eighty_columns(path: Path) -> None:
    result = read_result(path)
    told = printed(result, 80)
    assert "…" not in told
    assert max(map(len, told.splitlines())) <= 80
    words = set(told.split())
    for row in (*result.timings, *result.bars, *result.lines):
        assert words >= {*(row.system if isinstance(row, Timing) else row.label).split()}
    letters = "".join(told.split())
    assert all("".join(timing.workload.split()) in letters for timing in result.timings)


def test_columns_that_matter_least_go_first_and_are_named() -> None:
    result = replace(
        EMPTY, timings=[replace(TIMED, system="(b) another system, one pass for each")]
    )
    wide, narrow = printed(result, 140), printed(result, 72)
    assert "p25 to p75" in wide
    assert "Not shown" not in wide
    assert "11.0 ms to 13.0 ms" in narrow
    assert "6.00×" in narrow
    assert "30.0 ms" not in narrow
    assert "in the report: p25 to p75, p90, same answers." in " ".join(narrow.split())
    assert "w, per call\n" in narrow


def test_labels_without_room_stand_above_their_numbers() -> None:
    line = Line("a label that is as long as labels get", 1234.0, 1230.0, 1240.0, unit="ms")
    told = printed(replace(EMPTY, lines=[line]), 40).splitlines()
    assert told[3:5] == [line.label, "  1,234 ms  1,230 ms to 1,240 ms"]


def test_notes_stand_below_their_row() -> None:
    bar = Bar("p50", 5.0, 4, False, "ms", "set for two idle cores")
    told = printed(replace(EMPTY, bars=[bar]), 60).splitlines()
    at = next(n for n, line in enumerate(told) if line.startswith("p50"))
    assert told[at].split() == ["p50", "5.00", "ms", "≤", "4", "ms", "no"]
    assert told[at + 1] == "    set for two idle cores"


def test_long_names_break_after_a_mark() -> None:
    name = "product_manuals_and_sheets.gear_is_complete"
    assert wrapped(name, 30, indent=2) == ["product_manuals_and_sheets.", "  gear_is_complete"]
    assert wrapped("one_long_name_here", 10) == ["one_long_", "name_here"]
    assert wrapped("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert wrapped("a bc def", 4) == ["a bc", "def"]
    group = Group("task", name, 20, 10, 0, 0.3, 0.7, 0.5)
    told = printed(replace(EMPTY, groups=[group]), 80)
    assert "product_manuals_and_sheets." in told
    assert "\n  gear_is_complete" in told
