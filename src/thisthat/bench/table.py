"""Numbers as people read them; a result as tables in the terminal, the paper's column beside."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thisthat.bench.anchors import Anchor, anchor
from thisthat.bench.result import Group, Line, Result

OTHERS_SHOWN = 3


def number(value: float | None, unit: str = "share") -> str:
    """A value in the precision its unit deserves; a dash for none."""
    if value is None:
        return "–"
    if unit == "ms":
        return f"{value:,.1f} ms" if value < 1000 else f"{value:,.0f} ms"
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


def kinds_of(groups: Sequence[Group]) -> list[str]:
    """The kinds of groups, in order of first appearance."""
    return list(dict.fromkeys(group.by for group in groups))


def print_result(result: Result, console: Console) -> None:
    """The headline table, one table per kind of group, problems and caveats."""
    count = result.questions.get("count", 0)
    asked = f", {count:,} questions" if count else ""
    title = escape(f"{result.title}: {result.label}{asked}")
    table = Table(title=title, title_justify="left")
    for heading, justify in (
        ("", "left"),
        ("ours", "right"),
        ("95 % interval", "right"),
        ("paper", "right"),
        ("others", "left"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for line in result.lines:
        table.add_row(*map(escape, line_cells(line)))
    console.print(table)
    for by in kinds_of(result.groups):
        console.print(_group_table(result, by))
    if result.problems:
        told = ", ".join(f"{count} {why}" for why, count in result.problems.items())
        console.print(f"No answer: {told}.", markup=False)
    for caveat in result.caveats:
        console.print(f"· {caveat}", style="dim", markup=False)


def _group_table(result: Result, by: str) -> Table:
    table = Table(title=f"By {by}", title_justify="left")
    headings = (by, "questions", "no answer", "accuracy", "95 % interval", "chance", "paper")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == by else "right")
    for group in result.grouped(by):
        table.add_row(*map(escape, group_cells(group)))
    return table
