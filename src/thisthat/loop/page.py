"""The loop's summary as one HTML page: tables and SVG plots, no script, nothing fetched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timezone
from html import escape
from typing import Any

from thisthat.loop.joined import COUNTS
from thisthat.teach.figures import document, line, plot, table

_SHOWN = ("outcomes", "verdict", "share", "margin", "alpha")


def page(found: Mapping[str, Any]) -> str:
    """The whole page of a ``summary``."""
    champion = found["champion"]
    named = "none" if champion is None else _pointed(champion)
    body = f'<p>Champion: {escape(named)}</p>\n<p class="muted">{_moment(found["now"])}</p>\n'
    body += "".join(map(_running, found["running"]))
    body += f"<section><h2>Decisions</h2>\n<div class='plots'>{_over_time(found)}{_reliable(found)}"
    body += f"</div>\n{_counts(found)}{_questions(found)}</section>\n"
    if found["evaluations"]:
        body += f"<section><h2>Evaluations</h2>\n{_evaluations(found)}</section>\n"
    body += f"<section><h2>History</h2>\n{_history(found)}</section>\n"
    return document("Loop", body)


def _running(tried: Mapping[str, Any]) -> str:
    numbers = tried["numbers"]
    title = f"{tried['name']}: {tried['version']} against {tried['champion']}"
    rows = [[name, str({**tried, **numbers}[name])] for name in _SHOWN]
    for arm in ("champion", "candidate"):
        each = numbers[arm]
        mean = "none yet" if each["mean"] is None else f"{each['mean']:.3f}"
        rows.append([f"{arm}: mean reward of {each['outcomes']}", mean])
    ready = "<p class='better'>Not worse: ready to promote.</p>\n" if tried["ready"] else ""
    table_ = table(["", ""], rows)
    return (
        f"<section><h2>{escape(title)}</h2>\n{ready}{table_}"
        f"<div class='plots'>{evidence(tried['points'], numbers['bound'])}</div></section>\n"
    )


def evidence(points: list[tuple[int, float, float]], bound: float) -> str:
    """Both e-values against their bound, on a logarithmic scale."""
    if not points:
        return "<p>No outcome has come yet.</p>"
    most, top = max(at for at, _, _ in points), 1.5 * math.log10(bound)

    def height(value: float) -> float:
        return min(1.0, max(0.0, 0.5 + math.log10(max(value, 1e-12)) / (2 * top)))

    level = height(bound)
    drawn = line("before", [(at / most, height(harm)) for at, harm, _ in points])
    drawn += line("now", [(at / most, height(fine)) for at, _, fine in points])
    drawn += f'<g class="bound">{line("bound", [(0, level), (1, level)])}</g>'
    return plot(
        drawn,
        "outcomes",
        "e-value",
        f"Evidence of harm (dashed) and for not worse; {bound:g} decides.",
        {0.0: "0", 1.0: str(most)},
        {0.5: "1", level: f"{bound:g}"},
        even=False,
    )


def _over_time(found: Mapping[str, Any]) -> str:
    periods = found["periods"]
    if not periods:
        return "<p>The log has no decisions.</p>"
    most, last = max(each["decisions"] for each in periods), max(1, len(periods) - 1)
    parts = [(n / last, each) for n, each in enumerate(periods)]
    drawn = line("before", [(at, each["decisions"] / most) for at, each in parts])
    known = [(at, each["reward"]) for at, each in parts if each["reward"] is not None]
    drawn += line("now", known, [3.0] * len(known))
    ends = {0.0: _moment(periods[0]["from"])[5:16], 1.0: "now"}
    return plot(
        drawn,
        "time",
        "mean reward",
        f"Mean reward of what has an outcome; dashed: decisions, at most {most} a period.",
        ends,
        even=False,
    )


def _reliable(found: Mapping[str, Any]) -> str:
    bins = found["reliability"]
    if not bins:
        return ""
    most = max(each["count"] for each in bins)
    points = [(each["confidence"], each["accuracy"]) for each in bins]
    sizes = [2 + 6 * math.sqrt(each["count"] / most) for each in bins]
    caption = "Reliability where the right option is known; larger dots have more decisions."
    return plot(line("now", points, sizes), "probability of the answer", "share right", caption)


def _counts(found: Mapping[str, Any]) -> str:
    rows = [[meaning, str(found["counts"][name])] for name, meaning in COUNTS.items()]
    return table(["", ""], [row for row in rows if row[1] != "0"])


def _questions(found: Mapping[str, Any]) -> str:
    rows = [
        [
            name,
            str(each["decisions"]),
            str(each["outcomes"]),
            "" if each["reward"] is None else f"{each['reward']:.3f}",
        ]
        for name, each in found["questions"].items()
    ]
    return table(["question", "decisions", "outcomes", "mean reward"], rows)


def _evaluations(found: Mapping[str, Any]) -> str:
    rows = [
        [
            each["version"],
            each["part"],
            str(each["rows"]),
            f"{each['champion']:.3f}",
            f"{each['candidate']:.3f}",
            f"{each['difference']:+.3f} [{each['low']:+.3f}, {each['high']:+.3f}]",
        ]
        for each in found["evaluations"]
    ]
    heads = ["version", "", "decisions", "champion", "candidate", "difference"]
    return table(heads, rows)


def _history(found: Mapping[str, Any]) -> str:
    rows = [
        [
            _moment(event["time"]),
            event["what"],
            event["version"],
            event["by"],
            event["told"],
        ]
        for event in reversed(found["history"])
    ]
    return table(["when", "what", "version", "by", "about"], rows, "texts")


def _pointed(champion: Mapping[str, Any]) -> str:
    lam = champion["lam"]
    return f"{champion['version']}" + ("" if lam is None else f", λ = {lam:g}")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
