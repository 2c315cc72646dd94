"""Refuses rows an engine cannot read, before any arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from thisthat.engine.rows import Branch, Row
from thisthat.errors import DeviceMemoryError, InvalidInputError


def check_rows(
    rows: Sequence[Row], *, vocabulary: int, longest: int, labels: int, layers: int = 0
) -> None:
    """Raise InvalidInputError naming the first row with something outside the limits.

    An id, a path, a slot, how much of the trunk is open, or hidden states that are not there.
    """
    for number, row in enumerate(rows):
        field = f"rows[{number}]"
        parts = [row.prefix, row.trunk, *(branch.tokens for branch in row.branches)]
        if any(part and not (min(part) >= 0 and max(part) < vocabulary) for part in parts):
            raise InvalidInputError(field, f"has a token id outside 0 to {vocabulary - 1}")
        if not 0 <= row.opened <= len(row.trunk):
            raise InvalidInputError(
                field, f"opens {row.opened} tokens, but its trunk has {len(row.trunk)}"
            )
        if row.layers:
            _check_features(row, layers, field)
        for branch in row.branches:
            path = len(row.prefix) + len(row.trunk) + len(branch.tokens)
            if path > longest:
                raise InvalidInputError(
                    field, f"has a path of {path} tokens, but the model reads {longest}"
                )
            _check_slots(branch, labels, field)


def does_not_fit(row: Row, device: object) -> DeviceMemoryError:
    """What to raise for a row, or a schema to be kept, that alone is too much."""
    what = f"row of {row.tokens} tokens and {len(row.branches)} branches"
    if not row.branches:
        what = f"schema of {row.tokens} tokens"
    return DeviceMemoryError(f"a {what} does not fit the memory of {device}")


def _check_features(row: Row, layers: int, field: str) -> None:
    if row.layers != tuple(sorted({*row.layers})) or not 1 <= row.layers[0] <= row.layers[-1]:
        raise InvalidInputError(field, f"asks for layers {row.layers}, not ascending from 1 on")
    if row.layers[-1] > layers:
        raise InvalidInputError(
            field,
            f"asks for layer {row.layers[-1]}; this engine gives those of layers 1 to {layers}"
            if layers
            else "asks for hidden states, which this engine does not give",
        )
    if not 0 <= row.state[0] < row.state[1] <= len(row.trunk):
        raise InvalidInputError(field, f"has its state at {row.state}, outside its trunk")


def _check_slots(branch: Branch, labels: int, field: str) -> None:
    for slot in branch.slots:
        if not 0 <= slot.at < len(branch.tokens):
            raise InvalidInputError(field, f"has a slot at {slot.at}, outside its branch")
        if not 0 < slot.options <= labels:
            raise InvalidInputError(
                field, f"has a slot of {slot.options} options, but there are 1 to {labels} labels"
            )
