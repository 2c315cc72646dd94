"""Labels and states that commands read, with a word on standard error about what is odd."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from thisthat.errors import InvalidInputError
from thisthat.inputs import load_line, numbered_lines

if TYPE_CHECKING:
    from thisthat.items.labels import LabelledStates
    from thisthat.questions import Question, Text


def read_schema(schema: Path | None) -> dict[str, Question] | None:
    """The named questions of a file, or None without one. Raises InvalidInputError."""
    from thisthat.items.labels import LABEL_FILES
    from thisthat.questions_json import read_questions

    if schema is None:
        return None
    try:
        return read_questions(schema)
    except InvalidInputError as error:
        if schema.suffix not in LABEL_FILES:
            raise
        what = "a schema is a JSON file of named questions"
        raise InvalidInputError(error.field, f"{error.message}; {what}") from None


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


def refuse_taught_labels(
    path: Path, rows: LabelledStates, checkpoint: str, lam: float | None
) -> None:
    """Raise InvalidInputError for labels that taught the checkpoint; a few are warned about."""
    from thisthat.teach.known import MOST_TAUGHT

    share, words = taught_words(rows, checkpoint, lam)
    if share > MOST_TAUGHT:
        raise InvalidInputError(str(path), f"{words}; a guarantee needs others")
    if share > 0:
        typer.echo(f"warning: {words}; the guarantee is for others", err=True)


def read_states(path: Path, questions: Iterable[str] = ()) -> list[Text]:
    """The states of a file: a JSON value on each line, or the column ``state`` of a table.

    Raises InvalidInputError for a file that holds labels (a row that has answers, or a column or
    key for one of the ``questions``), or no state at all.
    """
    alone = _ALONE_IN_TABLE if _is_table(path) else _ALONE_ON_LINES
    return [state for _, state in _placed_states(path, questions, None, f"{COMPARED}; {alone}")]


def named_states(path: Path, questions: Iterable[str]) -> list[tuple[str, Text]]:
    """``read_states``, each with what the file calls it: its id, in a table that has ids, or line.

    Raises what that raises, and InvalidInputError for an id that is missing or there twice.
    """
    return _placed_states(path, questions, "id", _GIVEN)


def has_ids(path: Path) -> bool:
    """Whether a file of states is a table with ids of its own."""
    from thisthat.scale.source import RowSource

    return _is_table(path) and "id" in RowSource([path]).columns()


def _is_table(path: Path) -> bool:
    from thisthat.scale.source import kind_by_name

    return kind_by_name(path) not in (None, "jsonl")


def _placed_states(
    path: Path, questions: Iterable[str], ids: str | None, instead: str
) -> list[tuple[str, Text]]:
    if _is_table(path):
        states = _rows_of_table(path, questions, ids, instead)
    else:
        states = list(_lines(path, questions, instead))
    if not states:
        raise InvalidInputError(str(path), "has no states")
    return states


def _rows_of_table(
    path: Path, questions: Iterable[str], ids: str | None, instead: str
) -> list[tuple[str, Text]]:
    from thisthat.items.labels import label_columns
    from thisthat.scale.source import RowSource

    refused = refuse_columns(label_columns(["answer", *questions]), instead)
    source = RowSource([path], ids if ids in RowSource([path]).columns() else None, refused=refused)
    if source.id is not None:
        source.survey()
    found: list[tuple[str, Text]] = []
    for row in source.rows():
        if isinstance(row.state, InvalidInputError):
            raise row.state
        found.append((_last(row.where) if source.id is None else str(row.id), row.state))
    return found


def refuse_columns(columns: Iterable[str], instead: str) -> dict[str, str]:
    """Columns of labels with why a file of states may not have them, for ``RowSource.refused``."""
    return dict.fromkeys(columns, f"so it holds labels, not states alone; {instead}")


def _lines(path: Path, questions: Iterable[str], instead: str) -> Iterator[tuple[str, Text]]:
    from thisthat.items.labels import label_key

    for where, line in numbered_lines(path):
        state = load_line(line, where)
        key = label_key(state, questions)
        if key is not None:
            message = f"has the key {key!r}, so it holds labels, not a state alone; {instead}"
            raise InvalidInputError(where, f"{message}. {_OWN_KEYS}")
        yield _last(where), state


def _last(where: str) -> str:
    """Where in its file a state stands."""
    return where.rpartition(", ")[2]


COMPARED = "to compare answers with labels, use `thisthat eval FILE --schema SCHEMA`"
_ALONE = "to ask about the states alone, "
_ALONE_IN_TABLE = f"{_ALONE}keep only the column `state` (docs/check.md has the line)"
_ALONE_ON_LINES = f"{_ALONE}put only the value of `state` on each line"
_GIVEN = "give labels as --labelled FILE"
_OWN_KEYS = 'A state with such keys of its own goes under another one, as in {"record": {…}}'
