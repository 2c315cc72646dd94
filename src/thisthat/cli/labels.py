"""Labels and states that commands read, with a word on standard error about what is odd."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    from thisthat.teach.known import taught_share, told

    share = taught_share(checkpoint, lam, labelled)
    return share, told(share, checkpoint)


def read_states(path: Path, questions: Iterable[str] = ()) -> list[Text]:
    """The states of a file: a JSON value on each line, or the column ``state`` of a table.

    Raises InvalidInputError for a file that holds labels (a table with a column for one of the
    ``questions``), or no state at all.
    """
    return [state for _, state in _placed_states(path, questions, None)]


def named_states(path: Path, questions: Iterable[str]) -> list[tuple[str, Text]]:
    """``read_states``, each with what the file calls it: its id, in a table that has ids, or line.

    Raises what that raises, and InvalidInputError for an id that is missing or there twice.
    """
    return _placed_states(path, questions, "id")


def _placed_states(path: Path, questions: Iterable[str], ids: str | None) -> list[tuple[str, Text]]:
    from thisthat.scale.source import kind_by_name

    table = kind_by_name(path) not in (None, "jsonl")
    states = _rows_of_table(path, questions, ids) if table else list(_lines(path))
    if not states:
        raise InvalidInputError(str(path), "has no states")
    return states


def _rows_of_table(path: Path, questions: Iterable[str], ids: str | None) -> list[tuple[str, Text]]:
    from thisthat.scale.source import RowSource

    columns = RowSource([path]).columns()
    for name in columns:
        if name in {*questions, *_OF_LABELS}:
            message = f"has the column {name!r}, so it holds labels, not states alone; {_LABELLED}"
            raise InvalidInputError(str(path), message)
    source = RowSource([path], ids if ids in columns else None)
    if source.id is not None:
        source.survey()
    found: list[tuple[str, Text]] = []
    for row in source.rows():
        if isinstance(row.state, InvalidInputError):
            raise row.state
        found.append((_last(row.where) if source.id is None else str(row.id), row.state))
    return found


def _lines(path: Path) -> Iterator[tuple[str, Text]]:
    from thisthat.items.labels import is_labelled

    for where, state in json_lines(path):
        if is_labelled(state):
            raise InvalidInputError(where, f"holds labels, not a state alone; {_LABELLED}")
        yield _last(where), state


def _last(where: str) -> str:
    """Where in its file a state stands."""
    return where.rpartition(", ")[2]


_LABELLED = "to compare answers with labels, use `thisthat eval FILE --schema SCHEMA`"
_OF_LABELS = ("answers", "answer")
