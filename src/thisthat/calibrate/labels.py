"""Labelled states, on which thresholds, sets and recalibration are fitted. Reads files only.

With a schema a line is ``{"id"?, "state": …, "answers": {"question name": label}}``; a label is the
name of an option, true or false for a boolean, a level's index for a score. A CSV file has a column
``state``, one for each question by its name, where an empty cell is no label, and maybe ``id``; no
id stands twice. Without a schema the file is
a decision file whose rows all ask the same question, which is then called ``question``.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thisthat.errors import InvalidInputError
from thisthat.inputs import json_lines, read_text
from thisthat.questions import Question, Text, check_text

ALONE = "question"
_MOST_NAMED = 20
_LITERAL = {"true": True, "True": True, "false": False, "False": False}


@dataclass(frozen=True)
class LabelledStates:
    """Questions, states, and for each state the index of the right option by question name.

    ``places`` says where in the file each state stands.
    """

    questions: Mapping[str, Question]
    states: Sequence[Text]
    labels: Sequence[Mapping[str, int]]
    places: Sequence[str] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many states are labelled for each question that has labels."""
        found = Counter(name for right in self.labels for name in right)
        return {name: found[name] for name in self.questions if name in found}


def read_labelled(path: Path, questions: Mapping[str, Question] | None = None) -> LabelledStates:
    """Read labelled states. Raises InvalidInputError naming file, line and field."""
    found = _with_schema(path, questions) if questions is not None else _decision_file(path)
    if not found.states:
        raise InvalidInputError(str(path), "has no labelled rows")
    return found


def option_index(question: Question, label: object) -> int:
    """The index of the labelled option. Raises InvalidInputError for one that is not declared."""
    names = [option.name for option in question.declared]
    name = label
    if question.kind == "boolean" and isinstance(label, bool):
        name = "yes" if label else "no"
    elif question.kind == "score" and isinstance(label, int) and not isinstance(label, bool):
        name = str(label)
    if not isinstance(name, str) or name not in names:
        known = ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
        raise InvalidInputError("", f"{label!r} is not an option; known are {known}")
    return names.index(name)


def _with_schema(path: Path, questions: Mapping[str, Question]) -> LabelledStates:
    states: list[Text] = []
    labels: list[dict[str, int]] = []
    places: list[str] = []
    named: dict[str, str] = {}
    is_csv = path.suffix == ".csv"
    for where, given in _csv_lines(path, questions) if is_csv else json_lines(path):
        row = _parsed(given, where)
        identity = row.get("id")
        if identity is not None and named.setdefault(str(identity), where) != where:
            raise InvalidInputError(
                f"{where}, id", f"{identity!r} stands in {named[str(identity)]} already"
            )
        states.append(row["state"])
        labels.append(_read_row(row, where, questions))
        places.append(where)
    return LabelledStates(questions, states, labels, places)


def _csv_lines(
    path: Path, questions: Mapping[str, Question]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows as those of JSON lines; labels of booleans and scores may be written as JSON's."""
    reader = csv.DictReader(io.StringIO(read_text(path).removeprefix("\ufeff")), strict=True)
    columns = reader.fieldnames or ()
    if "state" not in columns:
        raise InvalidInputError(str(path), 'has no column "state"')
    asked = [column for column in columns if column not in ("id", "state")]
    for column in asked:
        if column not in questions:
            raise InvalidInputError(
                f"{path}, column {column}", f"is not a question; known are {', '.join(questions)}"
            )
    try:
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if None in row or None in row.values():
                raise InvalidInputError(where, f"does not have {len(columns)} cells")
            answers = {name: _LITERAL.get(row[name], row[name]) for name in asked if row[name]}
            if answers:
                identity = row.get("id") or None
                yield where, {"id": identity, "state": row["state"], "answers": answers}
    except csv.Error as error:
        where = f"{path}, line {reader.line_num + 1}"
        raise InvalidInputError(where, f"is not CSV: {error}") from None


def _parsed(row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, dict) or set(row) - {"id"} != {"state", "answers"}:
        raise InvalidInputError(where, 'must be an object with "state" and "answers"')
    if not isinstance(row["answers"], dict) or not row["answers"]:
        raise InvalidInputError(f"{where}, answers", "must be an object of labels by question name")
    return row


def _read_row(
    row: Mapping[str, Any], where: str, questions: Mapping[str, Question]
) -> dict[str, int]:
    check_text(row["state"], f"{where}, state")
    labels: dict[str, int] = {}
    for name, label in row["answers"].items():
        field = f"{where}, answers.{name}"
        if name not in questions:
            raise InvalidInputError(field, f"is not a question; known are {', '.join(questions)}")
        try:
            labels[name] = option_index(questions[name], label)
        except InvalidInputError as error:
            raise InvalidInputError(field, error.message) from None
    return labels


def _decision_file(path: Path) -> LabelledStates:
    from thisthat.items.files import read_items

    question: Question | None = None
    states: list[Text] = []
    labels: list[dict[str, int]] = []
    refuse_answers(path)
    try:
        for number, item in enumerate(read_items(path), 1):
            asked = item.as_question()
            if question is None:
                question = asked
            elif asked != question:
                raise InvalidInputError(
                    f"{path}, row {number}",
                    "asks another question than row 1; rows without a schema share one question",
                )
            states.append(item.state)
            labels.append({ALONE: item.answer})
    except OSError as error:
        raise InvalidInputError(str(path), f"cannot be read: {error}") from None
    return LabelledStates({ALONE: question} if question else {}, states, labels)


def refuse_answers(path: Path) -> None:
    """Raise InvalidInputError for a file whose first line can only be read with a schema."""
    if path.suffix in (".zst", ".parquet"):
        return
    if path.suffix == ".csv":
        raise InvalidInputError(str(path), "names questions: their schema (--schema) is needed")
    try:
        with path.open(encoding="utf-8") as file:
            row: Any = json.loads(next((line for line in file if line.strip()), "null"))
    except (OSError, ValueError, RecursionError):
        return  # reading the whole file reports what is wrong
    if isinstance(row, dict) and "answers" in row:
        need = "which name questions: their schema (--schema) is needed"
        raise InvalidInputError(str(path), f'has lines with "answers", {need}')
