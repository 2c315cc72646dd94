"""What an engine counts: passes, tokens computed and tokens that did not have to be."""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.engine.prefix_cache import CacheStatistics


@dataclass(frozen=True, slots=True)
class EngineStatistics:
    """Counts since the engine was opened.

    Captures are recordings of device work; one after the start would be a mistake, and so would
    a kernel compiled after it, but for a row outside the grid of recorded sizes: those are answered
    without a recording. Second readings are slots whose first answer was too close to call.
    """

    passes: int
    computed_tokens: int
    padding_tokens: int
    reused_tokens: int
    prefixes: CacheStatistics
    captures_at_start: int = 0
    captures_after_start: int = 0
    compiles_after_start: int = 0
    eager_rows_outside_grid: int = 0
    second_readings: int = 0
