"""What a wire format is to the bench: a request for one item, and a reading of the response."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from thisthat.items.item import Item


class UnusableError(Exception):
    """A response that carries no usable option; the text is the reason that gets counted."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The option a response chose, its distribution where the endpoint gives one, and tokens."""

    chosen: int
    probabilities: tuple[float, ...] | None
    input_tokens: int
    output_tokens: int


class Wire(Protocol):
    """One wire format."""

    @property
    def path(self) -> str:
        """The path below the root, with /v1."""

    def request(self, item: Item, model: str) -> dict[str, Any]:
        """The JSON body that asks one item."""

    def read(self, item: Item, payload: Any) -> Reading:
        """The answer in a decoded response. Raises UnusableError when there is none."""


def field(payload: Any, *path: str | int) -> Any:
    """The value at a path of keys and indexes. Raises UnusableError when it is not there."""
    for step in path:
        try:
            payload = payload[step]
        except (KeyError, IndexError, TypeError):
            raise UnusableError("unexpected shape") from None
    return payload


def tokens(payload: Any, *names: str) -> int:
    """A token count out of the response's usage, 0 where it states none."""
    usage = payload.get("usage") if isinstance(payload, Mapping) else None
    for name in names:
        value = usage.get(name) if isinstance(usage, Mapping) else None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return 0


def distribution(values: Sequence[Any]) -> tuple[float, ...]:
    """Numbers that form a distribution, made to sum to 1 exactly.

    Raises UnusableError for anything else; rounding in the response of up to 1 % is accepted.
    """
    if not all(isinstance(p, (int, float)) and not isinstance(p, bool) for p in values):
        raise UnusableError("probabilities are no numbers")
    total = math.fsum(values)
    if not all(0 <= p <= 1 for p in values) or not abs(total - 1) <= 0.01:
        raise UnusableError("probabilities are no distribution")
    return tuple(float(p) / total for p in values)


def yes_or_no(yes: Any) -> tuple[float, ...]:
    """The distribution over no and yes; raises UnusableError when ``yes`` is no probability."""
    if not isinstance(yes, (int, float)) or isinstance(yes, bool):
        raise UnusableError("probabilities are no numbers")
    return distribution([1 - yes, yes])


def reading_of(given: tuple[float, ...], payload: Any) -> Reading:
    """The likeliest option of a distribution, with the tokens that the response states."""
    best = max(range(len(given)), key=given.__getitem__)
    return Reading(best, given, tokens(payload, "input_tokens"), tokens(payload, "output_tokens"))


def described(item: Item) -> str:
    """The question with its options and what they mean, for formats that have no place for them."""
    lines = [f"- {name}: {text}" if text else f"- {name}" for name, text in item.options]
    return "\n".join([item.question, "Options:", *lines])
