"""Which prefixes are kept in fixed memory of the device, and where: planning alone, no tensors.

The memory has places for so many tokens, and a prefix takes as many that follow each other; of a
recurrent model it takes one of so many states as well. What was used longest ago gives way.
Recordings read fixed addresses, so nothing is ever moved.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Container
from typing import NamedTuple

from thisthat.engine.prefix_cache import CacheStatistics
from thisthat.engine.rows import Tokens


class SlotRange(NamedTuple):
    """Slots from ``first`` up to ``end``, and the number of the state, -1 where none is kept."""

    first: int
    end: int
    state: int = -1


class PrefixSlots:
    """Places by prefix. Not for several threads at once."""

    def __init__(
        self,
        places: int,
        bytes_per_place: int = 0,
        states: int | None = None,
        bytes_per_state: int = 0,
    ) -> None:
        """``states`` None is for models that keep tokens alone."""
        self.places = places
        self._bytes_per_place = bytes_per_place
        self._states = states
        self._bytes_per_state = bytes_per_state
        self.start_anew()

    def start_anew(self) -> None:
        """Keep nothing, and count from here."""
        self._spans: OrderedDict[Tokens, SlotRange] = OrderedDict()
        self._hits = self._misses = self._evictions = self._refused = self._tokens_saved = 0

    def takes(self, prefix: Tokens) -> bool:
        """Whether this prefix can be kept at all."""
        return 0 < len(prefix) <= self.places

    def find(self, prefix: Tokens) -> SlotRange | None:
        """Where the prefix is kept, now the most recently used, or None. Counts a hit or a miss."""
        span = self._spans.get(prefix)
        if span is None:
            self._misses += 1
            self._refused += not self.takes(prefix)
            return None
        self._spans.move_to_end(prefix)
        self._hits += 1
        self._tokens_saved += len(prefix)
        return span

    def put(self, prefix: Tokens, held: Container[Tokens] = ()) -> SlotRange | None:
        """Places for a prefix that is not kept yet; None when those ``held`` leave no room for it.

        Drops the least recently used others until there is room, and none if there will be none.
        """
        staying = [span for other, span in self._spans.items() if other in held]
        if self._room(len(prefix), staying) is None:
            return None
        droppable = [other for other in self._spans if other not in held]
        while (free := self._room(len(prefix), self._spans.values())) is None:
            del self._spans[droppable.pop(0)]
            self._evictions += 1
        self._spans[prefix] = free
        return free

    def forget(self, prefix: Tokens) -> None:
        """Drop a prefix whose places were not filled after all."""
        self._spans.pop(prefix, None)

    @property
    def statistics(self) -> CacheStatistics:
        """Counts since the start, and what is held now."""
        held = sum(span.end - span.first for span in self._spans.values())
        return CacheStatistics(
            hits=self._hits,
            misses=self._misses,
            evictions=self._evictions,
            refused=self._refused,
            tokens_saved=self._tokens_saved,
            entries=len(self._spans),
            bytes=self._bytes(held, len(self._spans)),
            most_bytes=self._bytes(self.places, self._states or 0),
        )

    def _bytes(self, places: int, states: int) -> int:
        return places * self._bytes_per_place + states * self._bytes_per_state

    def _room(self, length: int, taken: Collection[SlotRange]) -> SlotRange | None:
        """The first gap between those taken that is long enough, with the first free state."""
        state = -1
        if self._states is not None:
            used = {span.state for span in taken}
            state = next((one for one in range(self._states) if one not in used), -1)
            if state < 0:
                return None
        free = 0
        for first, end, _ in sorted(taken):
            if first - free >= length:
                break
            free = end
        return SlotRange(free, free + length, state) if free + length <= self.places else None
