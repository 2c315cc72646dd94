"""Numbers as people read them; a result as tables in the terminal, the paper's column beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thisthat.items.metrics import wilson
from thisthat_lab.bench.anchors import Anchor, anchor
from thisthat_lab.bench.result import Bar, Group, Line, Result, Timing

OTHERS_SHOWN = 3
_SPLITS = (
    "target",
    "labels",
    "refused",
    "missed",
    "95 % interval",
    "missed on rows left over (there alone)",
    "acted on",
    "best",
    "saved of the most",
)


def number(value: float | None, unit: str = "share") -> str:
    """A value in the precision its unit deserves; a dash for none."""
    if value is None:
        return "–"
    if unit == "ms":
        size = abs(value)
        places = 2 if size < 10 else 1 if size < 1000 else 0
        return f"{value:,.{places}f} ms"
    if unit == "ratio":
        return f"{value:,.2f}×" if value < 10 else f"{value:,.1f}×"
    if unit == "dollars":
        return f"${value:.3g}"
    if unit == "number":
        return f"{value:,.1f}"
    return f"{value:.4f}" if unit == "score" and abs(value) < 0.1 else f"{value:.3f}"


def interval(low: float | None, high: float | None, unit: str = "share") -> str:
    """The two ends, or nothing where there is no interval."""
    if low is None or high is None:
        return ""
    return f"{number(low, unit)} to {number(high, unit)}"


def others(found: Anchor, unit: str = "share") -> str:
    """A few other systems' numbers in one cell."""
    shown = list(found.others.items())[:OTHERS_SHOWN]
    return ", ".join(f"{name} {number(value, unit)}" for name, value in shown)


def line_cells(line: Line) -> tuple[str, str, str, str, str]:
    """Label, ours, interval, paper, others."""
    known = anchor(line.anchor)
    paper = number(known.paper, line.unit) if known.paper is not None else ""
    return (
        line.label,
        number(line.value, line.unit),
        interval(line.low, line.high, line.unit),
        paper,
        others(known, line.unit),
    )


def group_cells(group: Group) -> tuple[str, str, str, str, str, str, str]:
    """Name, questions, unanswered, accuracy, interval, chance, paper."""
    known = anchor(group.anchor)
    return (
        group.name,
        str(group.questions),
        str(group.unanswered) if group.unanswered else "",
        number(group.accuracy),
        interval(group.low, group.high),
        number(group.chance),
        number(known.paper) if known.paper is not None else "",
    )


@dataclass(frozen=True)
class Sheet:
    """A table beside the headline numbers: its headings and rows."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sheets_of(result: Result) -> list[Sheet]:
    """The tables of bars, of systems timed in turns and of fits on splits; none when empty."""
    sheets = []
    if result.bars:
        machine = str(result.hardware.get("machine", ""))
        bars = tuple(_bar_cells(bar, machine) for bar in result.bars)
        sheets.append(Sheet(("bar", "measured", "has to be", "reached"), bars))
    for workload in dict.fromkeys(timing.workload for timing in result.timings):
        timings = [timing for timing in result.timings if timing.workload == workload]
        per = timings[0].per
        headings = (
            f"{workload}, per {per}",
            "calls",
            "p50",
            "95 % interval",
            "p25 to p75",
            "p90",
            "over (a)",
            "same answers",
        )
        rows = tuple(_timing_cells(timing) for timing in timings)
        sheets.append(Sheet(headings, rows))
    kernels = result.series.get("kernels")
    if kernels:
        sheets.append(_kernel_sheet(**kernels))
    splits = result.series.get("splits")
    if splits:
        sheets.append(Sheet(_SPLITS, tuple(_split_cells(row) for row in splits)))
    return sheets


def _kernel_sheet(
    tokens: Sequence[int], rates: Mapping[str, Mapping[str, Sequence[float]]]
) -> Sheet:
    rows = tuple(
        (f"{shape}: {system}", *(number(rate, "number") for rate in found[shape]))
        for shape in next(iter(rates.values()))
        for system, found in rates.items()
    )
    return Sheet(("10⁹ multiply-adds a second", *(f"{count:,}" for count in tokens)), rows)


def _split_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    of = row["splits"]
    missed = wilson(row["missed"], of)
    return (
        f"{row['kind']}, {row['target']}",
        f"{row['labels']} of {row['rows']}",
        number(row["refused"] / of),
        number(missed.value),
        interval(missed.low, missed.high),
        f"{number(row['missed_left'] / of)} ({number(row['by_chance'] / of)})",
        number(row["coverage"]),
        number(row["best"]),
        "" if row["saved"] is None else number(row["saved"]),
    )


def _bar_cells(bar: Bar, machine: str) -> tuple[str, str, str, str]:
    verdict = {True: "yes", False: "no", None: "not measured" if bar.value is None else "–"}
    told = verdict[bar.reached(machine)]
    sign = "≥" if bar.at_least else "≤"
    mark = {"ratio": "×", "ms": " ms", "s": " s"}.get(bar.unit, "")
    return (
        bar.label,
        number(bar.value, bar.unit),
        f"{sign} {bar.limit:g}{mark}",
        f"{told} ({bar.note})" if bar.note else told,
    )


def _timing_cells(timing: Timing) -> tuple[str, ...]:
    return (
        timing.system,
        str(timing.calls),
        number(timing.p50, "ms"),
        interval(timing.low, timing.high, "ms"),
        interval(timing.p25, timing.p75, "ms"),
        number(timing.p90, "ms"),
        number(timing.ratio, "ratio"),
        f"{timing.same} of {timing.compared}" if timing.compared else "",
    )


def kinds_of(groups: Sequence[Group]) -> list[str]:
    """The kinds of groups, in order of first appearance."""
    return list(dict.fromkeys(group.by for group in groups))


def print_result(result: Result, console: Console) -> None:
    """The headline table, one table per kind of group, problems and caveats."""
    count = result.questions.get("count", 0)
    asked = f", {count:,} questions" if count else ""
    title = escape(f"{result.title}: {result.label}{asked}")
    lines = [line_cells(line) for line in result.lines]
    console.print(_table(("", "ours", "95 % interval", "paper", "others"), lines, title))
    for sheet in sheets_of(result):
        console.print(_table(sheet.headings, sheet.rows))
    for by in kinds_of(result.groups):
        headings = (by, "questions", "no answer", "accuracy", "95 % interval", "chance", "paper")
        groups = [group_cells(group) for group in result.grouped(by)]
        console.print(_table(headings, groups, f"By {by}"))
    if result.problems:
        told = ", ".join(f"{count} {why}" for why, count in result.problems.items())
        console.print(f"No answer: {told}.", markup=False)
    for caveat in result.caveats:
        console.print(f"· {caveat}", style="dim", markup=False)
    machine = ", ".join(str(value) for value in result.hardware.values())
    software = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    console.print(f"{machine} · {software}", style="dim", markup=False)


def _table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None
) -> Table:
    """Without columns that are empty in every row: a terminal has room for eighty characters."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    shown = [at for at in range(len(headings)) if not at or any(row[at] for row in rows)]
    for at in shown:
        table.add_column(escape(headings[at]), justify="right" if at else "left")
    for row in rows:
        table.add_row(*(escape(row[at]) for at in shown))
    return table
