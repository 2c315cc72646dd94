"""The 255 one-token labels of options: A … Z, then AA, AB, … where the tokenizer allows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, product
from string import ascii_uppercase

from thisthat.errors import CheckpointError
from thisthat.questions import MOST_OPTIONS

Encode = Callable[[str], Sequence[int]]


def label_table(encode: Encode) -> dict[str, int]:
    """Label to token id, in option order.

    Raises CheckpointError when the tokenizer has fewer than 255 one-token labels or gives two of
    them the same id.
    """
    pairs = ("".join(pair) for pair in product(ascii_uppercase, repeat=2))
    table: dict[str, int] = {}
    for label in chain(ascii_uppercase, pairs):
        ids = encode(label)
        if len(ids) == 1:
            table[label] = ids[0]
        if len(table) == MOST_OPTIONS:
            break
    if len(set(table.values())) < MOST_OPTIONS:
        raise CheckpointError(
            f"the tokenizer has {len(set(table.values()))} distinct one-token labels "
            f"of the {MOST_OPTIONS} that are needed"
        )
    return table


def label_ids(encode: Encode) -> tuple[int, ...]:
    """The ids of the 255 label tokens, in option order."""
    return tuple(label_table(encode).values())
