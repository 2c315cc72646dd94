"""Files of outcomes: JSON lines and CSV with the fields of an outcome, Label Studio's export."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from thisthat.audit.protocol import Store
from thisthat.errors import InvalidInputError
from thisthat.inputs import comma_hint, json_lines, read_json, read_text
from thisthat.loop.outcomes import FIELDS, Outcome, Recorded, RefusedOutcomeError, record
from thisthat.loop.review import outcomes_of_review
from thisthat.questions import Question

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def import_outcomes(
    store: Store, path: Path, questions: Mapping[str, Question] | None = None
) -> Recorded:
    """Record the outcomes of a file, each once; ``questions`` as in ``record``.

    Raises LogError, and InvalidInputError naming file, line and field.
    """
    found = read_outcomes(path)
    try:
        return record(store, (each for _, each in found), questions)
    except RefusedOutcomeError as error:
        where, _ = found[error.number]
        raise InvalidInputError(f"{where}, {error.about}", error.message) from None


def read_outcomes(path: Path) -> list[tuple[str, Outcome]]:
    """The outcomes of a ``.jsonl``, ``.csv`` or Label Studio's ``.json`` file, with where it is.

    Raises InvalidInputError naming file, line and field.
    """
    if path.suffix == ".json":
        try:
            tasks = outcomes_of_review(read_json(path))
            return [(f"{path}{place}", each) for place, each in tasks]
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}{error.field}", error.message) from None
    if path.suffix not in (".jsonl", ".csv"):
        raise InvalidInputError(str(path), "must end in .jsonl, .csv or .json (Label Studio)")
    rows = json_lines(path) if path.suffix == ".jsonl" else _csv_rows(path)
    found = []
    for where, row in rows:
        try:
            found.append((where, Outcome.from_json(row)))
        except InvalidInputError as error:
            field = f"{where}, {error.field}" if error.field else where
            raise InvalidInputError(field, error.message) from None
    return found


def _csv_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a file whose first line names the fields; empty cells are left out."""
    lines = csv.DictReader(
        io.StringIO(read_text(path).removeprefix("\ufeff"), newline=""), strict=True
    )
    try:
        unknown = [name for name in lines.fieldnames or () if name not in FIELDS]
        if unknown or not lines.fieldnames:
            why = f"names {unknown[0]!r}" if unknown else "is empty"
            known = f"known columns are {', '.join(FIELDS)}{comma_hint(lines.fieldnames or ())}"
            raise InvalidInputError(f"{path}, line 1", f"{why}; {known}")
        for row in lines:
            where = f"{path}, line {lines.line_num}"
            if None in row or None in row.values():
                raise InvalidInputError(where, "has another number of cells than line 1")
            yield where, {name: _cell(name, text) for name, text in row.items() if text}
    except csv.Error as error:
        raise InvalidInputError(f"{path}, after line {lines.line_num}", str(error)) from None


def _cell(name: str, text: str) -> object:
    """A cell as JSON would have it; what is none stays text and is refused as such."""
    if name == "happened":
        return _WORDS.get(text.lower(), text)
    kinds = {"decision": int, "reward": float, "time": float}
    try:
        return kinds[name](text) if name in kinds else text
    except ValueError:
        return text
