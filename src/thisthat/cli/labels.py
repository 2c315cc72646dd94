"""Labels and states that commands read, with a word on standard error about what is odd."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from thisthat.errors import InvalidInputError
from thisthat.inputs import json_lines, read_json

if TYPE_CHECKING:
    from thisthat.items.labels import LabelledStates
    from thisthat.questions import Question, Text


def read_schema(schema: Path | None) -> dict[str, Question] | None:
    """The named questions of a file, or None without one. Raises InvalidInputError."""
    from thisthat.items.labels import LABEL_FILES
    from thisthat.questions_json import questions_from_json

    if schema is None:
        return None
    try:
        value = read_json(schema)
    except InvalidInputError as error:
        if schema.suffix not in LABEL_FILES:
            raise
        what = "a schema is a JSON file of named questions"
        raise InvalidInputError(error.field, f"{error.message}; {what}") from None
    return questions_from_json(value)


def read_labels(path: Path, schema: Path | None) -> LabelledStates:
    """The labelled states of a file; contradictions and the like are warned about."""
    from thisthat.items.labels import read_labelled

    labelled = read_labelled(path, read_schema(schema))
    for doubt in labelled.doubts():
        typer.echo(f"warning: {doubt}", err=True)
    return labelled


def taught_words(labelled: LabelledStates, checkpoint: str, lam: float | None) -> tuple[float, str]:
    """The share of labels that taught a checkpoint, and in words how many of them did."""
    from thisthat.teach.known import taught_share

    share = taught_share(checkpoint, lam, labelled)
    which = "these labels" if share == 1 else f"about {share:.0%} of these labels"
    return share, f"{which} taught {checkpoint}"


def read_states(path: Path) -> list[Text]:
    """The states of a file, one a line.

    Raises InvalidInputError for a file that holds labels, or no state at all.
    """
    from thisthat.items.labels import is_labelled

    if path.suffix in (".csv", ".parquet", ".zst"):
        raise InvalidInputError(
            str(path), f"is not a file of states, one JSON value a line; {_LABELLED}"
        )
    states: list[Text] = []
    for where, state in json_lines(path):
        if is_labelled(state):
            raise InvalidInputError(where, f"holds labels, not a state alone; {_LABELLED}")
        states.append(state)
    if not states:
        raise InvalidInputError(str(path), "has no states")
    return states


_LABELLED = "to compare answers with labels, use `thisthat eval FILE --schema SCHEMA`"
