"""What an engine is: rows in, logits at the slots out, and what it declares of itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from thisthat.engine.rows import Row, RowResult
from thisthat.engine.statistics import EngineStatistics


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine does beyond answering rows; the defaults promise nothing.

    ``rows_apart``: a row's numbers and its time do not depend on the rows that are run with it.
    ``tokens_together``: rows of so many tokens in all are worth running together; 0 where each has
    its own pass. ``pauses``: ``run_in_passes`` cuts long rows and asks before each part, and may be
    called again meanwhile. ``runs_ahead``: ``begin`` returns before the answers are there.
    ``bidirectional``: trunks may have tokens that see later ones. ``layers``: rows may ask for
    hidden states after layers 1 to so many; 0 where for none. ``on_gpu``: it runs on one, so large
    batches are worth it.
    """

    rows_apart: bool = False
    tokens_together: int = 0
    pauses: bool = False
    runs_ahead: bool = False
    bidirectional: bool = False
    layers: int = 0
    on_gpu: bool = False


class Engine(Protocol):
    """Opened with the ids of the 255 label tokens. Engines inherit what they do not define."""

    capabilities: Capabilities = Capabilities()

    @property
    def description(self) -> str:
        """One line for people: runtime, device, numeric form."""

    @property
    def longest(self) -> int:
        """The most tokens on one path from the first prefix token to a branch's end."""

    @property
    def statistics(self) -> EngineStatistics | None:
        """What has been computed and what was saved, where the engine counts."""
        return None

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        """Answer all rows, batched as the engine sees fit, in the caller's order."""

    def run_in_passes(
        self, rows: Sequence[Row], before_pass: Callable[[], None]
    ) -> list[RowResult]:
        """Like ``run``; an engine that pauses calls ``before_pass`` before each of its passes.

        Where a pass can be read in parts, it does so before each of these. It may use the engine,
        and what it raises ends the call.
        """
        return self.run(rows)

    def begin(self, rows: Sequence[Row]) -> Callable[[], list[RowResult]]:
        """Start answering; the function returned waits for the answers."""
        results = self.run(rows)
        return lambda: results

    def open_all(self) -> None:
        """Open now what would be opened at its first need."""
        return

    def close(self) -> None:
        """Free what is held; the engine cannot run afterwards."""
        return
