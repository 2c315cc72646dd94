"""Questions as JSON: what schema files, the command line and the wire formats read.

The shape is the one of ``/v1/systemone``: ``{"name": {"type", "instructions", "criteria"}}``, with
``boolean`` accepted beside ``noul`` and an optional ``abstain`` (true, or a name).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thisthat.errors import InvalidInputError, shown
from thisthat.inputs import read_json
from thisthat.questions import Boolean, Choice, Question, Score

_KEYS = {"type", "instructions", "criteria", "abstain"}
# What a field is called elsewhere, so that a guess is told the right name.
_ALSO_CALLED = {
    "instructions": {"description", "instruction", "prompt", "question", "text"},
    "criteria": {"choices", "criterion", "enum", "labels", "levels", "options"},
}


def read_questions(path: Path) -> dict[str, Question]:
    """The named questions of a schema file. Raises InvalidInputError naming file and field."""
    value = read_json(path)
    try:
        return questions_from_json(value)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}, {error.field}", error.message) from None


def questions_from_json(value: object) -> dict[str, Question]:
    """Questions by name. Raises InvalidInputError with the path of the field that is wrong."""
    if not isinstance(value, Mapping) or not value:
        given = "not an empty one" if isinstance(value, Mapping) else f"not {type(value).__name__}"
        if isinstance(value, str):
            given += "; json.load reads a file, json.loads a text"
        raise InvalidInputError("questions", f"must be an object of named questions, {given}")
    questions: dict[str, Question] = {}
    for name, spec in value.items():
        try:
            questions[name] = question_from_json(spec)
        except InvalidInputError as error:
            raise error.under(f"questions.{name}") from None
    return questions


def question_from_json(spec: object) -> Question:
    """One question. A plain text is a boolean."""
    if isinstance(spec, str):
        return Boolean(spec)
    if not isinstance(spec, Mapping):
        raise InvalidInputError("", f"must be an object or a text, not {type(spec).__name__}")
    unknown = set(spec) - _KEYS
    if unknown:
        name = min(map(str, unknown))
        meant = [key for key, others in _ALSO_CALLED.items() if name in others]
        if meant:
            raise InvalidInputError(name, f"is not known; it is called {meant[0]} here")
        raise InvalidInputError(name, f"is not known; a question has {', '.join(sorted(_KEYS))}")
    kind = spec.get("type")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise InvalidInputError(
            # "noul" is what one wire format calls a boolean; nobody else should have to know it.
            "type",
            f"is {shown(kind)}; it must be one of boolean, choice, score",
        )
    abstain = spec.get("abstain")
    if abstain is not None and not isinstance(abstain, (bool, str)):
        raise InvalidInputError("abstain", "must be true, false or a name")
    return read(spec.get("instructions"), spec.get("criteria"), abstain)


def question_as_json(question: Question) -> dict[str, Any]:
    """The JSON that ``question_from_json`` reads as the same question.

    Raises InvalidInputError for an abstain option with a description, which that form cannot hold.
    """
    spec: dict[str, Any] = {"type": question.kind, "instructions": question.instructions}
    if isinstance(question, Choice):
        spec["criteria"] = {option.name: option.description for option in question.options}
    elif isinstance(question, Score):
        spec["criteria"] = list(question.levels)
    else:
        spec["criteria"] = {"true": question.true, "false": question.false}
    if question.abstain is not None:
        if question.abstain.description is not None:
            raise InvalidInputError("abstain.description", "cannot be written as JSON")
        spec["abstain"] = question.abstain.name
    return spec


def _read_boolean(instructions: Any, criteria: Any, abstain: bool | str | None) -> Question:
    given = {} if criteria is None else criteria
    if not isinstance(given, Mapping) or set(given) - {"true", "false"}:
        raise InvalidInputError("criteria", 'must be an object with "true" and "false" at most')
    return Boolean(instructions, given.get("true"), given.get("false"), abstain)


def _read_choice(instructions: Any, criteria: Any, abstain: bool | str | None) -> Question:
    if not isinstance(criteria, (Mapping, Sequence)) or isinstance(criteria, str):
        raise InvalidInputError("criteria", "must be an object of labels or a list of labels")
    return _options_as_criteria(lambda: Choice(criteria, instructions, abstain))


def _read_score(instructions: Any, criteria: Any, abstain: bool | str | None) -> Question:
    if not isinstance(criteria, Sequence) or isinstance(criteria, str):
        raise InvalidInputError("criteria", "must be a list of levels in order")
    return _options_as_criteria(lambda: Score(criteria, instructions, abstain))


def _options_as_criteria(make: Callable[[], Question]) -> Question:
    try:
        return make()
    except InvalidInputError as error:
        for own in ("options", "levels"):
            if error.field.startswith(own):
                field = "criteria" + error.field.removeprefix(own)
                raise InvalidInputError(field, error.message) from None
        raise


_READERS = {
    "boolean": _read_boolean,
    "noul": _read_boolean,
    "choice": _read_choice,
    "score": _read_score,
}
