from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.bench.conftest import ROOT
from tests.lab.bench.samples import sample_results
from thisthat.cli import app
from thisthat_lab.bench import anchors
from thisthat_lab.bench.report import page as report
from thisthat_lab.bench.report import style
from thisthat_lab.bench.report.fastest import fastest_first, seconds_of_one
from thisthat_lab.bench.report.plots import PLOTS
from thisthat_lab.bench.report.results_page import (
    LONG,
    PAGES,
    PERFORMANCE,
    RESULTS,
    Page,
    pictures_of,
)
from thisthat_lab.bench.result import ResultError, read_result, write_result


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = []
    for result in sample_results():
        paths.append(tmp_path / f"{result.measurement}.json")
        write_result(paths[-1], result)
    return paths


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of all sample results, made by the command."""
    folder = tmp_path_factory.mktemp("page")
    paths = []
    for result in sample_results():
        paths.append(folder / f"{result.measurement}.json")
        write_result(paths[-1], result)
    out = folder / "page.html"
    outcome = CliRunner().invoke(app, ["report", *map(str, paths), "--out", str(out)])
    assert outcome.exit_code == 0, outcome.output
    return out.read_text()


def test_the_page_is_self_contained_and_holds_every_plot(page: str) -> None:
    for plot in PLOTS:
        assert f'id="{plot.name}"' in page
    assert page.count("<svg") == len(PLOTS)
    # Nothing is fetched: addresses stand only in SVG name spaces.
    for address in re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?(https?:[^"\')\s>]*)', page):
        assert address.startswith("http://www.w3.org/")
    assert "<script" not in page
    assert "@media print" in page
    assert "prefers-color-scheme: dark" in page


def test_every_drawn_colour_has_a_value_in_light_and_dark(page: str) -> None:
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", page))
    for dark in (False, True):
        declared = set(re.findall(r"--([a-z0-9-]+):", style.css_variables(dark)))
        assert used - {"paper", "raised"} <= declared
    drawings = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    assert set(re.findall(r"#[0-9a-f]{6}\b", drawings)) <= {"#ffffff", "#000000"}


def test_text_colours_have_contrast_in_both_schemes() -> None:
    def luminance(value: str) -> float:
        parts = [int(value[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, two: str) -> float:
        high, low = sorted((luminance(one), luminance(two)), reverse=True)
        return (high + 0.05) / (low + 0.05)

    for value in (style.INK, style.MUTED, *style.SERIES):
        assert contrast(value, "#ffffff") >= 4.5
        assert contrast(style.DARK[value], "#14171a") >= 4.5


def test_the_same_results_give_the_same_page(tmp_path: Path) -> None:
    results = [result for result in sample_results() if result.measurement == "surfaces"]
    pages = []
    for name in ("one.html", "two.html"):
        report.write_page(tmp_path / name, results, [])
        pages.append((tmp_path / name).read_text())
    assert pages[0] == pages[1]


def test_plots_are_written_as_png_and_pdf(tmp_path: Path) -> None:
    results = [result for result in sample_results() if result.measurement in ("cost", "surfaces")]
    written = report.write_plots(tmp_path / "plots", results)
    assert sorted(path.name for path in written) == [
        "accuracy-cost.pdf",
        "accuracy-cost.png",
        "growth.pdf",
        "growth.png",
        "surfaces.pdf",
        "surfaces.png",
    ]
    assert (tmp_path / "plots" / "surfaces.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_a_plot_without_its_results_is_left_out(plot) -> None:  # type: ignore[no-untyped-def]
    with style.styled() as plt:
        assert plot.draw(plt, []) is None
        assert plot.draw(plt, [*sample_results(), *sample_results(0.5, seed=1)]) is not None


def test_unreadable_files_are_named_and_left_out(files: list[Path], tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text(json.dumps({"schema": 99}))
    cut = tmp_path / "cut.json"
    cut.write_bytes(files[0].read_bytes()[:200])
    out = tmp_path / "page.html"
    given = [str(old), str(files[1]), str(cut)]
    outcome = CliRunner().invoke(app, ["report", *given, "--out", str(out)])
    assert outcome.exit_code == 0, outcome.output
    page = out.read_text()
    assert "old.json: has schema version 99" in page
    assert "cut.json: is no result file, or was cut off" in page
    with pytest.raises(ResultError, match="no result file could be read"):
        report.read_results([old, cut])


def test_text_from_result_files_cannot_become_markup(tmp_path: Path) -> None:
    sample = replace(sample_results()[0], caveats=["<script>alert(1)</script>"])
    report.write_page(tmp_path / "page.html", [sample], ["<img src=x>"])
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "<img" not in page


def test_a_report_needs_somewhere_to_go(files: list[Path]) -> None:
    outcome = CliRunner().invoke(app, ["report", str(files[0])])
    assert outcome.exit_code != 0


def test_the_results_page_does_not_depend_on_the_order_of_files(files: list[Path]) -> None:
    results = [read_result(path) for path in files]
    assert RESULTS.written(results) == RESULTS.written(results[::-1])
    assert "| accuracy | 0.900 | 0.837 to 0.945 | 0.941 |" in RESULTS.written(results)


def test_two_checkpoints_are_told_apart_by_their_versions(files: list[Path]) -> None:
    one = next(each for path in files if RESULTS.of([each := read_result(path)]))
    other = replace(one, system={**one.system, "version": "2"})
    page = RESULTS.written([one, other])
    assert f"## {one.title}: {one.label} 1\n" in page
    assert f"## {one.title}: {one.label} 2\n" in page


def test_every_result_is_on_exactly_one_page(files: list[Path]) -> None:
    results = [read_result(path) for path in files]
    placed = [result for page in PAGES.values() for result in page.of(results)]
    assert sorted(map(id, placed)) == sorted(map(id, results))


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_the_committed_pages_are_what_the_result_files_give(page: Page) -> None:
    written = ROOT / "docs" / f"{page.name}.md"
    paths = sorted((ROOT / "docs" / "results").glob("*.json"))
    results, left_out = report.read_results(paths) if paths else ([], [])
    assert left_out == []
    if not page.of(results) and not written.exists():
        pytest.skip(f"no result of docs/{page.name}.md is committed yet")
    assert written.read_text() == page.written(results)
    for result in page.of(results):
        for _, file in pictures_of(result):
            for form in ("", "-dark"):
                assert (ROOT / "docs" / "pictures" / f"{file}{form}.svg").exists()


def test_anchors_name_numbers_and_sources() -> None:
    assert anchors.anchor("cohort.accuracy").paper == 0.941
    assert anchors.anchor("nothing").paper is None
    assert anchors.anchor(None).others == {}
    assert anchors.prices()["jev"].dollars(1_000_000, 500) == pytest.approx(0.042)
    for name in ("cohort", "calibration", "spatial"):
        assert anchors.table(name)[0]["system"]
        assert "paper" in anchors.caption(name)
    assert "paper" in anchors.sources()


def test_the_performance_page_has_bars_turns_and_pictures(
    files: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "docs" / "performance.md"
    given = [str(path) for path in files if path.stem in ("latency", "cost", "surfaces")]
    outcome = CliRunner().invoke(app, ["report", *given, "--performance-page", str(out)])
    assert outcome.exit_code == 0, outcome.output
    page = out.read_text()
    assert "| reached: (b)/(a) | 6.50× | ≥ 5× | yes |" in page
    assert "| missed: p50 | 120.0 ms | ≤ 100 ms | – (set for another machine) |" in page
    assert "| absent: (c1)/(a) | – | ≥ 3.5× | not measured (not installed) |" in page
    assert "| (b) another | 9 | 100.0 ms |" in page
    assert "Surfaces" not in page
    shown = re.findall(r'(?:src|srcset)="(pictures/[^"]+)"', page)
    assert len(shown) == 4
    for name in shown:
        svg = (out.parent / name).read_text()
        dark = name.endswith("-dark.svg")
        assert (style.DARK[style.SERIES[0]] in svg) == dark
        assert (style.SERIES[0] in svg) != dark


def test_the_performance_page_begins_with_the_fastest_engine_of_each_hardware() -> None:
    results, _ = report.read_results(sorted((ROOT / "docs" / "results").glob("latency*.json")))
    page = PERFORMANCE.written(results)
    opening = page[page.index("## The best engine") : page.index("## Latency")]
    found = re.findall(r"^\| ([^|]+) \|[^|]+\| ([\d.]+) ms \|", opening, flags=re.MULTILINE)
    times = [float(ms) for _, ms in found]
    assert times == sorted(times)
    assert len({hardware for hardware, _ in found}) == len(found)
    below = [seconds_of_one(each) or 0 for each in PERFORMANCE.of(results)]
    assert below == sorted(below)
    assert len(found) == len({str(each.hardware) for each in results})


def test_a_slower_engine_of_the_same_hardware_is_not_in_the_opening() -> None:
    folder = ROOT / "docs" / "results"
    names = ("latency-native-amx.json", "latency-int8.json")
    fast, slow = report.read_results([folder / name for name in names])[0]
    assert fast.hardware["processor"] == slow.hardware["processor"]
    (opening,) = fastest_first([slow, fast])
    assert str(fast.system["engine"]) in opening
    assert str(slow.system["engine"]) not in opening


def test_long_tables_are_folded_and_short_ones_are_not() -> None:
    results, _ = report.read_results(sorted((ROOT / "docs" / "results").glob("*.json")))
    for page in (RESULTS, PERFORMANCE):
        open_parts = re.sub(r"<details>.*?</details>", "", page.written(results), flags=re.DOTALL)
        tables = re.findall(r"(?:^\|.*\n)+", open_parts, flags=re.MULTILINE)
        assert tables
        assert max(table.count("\n") - 2 for table in tables) <= LONG


def test_headings_tell_results_of_one_measurement_apart() -> None:
    results, _ = report.read_results(sorted((ROOT / "docs" / "results").glob("latency*.json")))
    headings = re.findall(r"^## (.*)$", PERFORMANCE.written(results), flags=re.MULTILINE)
    assert len(headings) == len(set(headings))
