"""The plots of the report. Each takes results and gives a figure, or None when they hold nothing
to draw. Reads result files' content only; nothing is computed anew here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thisthat_lab.bench import anchors
from thisthat_lab.bench.report.speed_plots import compared, cost_growth
from thisthat_lab.bench.report.style import INK, MUTED, colour
from thisthat_lab.bench.result import Group, Result
from thisthat_lab.tables import Tables

Figure = Any
PAPER_NAME = "this-that-model-1.0 (paper)"


@dataclass(frozen=True)
class Plot:
    """A named plot: what it shows, and how it is drawn."""

    name: str
    title: str
    note: str
    draw: Callable[[Any, Sequence[Result]], Figure | None]


def _of(results: Sequence[Result], *names: str) -> list[Result]:
    return [result for result in results if result.measurement in names]


def accuracy_against_cost(plt: Any, results: Sequence[Result]) -> Figure | None:
    """One point per system, cost on a logarithmic axis."""
    ours = [
        (result.label, result.series["cost"]["dollars"], result.series["cost"]["accuracy"])
        for result in _of(results, "cost")
        if result.line("cohort.accuracy") and result.series["cost"]["dollars"]
    ]
    if not ours:
        return None
    figure, axes = plt.subplots(figsize=(7.2, 4.2))
    hosted = [
        (row["system"], row["dollars"], row["accuracy"])
        for row in anchors.table("cohort")
        if row["dollars"]
    ]
    for name, dollars, accuracy in hosted:
        paper = name == PAPER_NAME.partition(" ")[0]
        shown = PAPER_NAME if paper else name
        axes.plot(dollars, accuracy, "D" if paper else "o", color=MUTED, markersize=6)
        _label(axes, dollars, accuracy, shown, MUTED)
    # The paper's hollow square: a published price times the tokens of the pass, as we count them.
    read = max(result.series["cost"].get("input_tokens", 0) for result in _of(results, "cost"))
    for name, price in anchors.prices().items():
        known = [row for row in anchors.table("cohort") if row["system"].casefold() == name]
        if known and read:
            dollars, accuracy = price.dollars(read, 0), known[0]["accuracy"]
            axes.plot(dollars, accuracy, "s", color=MUTED, markersize=8, markerfacecolor="none")
            _label(axes, dollars, accuracy, f"{known[0]['system']} (published price)", MUTED)
    for number, (name, dollars, accuracy) in enumerate(ours):
        axes.plot(dollars, accuracy, "s", color=colour(number), markersize=9)
        _label(axes, dollars, accuracy, name, colour(number), bold=True, below=number % 2 == 1)
    axes.set_xscale("log")
    axes.margins(x=0.2, y=0.12)
    axes.set_xlabel("cost of one pass of 68 questions, dollars")
    axes.set_ylabel("accuracy")
    return figure


def accuracy_against_tokens(plt: Any, results: Sequence[Result]) -> Figure | None:
    """Tokens generated before answering: on the noisy actuator, and on the spatial benchmark."""
    panels = {
        "noisy actuator": _of(results, "actuator"),
        "spatial benchmark": [r for r in results if r.measurement.partition("-")[0] == "spatial"],
    }
    points = {
        title: [(r.label, r.series["tokens"]) for r in found if r.series.get("tokens")]
        for title, found in panels.items()
    }
    if not any(points.values()):
        return None
    figure, row = plt.subplots(1, 2, figsize=(9.0, 3.9))
    for axes, (title, mine) in zip(row, points.items(), strict=True):
        if title == "spatial benchmark":
            for known in anchors.table("spatial"):
                axes.plot(known["tokens"], known["accuracy"], "o", color=MUTED, markersize=5)
                _label(axes, known["tokens"], known["accuracy"], known["system"], MUTED)
        else:
            limit = next((r.line("actuator.ceiling") for r in panels[title]), None)
            if limit is not None and limit.value is not None:
                axes.axhline(limit.value, color=INK, linestyle="--", linewidth=1.2)
                axes.text(0, limit.value, " ceiling", va="bottom", fontsize=8.5, color=INK)
        for number, (name, point) in enumerate(mine):
            place = point["tokens"], point["accuracy"]
            axes.plot(*place, "s", color=colour(number), markersize=8)
            _label(axes, *place, name, colour(number), bold=True, below=number % 2 == 1)
        axes.set_xscale("symlog", linthresh=1)
        axes.margins(y=0.15)
        axes.set_xlim(-0.4, 10_000)
        axes.set_title(title)
        axes.set_xlabel("tokens generated per question")
    row[0].set_ylabel("accuracy")
    return figure


def _label(
    axes: Any, x: float, y: float, text: str, ink: str, bold: bool = False, below: bool = False
) -> None:
    axes.annotate(
        text,
        (x, y),
        xytext=(0, -17 if below else 8),
        textcoords="offset points",
        ha="center",
        fontsize=8.5,
        color=ink,
        fontweight="bold" if bold else "normal",
    )


def calibration_bars(plt: Any, results: Sequence[Result]) -> Figure | None:
    """qL2 against the constant predictor and the one that reads ρ alone."""
    found = [result for result in _of(results, "actuator") if result.line("actuator.qL2")]
    if not found:
        return None
    panels = [
        ("noisy actuator", "actuator", ("actuator.constant_qL2", "actuator.rho_qL2")),
        ("local geometry", "geometry", ("geometry.constant_qL2",)),
    ]
    figure, row = plt.subplots(1, 2, figsize=(8.4, 0.55 * len(found) + 2.6))
    for axes, (title, name, rules) in zip(row, panels, strict=True):
        bars = [
            (result.label, line.value or 0, line.low, line.high)
            for result in found
            if (line := result.line(f"{name}.qL2"))
        ]
        paper = anchors.anchor(f"{name}.qL2").paper
        places = list(range(len(bars), -1, -1))
        for number, (_, value, low, high) in enumerate(bars):
            axes.barh(places[number], value, 0.6, color=colour(number))
            if low is not None and high is not None:
                axes.plot([low, high], [places[number]] * 2, color=INK, linewidth=1.2)
            _at_the_edge(axes, places[number], f"{value:.4f}")
        axes.barh(0, paper, 0.6, color=MUTED)
        _at_the_edge(axes, 0, f"{paper:.4f}")
        axes.set_yticks(places, [bar[0] for bar in bars] + [PAPER_NAME])
        widest = max([value for _, value, _, _ in bars] + [paper or 0])
        for step, (key, style) in enumerate(zip(rules, ("--", ":"), strict=False)):
            line = found[0].line(key)
            if line is None or line.value is None:
                continue
            top = len(bars) + 0.6 + 0.35 * step
            axes.plot([line.value] * 2, [-0.6, top], color=INK, linestyle=style, linewidth=1.4)
            text = "constant" if "constant" in key else "reads ρ alone"
            axes.text(line.value, top + 0.05, text, ha="center", fontsize=8.5, color=INK)
            widest = max(widest, line.value)
        axes.set_xlim(0, widest * 1.3)
        axes.set_ylim(-0.6, len(bars) + 1.4)
        axes.set_title(title)
        axes.set_xlabel("qL2, smaller is better")
        axes.grid(axis="y", visible=False)
    row[1].set_yticklabels([])
    return figure


def _at_the_edge(axes: Any, y: float, text: str) -> None:
    axes.text(
        0.995, y, text, transform=axes.get_yaxis_transform(), ha="right", va="center", fontsize=8.5
    )


def reliability_diagram(plt: Any, results: Sequence[Result]) -> Figure | None:
    """Accuracy against confidence, one panel per measurement, size of a point its share."""
    found = [result for result in results if result.series.get("reliability")]
    names = list(dict.fromkeys(result.title for result in found))[:6]
    if not names:
        return None
    columns = 2 if len(names) == 4 else min(3, len(names))
    rows = -(-len(names) // columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(2.9 * columns + 0.4, 3.0 * rows + 0.3),
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    labels = list(dict.fromkeys(result.label for result in found))
    for axes, name in zip(grid.flat, names, strict=False):
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle="--")
        for result in (each for each in found if each.title == name):
            bars = result.series["reliability"]
            total = sum(bar["count"] for bar in bars)
            ink = colour(labels.index(result.label))
            x, y = [bar["confidence"] for bar in bars], [bar["accuracy"] for bar in bars]
            axes.plot(x, y, color=ink, linewidth=1.2)
            sizes = [12 + 160 * bar["count"] / total for bar in bars]
            axes.scatter(x, y, s=sizes, color=ink, alpha=0.75, linewidths=0, label=result.label)
        axes.set_title(name)
        axes.set_xlim(0, 1.03)
        axes.set_ylim(0, 1.03)
        axes.set_aspect("equal")
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("confidence")
    for axes in grid[:, 0]:
        axes.set_ylabel("accuracy")
    if len(labels) > 1:
        _legend_below(figure, grid.flat[0])
    return figure


def _legend_below(figure: Any, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = 2 if max(map(len, labels)) > 20 else 4
    figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)))


def _dots(plt: Any, found: Sequence[Result], by: str) -> Figure | None:
    """One row per group: accuracy with its interval, chance and the paper's number."""
    parts: dict[str, dict[str, Group]] = {}
    for result in found:
        for group in result.grouped(by):
            parts.setdefault(group.name, {})[result.label] = group
    if not parts:
        return None
    labels = list(dict.fromkeys(result.label for result in found))
    first = {name: next(iter(groups.values())) for name, groups in parts.items()}
    names = sorted(parts, key=lambda name: first[name].accuracy)
    figure, axes = plt.subplots(figsize=(7.2, 0.27 * len(names) + 1.5))
    papers = [(place, anchors.anchor(first[name].anchor).paper) for place, name in enumerate(names)]
    for place, name in enumerate(names):
        axes.plot(
            [first[name].chance] * 2,
            [place - 0.32, place + 0.32],
            color=MUTED,
            linewidth=2,
            label="chance" if place == 0 else None,
        )
    known = [(place, value) for place, value in papers if value is not None]
    if known:
        axes.plot(
            [value for _, value in known],
            [place for place, _ in known],
            "D",
            markersize=6,
            markerfacecolor="none",
            markeredgecolor=INK,
            linestyle="none",
            label="paper",
        )
    for number, label in enumerate(labels):
        shift = 0.0 if len(labels) == 1 else 0.36 * (number / (len(labels) - 1) - 0.5)
        mine = [
            (place, parts[name][label]) for place, name in enumerate(names) if label in parts[name]
        ]
        for place, group in mine:
            axes.plot(
                [group.low, group.high], [place - shift] * 2, color=colour(number), linewidth=1.6
            )
        axes.plot(
            [group.accuracy for _, group in mine],
            [place - shift for place, _ in mine],
            "o",
            color=colour(number),
            markersize=5.5,
            linestyle="none",
            label=label,
        )
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.7, len(names) - 0.3)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("accuracy, 95 % interval; unanswered counted as wrong")
    axes.grid(axis="y", visible=False)
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def accuracy_by_family(plt: Any, results: Sequence[Result]) -> Figure | None:
    """The spatial families, those held out of training among them."""
    return _dots(plt, _merged(_of(results, "spatial", "heldout")), "family")


def accuracy_by_branch_family(plt: Any, results: Sequence[Result]) -> Figure | None:
    """The branch families."""
    return _dots(plt, _of(results, "branch"), "family")


def accuracy_by_surface(plt: Any, results: Sequence[Result]) -> Figure | None:
    """The same windows written three ways."""
    return _dots(plt, _of(results, "surfaces"), "surface")


def _merged(found: Sequence[Result]) -> list[Result]:
    """Results of one system as neighbours, so that each system has one colour."""
    return sorted(found, key=lambda result: result.label)


def _shade(
    axes: Any, x: Sequence[float], points: Sequence[dict[str, Any]], ink: str, alpha: float
) -> None:
    low, high = [point["low"] for point in points], [point["high"] for point in points]
    axes.fill_between(x, low, high, color=ink, alpha=alpha, linewidth=0)


def context_ladder(plt: Any, results: Sequence[Result]) -> Figure | None:
    """Two panels rather than two axes: accuracy and time against the side of the world."""
    found = [result for result in _of(results, "ladder") if result.series.get("ladder")]
    if not found:
        return None
    figure, (above, beside) = plt.subplots(1, 2, figsize=(8.6, 3.8))
    for number, result in enumerate(found):
        for arm, style in (("window", "-o"), ("whole", "--s")):
            points = [point for point in result.series["ladder"] if point["arm"] == arm]
            if not points:
                continue
            sides = [point["side"] for point in points]
            name = f"{'the part that matters' if arm == 'window' else 'the whole map'}"
            name = name if len(found) == 1 else f"{result.label}, {name}"
            ink = colour(number * 2 + (arm == "whole"))
            above.plot(sides, [point["accuracy"] for point in points], style, color=ink, label=name)
            _shade(above, sides, points, ink, 0.15)
            timed = [point for point in points if point.get("milliseconds")]
            beside.plot(
                [p["side"] for p in timed], [p["milliseconds"] for p in timed], style, color=ink
            )
    sides = sorted({point["side"] for result in found for point in result.series["ladder"]})
    for axes in (above, beside):
        axes.set_xscale("log")
        axes.set_xticks(sides, [str(side) for side in sides])
        axes.minorticks_off()
        axes.set_xlabel("side of the map")
    above.set_ylim(0, 1.03)
    above.set_title("accuracy over questions asked")
    beside.set_yscale("log")
    beside.set_title("milliseconds per state, four questions")
    _legend_below(figure, above)
    return figure


def ladder_panels(plt: Any, results: Sequence[Result]) -> Figure | None:
    """A panel per system on one scale, best window last rung first, with its line of silence."""
    found = [result for result in _of(results, "ladder") if result.series.get("ladder")]
    if not found:
        return None
    arms = {
        id(result): {
            arm: [point for point in result.series["ladder"] if point["arm"] == arm]
            for arm in ("window", "whole")
        }
        for result in found
    }
    found.sort(
        key=lambda result: -max([0, *(p["accuracy"] for p in arms[id(result)]["window"][-1:])])
    )
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    size = (2.9 * columns + 0.6, 2.6 * rows + 0.6)
    figure, grid = plt.subplots(
        rows, columns, figsize=size, squeeze=False, sharex=True, sharey=True
    )
    for axes, result in zip(grid.flat, found, strict=False):
        for index, (arm, name) in enumerate(
            (("window", "the part that matters"), ("whole", "the whole map"))
        ):
            points = arms[id(result)][arm]
            sides = [point["side"] for point in points]
            shares = [point["accuracy"] for point in points]
            axes.plot(sides, shares, "-o", color=colour(index), markersize=4, label=name)
        silent = [point["unanswered"] for point in arms[id(result)]["whole"]]
        axes.plot(sides, silent, ":", color=colour(2), label="whole map: no answer")
        times = [p["milliseconds"] for p in result.series["ladder"] if p.get("milliseconds")]
        paid = [line.value for line in result.lines if line.label == "cost of this pass"]
        above = [result.label, f"{np.median(times):,.0f} ms" if times else ""]
        above.append(f"${paid[0]:.3g}" if paid and paid[0] is not None else "")
        axes.set_title(", ".join(filter(None, above)), fontsize=9)
        axes.set_xscale("log")
        every = sorted({point["side"] for point in result.series["ladder"]})
        axes.set_xticks(every, [str(side) for side in every])
        axes.minorticks_off()
        axes.set_ylim(-0.03, 1.03)
    for axes in grid.flat[len(found) :]:
        axes.set_visible(False)
    _legend_below(figure, grid.flat[0])
    return figure


def lambda_sweep(plt: Any, results: Sequence[Result]) -> Figure | None:
    """The headline numbers from the base to the shipped checkpoint."""
    found = [result for result in _of(results, "lambda") if result.series.get("lambda")]
    if not found:
        return None
    points = found[0].series["lambda"]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8.6, 3.6), gridspec_kw={"width_ratios": [3, 2]}
    )
    for axes, number in ((left, "accuracy"), (right, "qL2")):
        mine = [point for point in points if point["number"] == number]
        for index, name in enumerate(dict.fromkeys(point["set"] for point in mine)):
            part = [point for point in mine if point["set"] == name]
            x, y = [p["lambda"] for p in part], [p["value"] for p in part]
            ink = colour(index if number == "accuracy" else 3)
            axes.plot(x, y, "-o", color=ink, label=name)
            _shade(axes, x, part, ink, 0.13)
        axes.set_xlabel("λ")
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    left.set_ylim(0, 1.03)
    left.set_title("accuracy")
    left.legend(loc="lower right")
    right.set_ylim(bottom=0)
    right.set_title("noisy actuator, qL2")
    return figure


def latency_distribution(plt: Any, results: Sequence[Result]) -> Figure | None:
    """Every timed call as the share of calls that were at least as fast."""
    found = [result for result in _of(results, "latency") if result.series.get("latency")]
    if not found:
        return None
    figure, axes = plt.subplots(figsize=(7.2, 4.0))
    styles = ("-", "--", ":", "-.")
    for style, result in zip(styles, found, strict=False):
        for number, (name, values) in enumerate(result.series["latency"].items()):
            ordered = np.sort(values)
            share = np.arange(1, ordered.size + 1) / ordered.size
            label = name if len(found) == 1 else f"{result.label}: {name}"
            axes.step(ordered, share, style, where="post", color=colour(number), label=label)
    paper = anchors.anchor("latency.milliseconds").paper or 1.0
    axes.axvline(paper, color=MUTED, linewidth=1.2, linestyle=":")
    axes.text(paper, 1.03, f" paper, {paper:g} ms", color=MUTED, fontsize=8.5)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(plt.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(0, 1.1)
    axes.set_xlabel("milliseconds per call")
    axes.set_ylabel("share of calls")
    _legend_below(figure, axes)
    return figure


def knowledge(plt: Any, results: Sequence[Result]) -> Figure | None:
    """What probes read off a checkpoint and off its base, layer by layer."""
    found = [result for result in _of(results, "knowledge") if result.series.get("probes")]
    if not found:
        return None
    points = found[0].series["probes"]
    readings = list(dict.fromkeys(point["reading"] for point in points))
    figure, panes = plt.subplots(1, len(readings), figsize=(9.0, 3.4), sharey=True, squeeze=False)
    for axes, reading in zip(panes[0], readings, strict=True):
        mine = [point for point in points if point["reading"] == reading]
        layers = sorted({point["layer"] for point in mine})
        for index, (key, label) in enumerate((("value", "checkpoint"), ("base", "base"))):
            means = [np.mean([p[key] for p in mine if p["layer"] == layer]) for layer in layers]
            axes.plot(layers, means, "-o", color=colour(index), label=label)
        axes.set_title(reading)
        axes.set_xlabel("layer")
        axes.set_xticks(layers)
    panes[0][0].set_ylabel("accuracy, mean of tasks")
    panes[0][0].legend(loc="lower right")
    return figure


_TEXTS = Tables(__file__)
_DRAWN: dict[str, Callable[[Any, Sequence[Result]], Figure | None]] = {
    "accuracy-cost": accuracy_against_cost,
    "accuracy-tokens": accuracy_against_tokens,
    "calibration": calibration_bars,
    "reliability": reliability_diagram,
    "families": accuracy_by_family,
    "surfaces": accuracy_by_surface,
    "branch": accuracy_by_branch_family,
    "ladder": context_ladder,
    "ladder-panels": ladder_panels,
    "lambda": lambda_sweep,
    "latency": latency_distribution,
    "compared": compared,
    "growth": cost_growth,
    "knowledge": knowledge,
}
PLOTS = tuple(
    Plot(name, *_TEXTS.read(name, tuple[str, str]), draw) for name, draw in _DRAWN.items()
)
