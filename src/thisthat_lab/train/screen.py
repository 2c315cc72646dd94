"""A run on a terminal: what it has come to, live. Shows the rows of metrics.jsonl, nothing else."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

MOST_FAMILIES = 24


class Screen:
    """A live view; lines said during the run scroll past above it."""

    def __init__(self, name: str, console: Console | None = None) -> None:
        self._name = name
        self._console = console or Console()
        self._training: dict[str, Any] = {}
        self._held_out: dict[str, dict[str, Any]] = {}
        self._live = Live(console=self._console, refresh_per_second=4, get_renderable=self.view)

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def say(self, line: str) -> None:
        """Print a line above the view; reports are in the view already."""
        if not line.startswith(("step ", "  held out")):
            self._console.print(line, markup=False, highlight=False)

    def watch(self, row: dict[str, Any]) -> None:
        """Take in one row of the run's metrics."""
        if row["event"] == "train":
            self._training = row
        else:
            self._held_out[row["name"]] = row

    def view(self) -> RenderableType:
        """What the terminal shows now."""
        row = self._training
        if not row:
            return Text(f"{self._name}: the first steps …")
        head = Text(
            f"{self._name}  step {row['step']:,}  {row['tokens'] / 1e6:.1f} M tokens  "
            f"loss {row['loss']:.4f}  accuracy {row['accuracy']:.3f}  "
            f"{row['tokens_per_second'] / 1e3:,.1f} k tokens/s  "
            f"{row['seconds_left'] / 60:.1f} min left"
        )
        bar = ProgressBar(total=1.0, completed=min(1.0, row["done"]))
        return Group(head, bar, self._families(row), self._tests())

    def _families(self, row: dict[str, Any]) -> Table:
        table = Table(title="accuracy by family, since the last report", expand=True)
        families = sorted(row["by_family"].items(), key=lambda pair: pair[1])[:MOST_FAMILIES]
        columns = max(1, min(3, self._console.width // 34))
        for _ in range(columns):
            table.add_column("family")
            table.add_column("", justify="right")
        cells = [cell for name, value in families for cell in (name, f"{value:.3f}")]
        for start in range(0, len(cells), 2 * columns):
            table.add_row(*cells[start : start + 2 * columns])
        return table

    def _tests(self) -> Table:
        table = Table(title="held out", expand=True)
        for name in ("name", "step", "accuracy", "macro", "nll", "ece"):
            table.add_column(name, justify="left" if name == "name" else "right")
        for name, row in self._held_out.items():
            numbers = [f"{row[key]:.3f}" for key in ("accuracy", "macro", "nll", "ece")]
            table.add_row(name, str(row["step"]), *numbers)
        return table
