"""What an engine counts: passes, tokens computed and tokens that did not have to be."""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.engine.prefix_cache import CacheStatistics


@dataclass(frozen=True, slots=True)
class EngineStatistics:
    """Counts since the engine was opened."""

    passes: int
    computed_tokens: int
    padding_tokens: int
    reused_tokens: int
    prefixes: CacheStatistics
