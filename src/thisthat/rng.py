"""Random numbers that are the same on every machine, Python and numpy, for ever.

SplitMix64, counted: number i of a stream is a fixed 64-bit mix of ``seed + i * GOLDEN``. Every draw
below is integer arithmetic on those numbers, so nothing depends on how a library turns bits into
choices.
"""

from __future__ import annotations

import hashlib
from collections.abc import MutableSequence, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Element = TypeVar("Element")
Key = int | str

GOLDEN = 0x9E3779B97F4A7C15
_FIRST_MIX = 0xBF58476D1CE4E5B9
_SECOND_MIX = 0x94D049BB133111EB
_MASK = (1 << 64) - 1
_BLOCK = 64


class Rng:
    """One stream of random numbers, named by its keys: equal keys, equal stream.

    ``Rng("maze", 8, 3)`` and ``Rng("maze", 83)`` are unrelated streams. Keys are text and whole
    numbers; the seed is the first eight bytes of a sha256 over them.
    """

    __slots__ = ("_buffer", "_counter", "_seed")

    def __init__(self, *keys: Key) -> None:
        text = "\x1f".join(f"{type(key).__name__}:{key}" for key in keys)
        self._seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        self._counter = 0
        self._buffer: list[int] = []

    def fork(self, *keys: Key) -> Rng:
        """A new stream named by one number of this one and ``keys``."""
        return Rng(self.raw(), *keys)

    def raw(self) -> int:
        """The next 64 random bits."""
        if not self._buffer:
            self._buffer = self._generate(_BLOCK).tolist()
            self._buffer.reverse()
        return self._buffer.pop()

    def raw_array(self, count: int) -> npt.NDArray[np.uint64]:
        """``count`` fresh 64-bit numbers; draws that follow do not repeat them."""
        return self._generate(count)

    def _generate(self, count: int) -> npt.NDArray[np.uint64]:
        first = self._counter + 1
        self._counter += count
        steps = np.arange(first, first + count, dtype=np.uint64)
        mixed = np.uint64(self._seed) + steps * np.uint64(GOLDEN)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_FIRST_MIX)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_SECOND_MIX)
        return mixed ^ (mixed >> np.uint64(31))

    def integer(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        if high < low:
            raise ValueError(f"no whole number from {low} to {high}")
        return low + ((self.raw() * (high - low + 1)) >> 64)

    def below(self, count: int) -> int:
        """A whole number from 0 to ``count - 1``."""
        return (self.raw() * count) >> 64

    def integers(self, count: int, low: int, high: int) -> npt.NDArray[np.int64]:
        """``count`` whole numbers from ``low`` to ``high``, both included, as an array."""
        span = high - low + 1
        if not 1 <= span < 1 << 32:
            raise ValueError(f"the range {low} to {high} must hold 1 to 2**32 - 1 numbers")
        scaled = (self.raw_array(count) >> np.uint64(32)) * np.uint64(span) >> np.uint64(32)
        return scaled.astype(np.int64) + low

    def uniform(self) -> float:
        """A number in [0, 1), a multiple of 2**-53."""
        return (self.raw() >> 11) * 2.0**-53

    def uniforms(self, count: int) -> npt.NDArray[np.float64]:
        """``count`` numbers in [0, 1) as an array."""
        return (self.raw_array(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.uniform() < probability

    def choice(self, elements: Sequence[Element]) -> Element:
        """One of the elements, each as likely as the others; raises ValueError for none."""
        if not elements:
            raise ValueError("cannot choose from nothing")
        return elements[(self.raw() * len(elements)) >> 64]

    def weighted(self, elements: Sequence[Element], weights: Sequence[float]) -> Element:
        """One of the elements, each as likely as its weight; raises ValueError for no weight."""
        if len(elements) != len(weights) or not elements:
            raise ValueError(f"{len(elements)} elements with {len(weights)} weights")
        total = 0.0
        for weight in weights:
            total += weight
        if total <= 0:
            raise ValueError("the weights sum to nothing")
        point = self.uniform() * total
        chosen = elements[0]
        for element, weight in zip(elements, weights, strict=True):
            if weight > 0:
                chosen = element
            point -= weight
            if point < 0:
                break
        return chosen

    def shuffle(self, elements: MutableSequence[Element]) -> None:
        """Put the elements in random order, in place."""
        for last in range(len(elements) - 1, 0, -1):
            other = self.below(last + 1)
            elements[last], elements[other] = elements[other], elements[last]

    def shuffled(self, elements: Sequence[Element]) -> list[Element]:
        """The elements in random order, as a new list."""
        copy = list(elements)
        self.shuffle(copy)
        return copy

    def sample(self, elements: Sequence[Element], count: int) -> list[Element]:
        """``count`` different elements in random order; raises ValueError when there are fewer."""
        if not 0 <= count <= len(elements):
            raise ValueError(f"cannot take {count} of {len(elements)} elements")
        pool = list(elements)
        for place in range(count):
            other = self.integer(place, len(pool) - 1)
            pool[place], pool[other] = pool[other], pool[place]
        return pool[:count]


def mix64(number: int) -> int:
    """The SplitMix64 mix of one 64-bit number, for states that store their own generator."""
    number &= _MASK
    number = ((number ^ (number >> 30)) * _FIRST_MIX) & _MASK
    number = ((number ^ (number >> 27)) * _SECOND_MIX) & _MASK
    return number ^ (number >> 31)
