"""What engines keep between calls: states of schema prefixes, least recently used out.

Bounded in bytes: the engine gives a function that says how many a value holds. Safe to share
between threads.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from thisthat.engine.rows import Tokens
from thisthat.errors import InvalidInputError

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Counts since the cache was made; ``bytes`` and ``entries`` are what it holds now."""

    hits: int
    misses: int
    evictions: int
    refused: int
    tokens_saved: int
    entries: int
    bytes: int
    most_bytes: int


class PrefixCache(Generic[Value]):
    """Values by prefix tokens. A value larger than the bound is not kept."""

    def __init__(self, most_bytes: int, size: Callable[[Value], int]) -> None:
        if most_bytes < 0:
            raise InvalidInputError("prefix_cache_bytes", f"{most_bytes}, but must be at least 0")
        self._most_bytes = most_bytes
        self._size = size
        self._entries: OrderedDict[Tokens, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()
        self._bytes = 0
        self._hits = self._misses = self._evictions = self._refused = self._tokens_saved = 0

    def get(self, prefix: Tokens) -> Value | None:
        """The kept value, now the most recently used, or None. Counts a hit or a miss."""
        with self._lock:
            entry = self._entries.get(prefix)
            if entry is None:
                self._misses += 1
                return None
            self._entries.move_to_end(prefix)
            self._hits += 1
            self._tokens_saved += len(prefix)
            return entry[0]

    def put(self, prefix: Tokens, value: Value) -> bool:
        """Keep a value, dropping the least recently used ones for it; False if it is too large."""
        size = self._size(value)
        with self._lock:
            if size > self._most_bytes:
                self._refused += 1
                return False
            replaced = self._entries.pop(prefix, None)
            if replaced is not None:
                self._bytes -= replaced[1]
            while self._bytes + size > self._most_bytes:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._bytes -= dropped
                self._evictions += 1
            self._entries[prefix] = (value, size)
            self._bytes += size
            return True

    def clear(self) -> None:
        """Drop every value; the counts stay."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    @property
    def statistics(self) -> CacheStatistics:
        """A consistent picture of the counts."""
        with self._lock:
            return CacheStatistics(
                hits=self._hits,
                misses=self._misses,
                evictions=self._evictions,
                refused=self._refused,
                tokens_saved=self._tokens_saved,
                entries=len(self._entries),
                bytes=self._bytes,
                most_bytes=self._most_bytes,
            )
