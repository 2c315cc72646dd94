"""Numbers as people read them; a result as tables of cells, the paper's column beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thisthat.items.metrics import wilson
from thisthat_lab.bench.anchors import Anchor, anchor
from thisthat_lab.bench.result import Bar, Group, Line, Result, Timing

OTHERS_SHOWN = 3
LINE_HEADINGS = ("", "ours", "95 % interval", "paper", "others")
GROUP_HEADINGS = ("questions", "no answer", "accuracy", "95 % interval", "chance", "paper")
"""Of everything but the group's name."""
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
_SPLITS_SPARE = (5, 8, 2)
_TIMED = (
    "system",
    "calls",
    "p50",
    "95 % interval",
    "p25 to p75",
    "p90",
    "over (a)",
    "same answers",
)
_TIMED_SPARE = (4, 5, 7)


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
    """A table: its headings, rows, and a note on each row.

    ``spare`` are the columns that a terminal may leave out, the first one first.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    spare: tuple[int, ...] = ()

    @property
    def page_headings(self) -> tuple[str, ...]:
        """On a page the title is the first heading."""
        return (self.title or self.headings[0], *self.headings[1:])

    @property
    def page_rows(self) -> tuple[tuple[str, ...], ...]:
        """On a page a note stands in the last cell of its row."""
        if not self.notes:
            return self.rows
        return tuple(
            (*row[:-1], f"{row[-1]} ({note})" if note else row[-1])
            for row, note in zip(self.rows, self.notes, strict=True)
        )


def sheets_of(result: Result) -> list[Sheet]:
    """The tables of bars, of systems timed in turns and of fits on splits; none when empty."""
    sheets = []
    if result.bars:
        bars = tuple(_bar_cells(bar, result.machine) for bar in result.bars)
        notes = tuple(bar.note for bar in result.bars)
        sheets.append(Sheet(("bar", "measured", "has to be", "reached"), bars, notes=notes))
    for workload in dict.fromkeys(timing.workload for timing in result.timings):
        timings = [timing for timing in result.timings if timing.workload == workload]
        rows = tuple(_timing_cells(timing) for timing in timings)
        title = f"{workload}, per {timings[0].per}"
        sheets.append(Sheet(_TIMED, rows, title, spare=_TIMED_SPARE))
    kernels = result.series.get("kernels")
    if kernels:
        sheets.append(_kernel_sheet(**kernels))
    splits = result.series.get("splits")
    if splits:
        rows = tuple(_split_cells(row) for row in splits)
        sheets.append(Sheet(_SPLITS, rows, spare=_SPLITS_SPARE))
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
        told,
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
