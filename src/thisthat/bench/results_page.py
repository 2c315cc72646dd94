"""docs/results.md out of result files: the same bytes for the same files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thisthat.bench import anchors
from thisthat.bench.result import Result
from thisthat.bench.suite import MODULES
from thisthat.bench.table import group_cells, kinds_of, line_cells

HEAD = """# Results

This page is made from the files in `docs/results/` and is not edited by hand:

```
thisthat report docs/results/*.json --results-page docs/results.md
```

*Ours* is measured by the command below each table. *Paper* and *others* are figures published by
their authors (sources at the end). Intervals are 95 %. Unanswered questions count as wrong.
"""


def results_page(results: Sequence[Result]) -> str:
    """The page as Markdown, in the suite's order whatever the order given."""
    parts = [HEAD, *(_section(result) for result in sorted(results, key=_place))]
    named = [f"- **{name}**: {source}" for name, source in anchors.sources().items()]
    parts.append("\n".join(["## Sources of the numbers beside ours", "", *named, ""]))
    return "\n".join(parts)


def _place(result: Result) -> tuple[int, str, str]:
    known = list(MODULES)
    name = result.measurement
    place = known.index(name) if name in known else len(known)
    return place, name, result.label


def _section(result: Result) -> str:
    count = result.questions.get("count", 0)
    asked = f"{count:,} questions" if count else ""
    quick = "quick subset" if result.questions.get("quick") else ""
    about = ", ".join(part for part in (asked, quick, str(result.system.get("engine", ""))) if part)
    lines = [f"## {result.title}: {result.label}", "", about, ""]
    lines += _table(("", "ours", "95 % interval", "paper", "others"), map(line_cells, result.lines))
    for by in kinds_of(result.groups):
        headings = (by, "questions", "no answer", "accuracy", "95 % interval", "chance", "paper")
        lines += [f"<details><summary>By {by}</summary>", ""]
        lines += _table(headings, map(group_cells, result.grouped(by)))
        lines += ["</details>", ""]
    if result.problems:
        told = ", ".join(f"{number} {why}" for why, number in result.problems.items())
        lines += [f"No answer: {told}.", ""]
    lines += [f"- {caveat}" for caveat in result.caveats]
    machine = ", ".join(str(value) for value in result.hardware.values())
    lines += [
        "",
        f"{result.finished[:10]}, {result.seconds:g} s on {machine}: `{result.command}`",
        "",
    ]
    return "\n".join(lines)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    body = ["| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in rows]
    rule = "|" + "|".join(["---"] + ["---:"] * (len(headings) - 1)) + "|"
    return ["| " + " | ".join(headings) + " |", rule, *body, ""]


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
