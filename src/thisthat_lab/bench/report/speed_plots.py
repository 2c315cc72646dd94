"""The plots of speed: systems in turns, and growth beside the paper's formula.

Reads result files' content only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thisthat_lab.bench.report.style import INK, MUTED, colour
from thisthat_lab.bench.result import Result
from thisthat_lab.bench.timing import growth
from thisthat_lab.bench.timing.growth import Point

Figure = Any
_MARKS = "osD^vP"
_CURVES = (growth.STATE_FIRST, growth.SCHEMA_FIRST, growth.ONE_PASS)
_PANELS = {
    "state": "longer states",
    "questions": "more questions",
    "options": "more options",
    "states": "more states under one schema",
}


def compared(plt: Any, results: Sequence[Result]) -> Figure | None:
    """Median and middle half of every system, a row per workload, the first result's."""
    found = next((result for result in results if result.timings), None)
    if found is None:
        return None
    workloads = list(dict.fromkeys(timing.workload for timing in found.timings))[::-1]
    systems = list(dict.fromkeys(timing.system for timing in found.timings))
    figure, axes = plt.subplots(figsize=(8.6, 0.62 * len(workloads) + 2.2))
    for number, system in enumerate(systems):
        mine = [timing for timing in found.timings if timing.system == system]
        places = [workloads.index(timing.workload) for timing in mine]
        for timing, place in zip(mine, places, strict=True):
            axes.plot([timing.p25, timing.p75], [place] * 2, color=colour(number), linewidth=2.5)
        axes.plot(
            [timing.p50 for timing in mine],
            places,
            _MARKS[number % len(_MARKS)],
            color=colour(number),
            fillstyle="full" if number < len(_MARKS) else "none",
            markersize=7,
            label=system,
        )
    for place, workload in enumerate(workloads):
        slowest = max(
            (timing for timing in found.timings if timing.workload == workload),
            key=lambda timing: timing.p50,
        )
        if slowest.ratio is not None and slowest.ratio > 1:
            axes.annotate(
                f"{slowest.ratio:,.0f}×" if slowest.ratio >= 100 else f"{slowest.ratio:.3g}×",
                (slowest.p75, place),
                xytext=(9, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color=INK,
            )
    axes.set_yticks(range(len(workloads)), [_broken(name) for name in workloads])
    axes.set_ylim(-0.6, len(workloads) - 0.4)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(plt.FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.margins(x=0.08)
    axes.set_xlabel("milliseconds per call, or per state; line: the middle half of the calls")
    axes.grid(axis="y", visible=False)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _broken(name: str) -> str:
    """A long name on two lines, broken at the comma nearest its middle."""
    commas = [
        place for place, letter in enumerate(name) if letter == "," and name[place + 1] == " "
    ]
    if len(name) < 36 or not commas:
        return name
    at = min(commas, key=lambda place: abs(place - len(name) / 2))
    return f"{name[: at + 1]}\n{name[at + 2 :]}"


def cost_growth(plt: Any, results: Sequence[Result]) -> Figure | None:
    """Four panels: measured times with marks, the formula's tokens as dashed lines."""
    found = next((result for result in results if result.series.get("growth")), None)
    if found is None:
        return None
    points = [Point(**row) for row in found.series["growth"]]
    figure, grid = plt.subplots(2, 2, figsize=(8.8, 7.0))
    for panel, (axis, title) in zip(grid.flat, _PANELS.items(), strict=True):
        mine = [point for point in points if point.axis == axis]
        if not mine:
            panel.set_visible(False)
            continue
        scale = growth.milliseconds_per_token(mine)
        for curve in dict.fromkeys(point.curve for point in mine):
            number = _CURVES.index(curve)
            part = [point for point in mine if point.curve == curve]
            x = [point.x for point in part]
            panel.plot(
                x,
                [point.milliseconds for point in part],
                _MARKS[number],
                color=colour(number),
                markersize=6,
                label=curve,
            )
            formula = [scale * point.tokens for point in part]
            panel.plot(x, formula, "--", color=colour(number), linewidth=1.4)
        if axis == "questions":
            alone = [scale * mine[0].tokens * point.x for point in mine]
            panel.plot(
                [point.x for point in mine], alone, ":", color=MUTED, label="a pass for each"
            )
        panel.set_xscale("log", base=10 if axis == "states" else 2)
        panel.set_yscale("log")
        for direction in (panel.xaxis, panel.yaxis):
            direction.set_major_formatter(plt.FuncFormatter(lambda value, _: f"{value:,g}"))
            direction.set_minor_formatter(plt.NullFormatter())
        panel.set_title(title)
        panel.set_xlabel(growth.AXES[axis])
        each = f"{1000 * scale:.3g} µs" if scale < 1 else f"{scale:.3g} ms"
        told = f"dashed: {each} per token"
        panel.legend(loc="upper left", title=told, alignment="left")
    for panel in grid[:, 0]:
        panel.set_ylabel("milliseconds")
    return figure
