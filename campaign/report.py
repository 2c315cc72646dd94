"""What a part found, and the page that shows it."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from thisthat.cpus import usable_cores
from thisthat.files import write_atomically

LONG = 12
START, END = "<!-- campaign: written by python -m campaign -->", "<!-- end of campaign -->"


@dataclass(frozen=True)
class Finding:
    """One number with what it must be; ``kept`` is None where nothing is promised."""

    what: str
    found: str
    bar: str = ""
    kept: bool | None = None


def at_most(what: str, found: float, most: float, unit: str = "", digits: int = 0) -> Finding:
    shown = f"{found:,.{digits}f}{unit and ' ' + unit}"
    bar = f"≤ {most:,.{digits}f}{unit and ' ' + unit}" if most else "0"
    return Finding(what, shown, bar, found <= most)


def none_of(what: str, found: int) -> Finding:
    return at_most(what, found, 0)


def noted(what: str, found: object) -> Finding:
    return Finding(what, f"{found:,}" if isinstance(found, int) else str(found))


@dataclass(frozen=True)
class Result:
    part: str
    about: str
    size: str
    seconds: float
    findings: list[Finding] = field(default_factory=list)
    machine: str = ""

    @property
    def kept(self) -> bool:
        return all(each.kept is not False for each in self.findings)

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n"
        write_atomically(folder / f"{self.part}.json", text.encode())


def read_result(path: Path) -> Result:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    findings = [Finding(**each) for each in value.pop("findings")]
    return Result(**value, findings=findings)


def machine() -> str:
    return f"{usable_cores()} cores, {platform.machine()}, {platform.system()}"


def table(result: Result) -> str:
    """The part's section of the page, its findings folded where they are many."""
    minutes = f"{result.seconds / 60:.1f} minutes"
    lines = [
        f"### {result.part}",
        "",
        f"{result.about} Size: {result.size}; {minutes} on {result.machine}.",
        "",
    ]
    marks = {True: "✓", False: "✗", None: ""}
    rows = ["| | found | must be | |", "|---|---:|---:|---|"]
    rows += [f"| {f.what} | {f.found} | {f.bar} | {marks[f.kept]} |" for f in result.findings]
    return "\n".join(lines + (folded(rows) if len(result.findings) > LONG else rows))


def folded(rows: list[str]) -> list[str]:
    """A long table, which still says at a glance whether every promise was kept."""
    broken = sum(row.endswith("| ✗ |") for row in rows)
    kept = f"promises not kept: {broken}" if broken else "every promise kept"
    summary = f"<details><summary>{len(rows) - 2} findings, {kept}</summary>"
    return [summary, "", *rows, "", "</details>"]


def renew(page: Path, results: Path, order: list[str]) -> None:
    """Put the tables of stored results between the page's marks; other parts keep theirs."""
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    written, _, after = rest.partition(END)
    tables = {part: f"### {part}\n{rest}" for part, rest in _sections(written)}
    for part in order:
        if (results / f"{part}.json").exists():
            tables[part] = table(read_result(results / f"{part}.json"))
    shown = "\n\n".join(tables[part].strip() for part in order if part in tables)
    write_atomically(page, f"{before}{START}\n{shown}\n{END}{after}".encode())


def _sections(written: str) -> Iterator[tuple[str, str]]:
    """The parts that stand on a page, and what follows their headings."""
    for section in written.split("\n### ")[1:]:
        part, _, rest = section.partition("\n")
        yield part, rest
