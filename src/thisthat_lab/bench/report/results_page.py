"""docs/results.md and docs/performance.md out of result files: same files, same bytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from thisthat_lab.bench import anchors
from thisthat_lab.bench.registry import REGISTRY
from thisthat_lab.bench.report.fastest import fastest_first, seconds_of_one
from thisthat_lab.bench.report.table import (
    GROUP_HEADINGS,
    LINE_HEADINGS,
    group_cells,
    kinds_of,
    line_cells,
    sheets_of,
)
from thisthat_lab.bench.result import Result

SPEED = (
    "latency",
    "cost",
    "http",
    "audit",
    "taught",
    "load",
    "restart",
    "fidelity",
    "gpu",
    "host",
    "training",
)
"""Measurements of speed and of what it costs, which have a page of their own."""

LONG = 12
"""Rows of the longest table that is not folded away."""

_PICTURES: dict[str, Callable[[Result], bool]] = {
    "compared": lambda result: bool(result.timings),
    "growth": lambda result: bool(result.series.get("growth")),
}

_HEAD = """# {title}

This page is made from the files in `docs/results/` and is not edited by hand:

```sh
thisthat report docs/results/*.json --{name}-page docs/{name}.md
```

{about}
"""


@dataclass(frozen=True)
class Page:
    """One of the pages: its name, and what it says before the numbers."""

    name: str
    title: str
    about: str
    measurements: Callable[[str], bool]
    opening: Callable[[Sequence[Result]], list[str]] = lambda results: []

    def of(self, results: Iterable[Result]) -> list[Result]:
        """The results that belong on it, in the suite's order whatever the order given."""
        return sorted((each for each in results if self.measurements(each.measurement)), key=_place)

    def written(self, results: Iterable[Result]) -> str:
        """The page as Markdown."""
        shown = self.of(results)
        parts = [_HEAD.format(title=self.title, name=self.name, about=self.about)]
        parts += self.opening(shown)
        titles = Counter(f"{result.title}: {result.label}" for result in shown)
        versions = {(f"{r.title}: {r.label}", r.system.get("version")) for r in shown}
        by_version = Counter(title for title, _ in versions)
        for result in shown:
            title = f"{result.title}: {result.label}"
            if titles[title] == by_version[title] > 1:
                title = f"{title} {result.system.get('version') or ''}".rstrip()
            elif titles[title] > 1:
                title = _told_apart(title, result)
            parts.append(_section(result, title))
        named = [f"- **{name}**: {source}" for name, source in anchors.sources().items()]
        parts.append("\n".join(["## Sources of the numbers beside ours", "", *named, ""]))
        return "\n".join(parts)


RESULTS = Page(
    "results",
    "Results",
    """*Ours* is measured by the command below each table. *Paper* and *others* are figures
published by their authors (sources at the end). Intervals are 95 %. Unanswered questions count as
wrong. Checkpoint 0.6.0 is the default (`thisthat-1.5b`: the large one), 0.4.0 is
`checkpoints/worlds` today. Speed and cost are on
[a page of their own](performance.md).""",
    lambda measurement: measurement not in SPEED,
)
PERFORMANCE = Page(
    "performance",
    "Performance",
    """Every figure is measured by the command below its table, on the machine named there;
competing systems take turns with ours in the same run. A *bar* is what this project set itself to
reach. [Measuring](measuring.md) says how to run it.""",
    lambda measurement: measurement in SPEED,
    fastest_first,
)


PAGES = {page.name: page for page in (RESULTS, PERFORMANCE)}


def pictures_of(result: Result) -> list[tuple[str, str]]:
    """The plots a result has on its page: (name of the plot, name of its files)."""
    names = [name for name, has in _PICTURES.items() if has(result)]
    about = f"{result.label} {result.hardware.get('machine', '')} {result.system.get('engine', '')}"
    where = re.sub(r"[^a-z0-9.]+", "-", about.lower()).strip("-")
    return [(name, f"{name}-{where}") for name in names]


def _place(result: Result) -> tuple[int, str, str, float, str]:
    """The suite's order; of one measurement the fastest engine first."""
    known = [name for name, entry in REGISTRY.items() if not entry.takes_arguments]
    name = result.measurement
    kind = name.partition("-")[0]
    place = known.index(kind) if kind in known else len(known)
    engine = str(result.system.get("engine", ""))
    return place, name, result.label, seconds_of_one(result) or 0.0, engine


def _told_apart(title: str, result: Result) -> str:
    """A heading that several results would have, with where this one was measured."""
    engine = str(result.system.get("engine", "")).split(", ")
    form = [part for part in engine[1:] if "thread" not in part and part != "cpu"]
    return f"{title}, {', '.join([engine[0], *form[:2]])}"


def _section(result: Result, title: str) -> str:
    count = result.questions.get("count", 0)
    asked = f"{count:,} questions" if count else ""
    quick = "quick subset" if result.questions.get("quick") else ""
    version = f"checkpoint {result.system['version']}" if result.system.get("version") else ""
    engine = str(result.system.get("engine", ""))
    about = ", ".join(part for part in (version, asked, quick, engine) if part)
    lines = [f"## {title}", "", about, ""]
    for name, file in pictures_of(result):
        lines += _picture(name, file)
    headline = [line_cells(line) for line in result.lines]
    lines += _folded("Every number", LINE_HEADINGS, headline)
    for sheet in sheets_of(result):
        lines += _folded(sheet.page_headings[0], sheet.page_headings, sheet.page_rows)
    for by in kinds_of(result.groups):
        groups = [group_cells(group) for group in result.grouped(by)]
        lines += _folded(f"By {by}", (by, *GROUP_HEADINGS), groups, always=True)
    if result.problems:
        told = ", ".join(f"{number} {why}" for why, number in result.problems.items())
        lines += [f"No answer: {told}.", ""]
    lines += [f"- {caveat}" for caveat in result.caveats]
    machine = ", ".join(str(value) for value in result.hardware.values())
    software = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    lines += [
        "",
        f"{result.finished[:10]}, {result.seconds:g} s on {machine}: `{result.command}`",
        f"({software})",
        "",
    ]
    return "\n".join(lines)


def _folded(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], always: bool = False
) -> list[str]:
    """A table, folded away where it is long."""
    table = _table(headings, rows)
    if len(rows) <= LONG and not always:
        return table
    told = f"{title} ({len(rows)} rows)"
    return [f"<details><summary>{told}</summary>", "", *table, "</details>", ""]


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    rule = "|" + "|".join(["---"] + ["---:"] * (len(headings) - 1)) + "|"
    return ["| " + " | ".join(headings) + " |", rule, *body, ""]


def _picture(name: str, file: str) -> list[str]:
    """One plot in the reader's own colours."""
    return [
        "<picture>",
        f'<source media="(prefers-color-scheme: dark)" srcset="pictures/{file}-dark.svg">',
        f'<img alt="{name}" src="pictures/{file}.svg">',
        "</picture>",
        "",
    ]
