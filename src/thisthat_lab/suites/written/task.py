"""One written task: a branch somebody would put in a program, with states and their answers.

A file holds one task a line. Every error names the file and the line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thisthat.errors import InvalidInputError
from thisthat.items.item import KINDS, render_state
from thisthat.questions import Kind, Text

SPLITS = ("train", "heldout", "calibrate")
_LEAST_WORDINGS = 4
_LEAST_STATES = 20
_NAMED = ("task", "domain", "kind", "split", "questions", "options", "states")
_KNOWN = {*_NAMED, "negated", "context"}


@dataclass(frozen=True, slots=True)
class State:
    """What is read, the index of the right option, and the minimal pair it belongs to, if any."""

    text: Text
    answer: int
    pair: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A question in several wordings, its options and its states.

    ``negated`` wordings have the opposite answer. ``context`` is a rule that every state is read
    with; the states here hold it already.
    """

    name: str
    domain: str
    kind: Kind
    split: str
    questions: tuple[str, ...]
    negated: tuple[str, ...]
    options: tuple[tuple[str, str | None], ...]
    states: tuple[State, ...]
    context: str | None = None

    @property
    def full_name(self) -> str:
        """Domain and name: no other task has it."""
        return f"{self.domain}.{self.name}"


def read_tasks(folder: Path) -> list[Task]:
    """Every task of the folder's ``*.jsonl`` files, in order of file name and line.

    Raises InvalidInputError for a folder without tasks and for anything that is not a task.
    """
    tasks: list[Task] = []
    seen: dict[str, str] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InvalidInputError(where, f"is not JSON: {error}") from None
            task = read_task(row, where)
            if task.full_name in seen:
                raise InvalidInputError(where, f"{task.name} is also in {seen[task.full_name]}")
            seen[task.full_name] = where
            tasks.append(task)
    if not tasks:
        raise InvalidInputError(str(folder), "holds no *.jsonl file with tasks")
    return tasks


def read_task(row: Any, where: str) -> Task:
    """The task of one line; ``where`` opens every error."""
    if not isinstance(row, Mapping):
        raise InvalidInputError(where, f"must be a JSON object, not a {type(row).__name__}")
    for name in _NAMED:
        if name not in row:
            raise InvalidInputError(where, f"the field {name!r} is missing")
    for name in row:
        if name not in _KNOWN:
            raise InvalidInputError(where, f"the field {name!r} is not known")
    where = f"{where} ({row['task']})"
    if row["kind"] not in KINDS:
        raise InvalidInputError(where, f"kind is {row['kind']!r}, not one of {KINDS}")
    if row["split"] not in SPLITS:
        raise InvalidInputError(where, f"split is {row['split']!r}, not one of {SPLITS}")
    questions = _texts(row["questions"], f"{where}: questions")
    if len(set(questions)) < _LEAST_WORDINGS:
        raise InvalidInputError(where, f"has fewer than {_LEAST_WORDINGS} wordings")
    options = _options(row["options"], row["kind"], where)
    context = row.get("context")
    states = tuple(
        _state(entry, context, len(options), f"{where}: states[{number}]")
        for number, entry in enumerate(row["states"])
    )
    _check_states(states, options, where)
    return Task(
        name=row["task"],
        domain=row["domain"],
        kind=row["kind"],
        split=row["split"],
        questions=questions,
        negated=_texts(row.get("negated", []), f"{where}: negated"),
        options=options,
        states=states,
        context=context,
    )


def _texts(given: Any, where: str) -> tuple[str, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InvalidInputError(where, "must be a list of texts")
    for text in given:
        if not isinstance(text, str) or not text.strip():
            raise InvalidInputError(where, f"has {text!r}, which is no text")
    return tuple(given)


def _options(given: Any, kind: Kind, where: str) -> tuple[tuple[str, str | None], ...]:
    options = tuple((name, text) for name, text in given)
    names = [name for name, _ in options]
    if kind == "boolean" and names != ["no", "yes"]:
        raise InvalidInputError(where, f"a boolean has the options no and yes, not {names}")
    if len(options) < 2 or len({name.casefold() for name in names}) < len(names):
        raise InvalidInputError(where, "needs at least two options with different names")
    return options


def _state(entry: Any, context: str | None, options: int, where: str) -> State:
    if not isinstance(entry, list) or not 2 <= len(entry) <= 3:
        raise InvalidInputError(where, "must be [state, answer] or [state, answer, pair]")
    text, answer = entry[:2]
    if not isinstance(answer, int) or not 0 <= answer < options:
        raise InvalidInputError(where, f"answer is {answer!r}; it must be below {options}")
    if context is not None:
        text = f"{context}\n\n{text}" if isinstance(text, str) else {"rule": context, "case": text}
    return State(text, answer, entry[2] if len(entry) == 3 else None)


def _check_states(
    states: Sequence[State], options: Sequence[tuple[str, str | None]], where: str
) -> None:
    if len(states) < _LEAST_STATES:
        raise InvalidInputError(where, f"has {len(states)} states, fewer than {_LEAST_STATES}")
    if len({render_state(state.text) for state in states}) < len(states):
        raise InvalidInputError(where, "shows one state twice")
    counts = Counter(state.answer for state in states)
    fair = len(states) / len(options)
    if len(options) <= 6 and min(counts[place] for place in range(len(options))) < fair / 2:
        raise InvalidInputError(where, f"its answers are uneven: {dict(sorted(counts.items()))}")
