"""A file of cases: states, the questions about them, and the option each answer must have.

JSON, TOML and YAML share one shape. Running cases happens elsewhere.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.inputs import read_json, read_text, reason
from thisthat.items.labels import LABEL_FILES, option_index, read_labelled
from thisthat.questions import Question, Text, check_text
from thisthat.questions_json import question_as_json, questions_from_json, read_questions

_FILE_KEYS = {"questions", "cases", "at_least"}
_BOOLEANS = ("boolean", "noul")
_CASE_KEYS = {"name", "state", "questions", "expect", "at_least"}


@dataclass(frozen=True, slots=True)
class Expectation:
    """The option an answer must have, and its least probability."""

    question: str
    option: str
    at_least: float


@dataclass(frozen=True, slots=True)
class Case:
    """A state, its questions (``specs``: as in the file), and the expected answers."""

    name: str
    state: Text
    questions: Mapping[str, Question]
    specs: Mapping[str, Any]
    expected: tuple[Expectation, ...]


def read_cases(path: Path, questions: Mapping[str, Question] | None = None) -> list[Case]:
    """The cases of a .json, .toml, .yaml or .yml file, or of a file of labels.

    ``questions`` are those of labels. Raises InvalidInputError with the path of the faulty field,
    and MissingExtraError when this Python cannot read TOML.
    """
    if path.suffix in LABEL_FILES:
        return _labelled(path, questions)
    if questions is not None:
        raise InvalidInputError(
            "--schema", f"is for labels ({', '.join(LABEL_FILES)}); {path} has questions of its own"
        )
    value = _load(path)
    try:
        table = _table(value, "", _FILE_KEYS)
        asked = table.get("questions", {})
        if not isinstance(asked, str):
            shared = _asked(asked)
    except InvalidInputError as error:
        raise error.under(str(path)) from None
    if isinstance(asked, str):  # Its errors name the schema file.
        shared = _schema(path, asked)
    try:
        return _cases(table, shared)
    except InvalidInputError as error:
        raise error.under(str(path)) from None


def _schema(path: Path, name: str) -> _Asked:
    """The questions of the schema file that a file of cases names."""
    schema = path.parent / name
    if not schema.is_file():
        raise InvalidInputError(
            f"{path}.questions",
            f"{name!r} is no file beside {path.name}; give the path of a schema file from there, "
            "or an object of named questions",
        )
    return _Asked(read_questions(schema), read_json(schema))


def _cases(table: Mapping[str, Any], shared: _Asked) -> list[Case]:
    least = _least(table.get("at_least", 0.0), "at_least")
    entries = table.get("cases")
    if not isinstance(entries, list) or not entries:
        raise InvalidInputError("cases", "must be a list of at least 1 case")
    cases: list[Case] = []
    seen: dict[str, int] = {}
    for number, entry in enumerate(entries):
        where = f"cases[{number}]"
        try:
            case = _case(entry, number, shared, least)
        except InvalidInputError as error:
            raise error.under(where) from None
        if case.name in seen:
            raise InvalidInputError(
                f"{where}.name", f"{case.name!r} is already the name of case {seen[case.name]}"
            )
        seen[case.name] = number
        cases.append(case)
    return cases


def _labelled(path: Path, questions: Mapping[str, Question] | None) -> list[Case]:
    """Every labelled state as a case, called by its id or its place."""
    labelled = read_labelled(path, questions)
    for name, row, earlier in labelled.contradictions():
        raise InvalidInputError(
            f"{labelled.places[row]}, {name}",
            f"expects another option than {labelled.places[earlier]}, which has the same state",
        )
    rows = zip(labelled.pairs, labelled.labels, strict=True)
    return [
        Case(
            labelled.called(number),
            state,
            asked,
            {name: question_as_json(question) for name, question in asked.items()},
            tuple(
                Expectation(name, asked[name].declared[label].name, 0.0)
                for name, label in right.items()
            ),
        )
        for number, ((state, asked), right) in enumerate(rows)
    ]


def _case(entry: object, number: int, shared: _Asked, least: float) -> Case:
    table = _table(entry, "", _CASE_KEYS)
    name = table.get("name", f"case {number + 1}")
    if not isinstance(name, str) or not name.strip():
        raise InvalidInputError("name", "must be a text that is not empty")
    if "state" not in table:
        raise InvalidInputError("state", "is missing")
    check_text(table["state"], "state")
    own = _asked(table.get("questions", {}))
    specs, questions = {**shared.specs, **own.specs}, {**shared.questions, **own.questions}
    expect = table.get("expect")
    if not isinstance(expect, Mapping) or not expect:
        raise InvalidInputError("expect", "must be an object of at least 1 question")
    least = _least(table.get("at_least", least), "at_least")
    unknown = [asked for asked in expect if asked not in specs]
    if unknown:
        known = ", ".join(specs) or "none"
        raise InvalidInputError(f"expect.{unknown[0]}", f"is not a question; known are: {known}")
    # Ask only what is expected.
    asked = {name: questions[name] for name in expect}
    expected = tuple(
        _expectation(name, asked[name], wanted, least) for name, wanted in expect.items()
    )
    return Case(name, table["state"], asked, {name: specs[name] for name in expect}, expected)


def _expectation(name: str, question: Question, wanted: object, least: float) -> Expectation:
    where = f"expect.{name}"
    if isinstance(wanted, Mapping):
        table = _table(wanted, where, {"option", "at_least"})
        if "option" not in table:
            raise InvalidInputError(f"{where}.option", "is missing")
        least = _least(table.get("at_least", least), f"{where}.at_least")
        wanted, where = table["option"], f"{where}.option"
    try:
        right = option_index(question, wanted)
    except InvalidInputError as error:
        # YAML reads a bare yes or on as true.
        quotes = "; write it in quotes" if isinstance(wanted, bool) else ""
        raise InvalidInputError(where, f"{error.message}{quotes}") from None
    return Expectation(name, question.declared[right].name, least)


def _least(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidInputError(where, f"is {value!r}; it must be a probability, 0 to 1")
    return float(value)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Questions, and their specs as in the file."""

    questions: Mapping[str, Question]
    specs: Mapping[str, Any]


def _asked(value: object) -> _Asked:
    if not isinstance(value, Mapping):
        raise InvalidInputError("questions", "must be an object of named questions")
    for name in value:
        if not isinstance(name, str):
            raise InvalidInputError("questions", f"has {name!r} for a name; write it in quotes")
    specs = {name: _unquoted(spec, f"questions.{name}") for name, spec in value.items()}
    return _Asked(questions_from_json(specs) if specs else {}, specs)


def _unquoted(spec: Any, where: str) -> Any:
    """A boolean's spec with texts for keys: YAML reads a bare true, false, yes or no as no text.

    Raises InvalidInputError for such a name of an option.
    """
    if not isinstance(spec, Mapping):
        return spec
    criteria = spec.get("criteria")
    if spec.get("type") not in _BOOLEANS:
        names = criteria if isinstance(criteria, (Mapping, list)) else ()
        bare = [name for name in names if isinstance(name, bool)]
        if bare:
            raise InvalidInputError(
                f"{where}.criteria", f"has {bare[0]}, which is no text; write it in quotes"
            )
        return spec
    if not isinstance(criteria, Mapping):
        return spec
    named: dict[Any, Any] = {}
    for key, meaning in criteria.items():
        name = str(key).lower() if isinstance(key, bool) else key
        if name in named:
            raise InvalidInputError(f"{where}.criteria.{name}", "is given twice")
        named[name] = meaning
    return {**spec, "criteria": named}


def _table(value: object, where: str, keys: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(where, f"must be an object, not {type(value).__name__}")
    unknown = sorted(str(key) for key in set(value) - keys)
    if unknown:
        field = f"{where}.{unknown[0]}" if where else unknown[0]
        raise InvalidInputError(field, f"is not known; there are {sorted(keys)}")
    return value


# The three formats ---------------------------------------------------------------------------


def _load(path: Path) -> object:
    readers: dict[str, Callable[[str], object]] = {
        ".json": lambda text: json.loads(text, object_pairs_hook=_once),
        ".toml": _load_toml,
        ".yaml": _load_yaml,
        ".yml": _load_yaml,
    }
    read = readers.get(path.suffix.lower())
    if read is None:
        raise InvalidInputError(str(path), f"ends in none of {', '.join([*readers, *LABEL_FILES])}")
    text = read_text(path)
    try:
        return read(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(str(path), f"cannot be read: {reason(error)}") from None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"the key {key!r} is given twice")
        table[key] = value
    return table


def _load_toml(text: str) -> object:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError:
            raise MissingExtraError("TOML on Python 3.10", "train") from None
    return tomllib.loads(text)


def _load_yaml(text: str) -> object:
    import yaml  # type: ignore[import-untyped]

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Refuses duplicate keys, of which YAML would keep the last."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            # Nested values are filled in later, so only keys can be checked here.
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            twice = [key for number, key in enumerate(keys) if key in keys[:number]]
            if twice:
                line = node.start_mark.line + 1
                raise ValueError(f"line {line}: the key {twice[0]!r} is given twice")
            found: dict[Any, Any] = super().construct_mapping(node, deep)
            return found

    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
