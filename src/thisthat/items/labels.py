"""Labelled states: the one reader of labels, whatever command they are for.

With a schema a row is ``{"id"?, "state": …, "answers": {"question name": label}}``; a label is the
name of an option, true or false for a boolean, a level's index or its text for a score; null is no
label yet.
In a table (CSV, Parquet, a pandas frame) answers are a column for each question by its name, where
an empty cell is no label, or one column ``answers`` of JSON. No id stands twice. Without a schema
the file is a decision file, whose rows bring their questions; a question is then called by its
text.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from thisthat import display
from thisthat.errors import InvalidInputError, shown
from thisthat.identity import state_hash
from thisthat.inputs import cells_fault, check_cell, comma_hint, load_json, read_text
from thisthat.items.booleans import WRITTEN, boolean_option
from thisthat.items.files import placed_items, read_items, read_rows
from thisthat.items.item import Item
from thisthat.questions import (
    Question,
    Score,
    Text,
    check_characters,
    check_many,
    check_text,
    plain,
)

ALONE = "question"
LABEL_FILES = (".jsonl", ".csv", ".parquet", ".zst")
_MOST_NAMED = 20
_MOST_FAULTS = 10
_MISSING = ("nan", "<NA>", "None")
_DIGITS = (0, 1, "0", "1")
"""What may mean a boolean, and is refused."""

_STATES = {"state", "text"}
"""What rows of labels call their state, here and elsewhere."""

_OWN_QUESTION = {"kind", "state", "question", "options", "answer"}
_Row: TypeAlias = tuple[str, "dict[str, Any]"]


class Frame(Protocol):
    """The part of a pandas frame that is read."""

    columns: Any

    def to_dict(self, orient: Any) -> Any:
        """Its rows, with ``records``."""


MOST_REPEATS = 0.1
"""The share of rows that repeat the state and label of another, above which it is told."""


@dataclass(frozen=True)
class LabelledStates:
    """Questions, states, and for each state the index of the right option by question name.

    ``places`` says where in the file each state stands, ``ids`` what the file calls it.
    """

    questions: Mapping[str, Question]
    states: Sequence[Text]
    labels: Sequence[Mapping[str, int]]
    places: Sequence[str] = ()
    ids: Sequence[str | None] = ()

    def __post_init__(self) -> None:
        check_many(self.states)
        count = len(self.states)
        if not self.places:
            object.__setattr__(self, "places", [f"row {number + 1}" for number in range(count)])
        if not self.ids:
            object.__setattr__(self, "ids", [None] * count)

    def called(self, number: int) -> str:
        """What the file calls a state: its id, or where it stands."""
        return self.ids[number] or self.places[number].rpartition(", ")[2]

    @property
    def counts(self) -> dict[str, int]:
        """How many states are labelled for each question that has labels."""
        found = Counter(name for right in self.labels for name in right)
        return {name: found[name] for name in self.questions if name in found}

    @property
    def pairs(self) -> list[tuple[Text, Mapping[str, Question]]]:
        """Each state with the questions it is labelled for."""
        return [
            (state, {name: self.questions[name] for name in right})
            for state, right in zip(self.states, self.labels, strict=True)
        ]

    def alone(self) -> LabelledStates:
        """The same, its only question called ``question``. Raises InvalidInputError for several."""
        if len(self.questions) == 1:
            (question,) = self.questions.values()
            labels = [{ALONE: label} for right in self.labels for label in right.values()]
            return LabelledStates({ALONE: question}, self.states, labels, self.places, self.ids)
        first = self.labels[0].keys()
        other = next(n for n, right in enumerate(self.labels) if right.keys() != first)
        raise InvalidInputError(
            self.places[other],
            f"asks another question than {self.places[0]}; "
            "rows without a schema share one question",
        )

    def only(self, names: Sequence[str]) -> LabelledStates:
        """The labels of these questions; all questions stay. Raises InvalidInputError."""
        for name in names:
            if name not in self.counts:
                known = ", ".join(self.counts)
                raise InvalidInputError(
                    "question", f"{name!r} is no labelled question; known are {known}"
                )
        kept = [
            (state, {name: label for name, label in right.items() if name in names}, place, called)
            for state, right, place, called in zip(
                self.states, self.labels, self.places, self.ids, strict=True
            )
            if not right.keys().isdisjoint(names)
        ]
        return LabelledStates(self.questions, *map(list, zip(*kept, strict=True)))

    def contradictions(self) -> list[tuple[str, int, int]]:
        """Question, row and earlier row, where the same state has another label."""
        first: dict[tuple[str, str], int] = {}
        found: list[tuple[str, int, int]] = []
        for number, (state, right) in enumerate(zip(self.states, self.labels, strict=True)):
            key = state_hash(state)
            for name, label in right.items():
                earlier = first.setdefault((name, key), number)
                if self.labels[earlier][name] != label:
                    found.append((name, number, earlier))
        return found

    def doubts(self) -> list[str]:
        """What is odd and may be meant: repeats, contradictions, questions with one answer."""
        doubts: list[str] = []
        contradictions = self.contradictions()
        for name, count in self.counts.items():
            against = [(row, earlier) for each, row, earlier in contradictions if each == name]
            if against:
                row, earlier = against[0]
                doubts.append(
                    f"{name}: {len(against)} of {count} rows contradict an earlier one with the "
                    f"same state, the first is {self.places[row]}, against {self.places[earlier]}"
                )
            known = zip(self.states, self.labels, strict=True)
            different = {(state_hash(state), own[name]) for state, own in known if name in own}
            repeats = count - len(different)
            if repeats > MOST_REPEATS * count:
                doubts.append(
                    f"{name}: {repeats} of {count} rows repeat another; figures take each for a "
                    "case of its own, so drop those that a join or an export added"
                )
            labels = {right[name] for right in self.labels if name in right}
            if len(labels) == 1:
                only = self.questions[name].declared[labels.pop()].name
                only = display.option_told(self.questions[name], only)
                doubts.append(f"{name}: every row has the answer {only!r}")
        return doubts


def read_labelled(
    source: Path | Frame, questions: Mapping[str, Question] | None = None
) -> LabelledStates:
    """Read labelled states. Raises InvalidInputError naming file, line and field."""
    if questions is not None:
        found = _with_schema(source, questions)
    elif isinstance(source, Path):
        found = _decision_file(source)
    else:
        raise InvalidInputError("frame", "names questions: their schema is needed")
    if not found.states:
        message = "has no labelled rows; an empty cell and null are no label"
        raise InvalidInputError(_name(source), message)
    return found


def labelled_questions(
    path: Path, questions: Mapping[str, Question] | None = None
) -> Iterator[tuple[Text, Question, int]]:
    """State, question and label of every label, one at a time.

    Without a schema a question's options may differ from row to row. Raises InvalidInputError.
    """
    if questions is None:
        refuse_answers(path)
        yield from ((item.state, item.as_question(), item.answer) for item in read_items(path))
        return
    labelled = read_labelled(path, questions)
    for state, right in zip(labelled.states, labelled.labels, strict=True):
        yield from ((state, questions[name], label) for name, label in right.items())


def labelled_items(path: Path, questions: Mapping[str, Question]) -> Iterator[Item]:
    """Every label as an item of the family that its question's name is.

    Raises InvalidInputError for a question that an item cannot hold, too.
    """
    return (item for _, item in placed_labels(path, questions))


def placed_labels(path: Path, questions: Mapping[str, Question]) -> Iterator[tuple[str, Item]]:
    """Where each label stands, and the label as an item. Raises as ``labelled_items`` does."""
    labelled = read_labelled(path, questions)
    for state, right, place in zip(labelled.states, labelled.labels, labelled.places, strict=True):
        for name, label in right.items():
            question = questions[name]
            options = tuple((option.name, option.description) for option in question.declared)
            text: Any = question.instructions
            item = Item("user", name, question.kind, state, text, options, label)  # type: ignore[arg-type]
            if question.abstain or not isinstance(text, str) or item.as_question() != question:
                raise InvalidInputError(
                    f"questions.{name}", "needs instructions, only texts and no abstain option here"
                )
            yield label_place(place, name), item


def label_place(place: str, name: str) -> str:
    """Where the label of a question stands in the row that stands at ``place``."""
    return f"{place}, answers.{name}"


def option_index(question: Question, label: object) -> int:
    """The index of the labelled option. Raises InvalidInputError where there is none, too."""
    found = find_option(question, label)
    if found is None:
        instead = _meant(question, label) or f"known are {_known(question)}"
        raise InvalidInputError("", f"{label!r} is not an option; {instead}")
    return found


def find_option(question: Question, label: object) -> int | None:
    """The index of the option that a label means, None if it means none.

    A number is a level's number. Raises InvalidInputError for a text that is the number of one
    level and the wording of another.
    """
    names = [option.name for option in question.declared]
    name, worded = label, None
    if question.kind == "boolean":
        name = boolean_option(label, names)
    elif isinstance(question, Score) and isinstance(label, int) and not isinstance(label, bool):
        name = str(label)
    elif isinstance(question, Score) and isinstance(label, str) and label in question.levels:
        worded = question.levels.index(label)
    named = names.index(name) if isinstance(name, str) and name in names else None
    if named is not None and worded is not None and named != worded:
        one, other = (display.option_told(question, names[place]) for place in (named, worded))
        raise InvalidInputError(
            "",
            f"{label!r} may mean {one!r} or {other!r}; reword that level, or write its number "
            "without quotes, in JSON",
        )
    return worded if named is None else named


def _meant(question: Question, label: object) -> str | None:
    """What to do about a wrong label that shows what was meant; it is not guessed."""
    if question.kind == "boolean" and isinstance(label, (int, float, str)) and label in _DIGITS:
        return "write yes or no, or TRUE or FALSE"
    if not isinstance(label, str):
        return None
    known: list[Any] = [option.name for option in question.declared]
    known += question.levels if isinstance(question, Score) else ()
    known += WRITTEN if question.kind == "boolean" else ()
    near = [each for each in known if isinstance(each, str) and plain(each) == plain(label)]
    told = " and ".join(map(repr, dict.fromkeys(near)))
    return f"it differs from {told} only in case or blanks" if near else None


def _known(question: Question) -> str:
    """What a label may be, as a user would write it."""
    names = [option.name for option in question.declared]
    known = list(names)
    if isinstance(question, Score):
        for number, level in enumerate(question.levels):
            if not isinstance(level, str):
                known[number] = display.option_told(question, known[number])
            elif level not in names:
                known[number] += f" or {level!r}"
    if question.kind == "boolean":
        known += [written for written in WRITTEN if written not in known]
    return ", ".join(known[:_MOST_NAMED]) + (", …" if len(known) > _MOST_NAMED else "")


def refuse_answers(path: Path) -> None:
    """Raise InvalidInputError for a file that can only be read with a schema."""
    row = {} if path.suffix == ".csv" else next((row for _, row in read_rows(path)), None)
    table = path.suffix in (".csv", ".parquet")
    if isinstance(row, dict) and ("answers" in row or (table and "question" not in row)):
        raise InvalidInputError(str(path), "needs the schema of its questions (--schema)")


def label_columns(questions: Iterable[str]) -> tuple[str, ...]:
    """The columns that hold labels beside a state: ``answers``, and those called like questions."""
    return tuple(name for name in ("answers", *questions) if name not in ("id", "state"))


def label_key(row: object, questions: Iterable[str] = ()) -> str | None:
    """The key under which a line that should be a state alone holds labels."""
    if not isinstance(row, dict):
        return None
    if _STATES.isdisjoint(row):
        return "answers" if isinstance(row.get("answers"), dict) else None
    known = label_columns(["answer", *questions])
    return next((key for key in known if key in row and key not in _STATES), None)


# Rows with a schema ------------------------------------------------------------------------------


def _with_schema(source: Path | Frame, questions: Mapping[str, Question]) -> LabelledStates:
    states: list[Text] = []
    labels: list[dict[str, int]] = []
    places: list[str] = []
    ids: list[str | None] = []
    named: dict[str, str] = {}
    faults: list[InvalidInputError] = []
    for where, given in _rows(source, questions):
        row = _parsed(given, where)
        identity = None if row.get("id") is None else str(row["id"])
        if identity is not None and named.setdefault(identity, where) != where:
            raise InvalidInputError(
                f"{where}, id", f"{row['id']!r} stands in {named[identity]} already"
            )
        check_characters(identity or "", f"{where}, id")
        try:
            right = _read_row(row, where, questions)
        except InvalidInputError as error:
            faults.append(error)
            continue
        if not right:
            continue
        states.append(row["state"])
        labels.append(right)
        places.append(where)
        ids.append(identity)
    if faults:
        raise _together(faults, f"{_name(source)}, ")
    return LabelledStates(questions, states, labels, places, ids)


def _together(faults: Sequence[InvalidInputError], start: str) -> InvalidInputError:
    """The first fault, whose message names some of the others; ``start`` is left out there."""
    first, *others = faults
    told = [
        f"{each.field.removeprefix(start)}: {each.message.partition(';')[0]}"
        for each in others[: _MOST_FAULTS - 1]
    ]
    left = len(others) - len(told)
    if left:
        told.append(f"and {display.counted(left, 'other')}")
    message = f"{first.message}; also{display.listed(told)}" if told else first.message
    return InvalidInputError(first.field, message)


def _rows(source: Path | Frame, questions: Mapping[str, Question]) -> Iterator[tuple[str, Any]]:
    if not isinstance(source, Path):
        cells = ((f"frame, row {n}", row) for n, row in enumerate(source.to_dict("records")))
        return _table(cells, "frame", list(source.columns), questions)
    if source.suffix == ".csv":
        columns, lines = _csv(source)
        return _table(lines, str(source), columns, questions)
    if source.suffix == ".parquet":
        found = list(read_rows(source))
        return _table(iter(found), str(source), list(found[0][1]) if found else None, questions)
    return read_rows(source, unique=True)


def _csv(path: Path) -> tuple[Sequence[str], Iterator[_Row]]:
    text = read_text(path).removeprefix("\ufeff")
    if not text.strip():
        raise InvalidInputError(str(path), "is empty")
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = next((row for row in reader if row), [])
    except csv.Error as error:
        raise InvalidInputError(f"{path}, line 1", f"is not CSV: {error}") from None
    # A spreadsheet exports columns that were in use once: nothing stands in them.
    kept = max((number for number, name in enumerate(header, 1) if name.strip()), default=0)
    columns = header[:kept]

    def cells() -> Iterator[_Row]:
        line = reader.line_num
        try:
            for row in reader:
                line = reader.line_num
                if not row:
                    continue
                where = f"{path}, line {line}"
                if len(row) != len(header):
                    raise InvalidInputError(where, cells_fault(row, header))
                for number, cell in enumerate(row[kept:], kept + 1):
                    if cell.strip():
                        message = f"has {shown(cell)} in column {number}, but {_unnamed(header)}"
                        raise InvalidInputError(where, message)
                yield where, dict(zip(columns, row, strict=False))
        except csv.Error as error:
            where = f"{path}, line {line + 1}"
            raise InvalidInputError(where, f"is not CSV: {error}") from None

    return columns, cells()


def _unnamed(columns: Sequence[object]) -> str | None:
    """That columns have no name, and what to do; None where all have one."""
    found = [n for n, name in enumerate(columns, 1) if isinstance(name, str) and not name.strip()]
    if not found:
        return None
    *others, last = map(str, found)
    if not others:
        return f"column {last} has no name; name it or delete it"
    return f"columns {', '.join(others)} and {last} have no name; name or delete them"


def _table(
    rows: Iterator[_Row],
    name: str,
    columns: Sequence[str] | None,
    questions: Mapping[str, Question],
) -> Iterator[_Row]:
    """Rows of cells as rows of JSON lines; those without any label are left out."""
    if columns is None:
        return
    if "state" not in columns:
        has = ", ".join(columns[:_MOST_NAMED]) or "none"
        message = f'has no column "state"; its columns are {has}{comma_hint(columns)}'
        raise InvalidInputError(name, message)
    asked = [column for column in columns if column not in ("id", "state")]
    if not asked:
        message = (
            f'has no labels; beside "state", it needs a column for a question '
            f'({", ".join(questions)}) or a column "answers"'
        )
        raise InvalidInputError(name, message)
    in_one = "answers" in asked and "answers" not in questions
    unnamed = _unnamed(columns)
    if unnamed is not None:
        raise InvalidInputError(name, unnamed)
    for column in columns:
        if columns.count(column) > 1:
            raise InvalidInputError(f"{name}, column {column}", "stands twice")
    for column in asked:
        if in_one and column != "answers":
            message = 'stands beside "answers", which holds all labels'
            raise InvalidInputError(f"{name}, column {column}", message)
        if not in_one and column not in questions:
            message = (
                f"is not a question; known are {', '.join(questions)}. Add it to the schema, or "
                "remove the column"
            )
            told = column if column == column.strip() and column else repr(column)
            raise InvalidInputError(f"{name}, column {told}", message)
    for where, row in rows:
        cells = {column: _cell(row[column]) for column in columns if column != "state"}
        answers: Any = {column: cells[column] for column in asked if cells[column] is not None}
        if in_one and answers:
            answers = answers["answers"]
            if isinstance(answers, str):
                answers = load_json(answers, f"{where}, answers", unique=True)
            elif isinstance(answers, dict):  # a struct has every field in every row
                answers = {key: value for key, value in answers.items() if value is not None}
        if answers:
            check_cell(row["state"], f"{where}, state")
            yield where, {"id": cells.get("id"), "state": row["state"], "answers": answers}


def _cell(value: Any) -> Any:
    """A cell as JSON would have it: None where it is empty, whole numbers as such."""
    if hasattr(value, "item") and hasattr(value, "dtype"):
        value = value.item()
    if value is None or value == "" or (not isinstance(value, str) and str(value) in _MISSING):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _parsed(row: Any, where: str) -> dict[str, Any]:
    if isinstance(row, dict) and row.keys() >= _OWN_QUESTION:
        raise InvalidInputError(where, "brings its own question; leave the schema (--schema) out")
    if not isinstance(row, dict) or not row.keys() >= {"state", "answers"}:
        raise InvalidInputError(where, 'must be an object with "state" and "answers"')
    for field in row.keys() - {"id", "state", "answers"}:
        raise InvalidInputError(f"{where}, {field}", "is not known; a row has answers, id, state")
    if not isinstance(row["answers"], dict) or not row["answers"]:
        raise InvalidInputError(f"{where}, answers", "must be an object of labels by question name")
    return row


def _read_row(
    row: Mapping[str, Any], where: str, questions: Mapping[str, Question]
) -> dict[str, int]:
    check_text(row["state"], f"{where}, state")
    labels: dict[str, int] = {}
    for name, label in row["answers"].items():
        field = label_place(where, name)
        if name not in questions:
            raise InvalidInputError(field, f"is not a question; known are {', '.join(questions)}")
        if label is None:
            continue
        try:
            labels[name] = option_index(questions[name], label)
        except InvalidInputError as error:
            raise InvalidInputError(field, error.message) from None
    return labels


# Rows that bring their questions -----------------------------------------------------------------


def _decision_file(path: Path) -> LabelledStates:
    questions: dict[str, Question] = {}
    first: dict[str, str] = {}
    states: list[Text] = []
    labels: list[dict[str, int]] = []
    places: list[str] = []
    refuse_answers(path)
    for where, item in placed_items(path):
        try:
            asked = item.as_question()
            check_text(item.state, "state")
        except InvalidInputError as error:
            raise InvalidInputError(f"{where}, {error.field}", error.message) from None
        question = questions.setdefault(item.question, asked)
        first.setdefault(item.question, where)
        own = {option.name: option.description for option in asked.declared}
        known = {option.name: option.description for option in question.declared}
        if asked.kind != question.kind or own != known:
            raise InvalidInputError(
                where, f"has other options than {first[item.question]} for the same question"
            )
        states.append(item.state)
        labels.append({item.question: list(known).index(list(own)[item.answer])})
        places.append(where)
    return LabelledStates(questions, states, labels, places)


def _name(source: Path | Frame) -> str:
    return str(source) if isinstance(source, Path) else "frame"
