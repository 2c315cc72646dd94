"""Decisions as columns: for every question its best option, how probable it is, and what to do.

Knows tables of other libraries by the package they come from, and imports none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from thisthat.errors import InvalidInputError
from thisthat.questions import Decision, Question, check_many

Kind: TypeAlias = Literal["text", "integer", "number", "boolean", "texts"]
Found: TypeAlias = "Decision | InvalidInputError"

_BEST: dict[str, Kind] = {"choice": "text", "boolean": "boolean", "score": "integer"}


def answer_kinds(
    questions: Mapping[str, Question], *, policy: bool = False, cut: bool = False
) -> dict[str, Kind]:
    """The columns of the answers to these questions, in order, and what they hold."""
    kinds: dict[str, Kind] = {}
    for name, question in questions.items():
        kinds[f"{name}_best"] = _BEST[question.kind]
        kinds |= {f"{name}_probability": "number", f"{name}_entropy": "number"}
        if policy:
            kinds |= {f"{name}_action": "text", f"{name}_option": "text", f"{name}_set": "texts"}
    return kinds | ({"cut": "integer"} if cut else {}) | {"error": "text"}


def answer_columns(kinds: Mapping[str, Kind], found: Sequence[Found]) -> dict[str, list[Any]]:
    """The columns ``kinds`` names; a state without an answer has an ``error`` and nothing else."""
    rows = [_values(each, kinds) for each in found]
    return {name: [row.get(name) for row in rows] for name in kinds}


def _values(found: Found, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    if isinstance(found, InvalidInputError):
        return {"error": str(found)}
    values: dict[str, Any] = {}
    for name, answer in found.answers.items():
        values[f"{name}_best"] = getattr(answer, "best", None)
        values[f"{name}_probability"] = answer.probabilities[answer.best_name]
        values[f"{name}_entropy"] = answer.entropy
        outcome = answer.outcome
        if outcome is not None:
            values[f"{name}_action"] = outcome.action
            values[f"{name}_option"] = outcome.option
            values[f"{name}_set"] = None if outcome.options is None else list(outcome.options)
    cut = found.cut
    values["cut"] = 0 if cut is None else cut.state_tokens - cut.kept_tokens
    return values


def read_columns(table: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    """These columns of a mapping, Arrow, pandas or Polars table. Raises InvalidInputError."""
    known = list(table) if isinstance(table, Mapping) else _names(table)
    for name in names:
        if name not in known:
            has = ", ".join(map(str, known)) or "none"
            raise InvalidInputError("columns", f"has no column {name!r}; it has {has}")
        check_many(table[name], name)
    found = {name: _list(table[name]) for name in names}
    sizes = {name: len(values) for name, values in found.items()}
    if len(set(sizes.values())) > 1:
        raise InvalidInputError("columns", f"are not equally long: {sizes}")
    return found


def _names(table: Any) -> list[str]:
    package = _package(table)
    if package == "pyarrow":
        return list(table.schema.names)
    if package in ("pandas", "polars"):
        return list(table.columns)
    message = f"must be a mapping, an Arrow, pandas or Polars table, not {type(table).__name__}"
    raise InvalidInputError("columns", message)


def _list(column: Any) -> list[Any]:
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def same_table(
    table: Any, columns: Mapping[str, list[Any]], kinds: Mapping[str, Kind], id: str | None
) -> Any:
    """The columns as a table of the same sort; a mapping of arrays for a mapping of arrays.

    ``id`` is a column of the table that is handed through, and keeps its type.
    """
    package = _package(table)
    if package == "pyarrow":
        import pyarrow

        kept = [] if id is None else [table.schema.field(id)]
        schema = pyarrow.schema([*kept, *arrow_schema(kinds)])
        return type(table).from_pydict(dict(columns), schema=schema)
    if package == "pandas":
        import pandas

        return pandas.DataFrame(dict(columns), index=table.index)
    if package == "polars":
        import polars

        texts = polars.List(polars.String)
        types: dict[Kind, Any] = {"text": polars.String, "integer": polars.Int64, "texts": texts}
        types |= {"number": polars.Float64, "boolean": polars.Boolean}
        handed = {} if id is None else {id: table.schema[id]}
        own = {name: types[kind] for name, kind in kinds.items()}
        return polars.DataFrame(dict(columns), schema=handed | own)
    if any(isinstance(each, np.ndarray) for each in table.values()):
        return {name: _array(values) for name, values in columns.items()}
    return dict(columns)


def _array(values: list[Any]) -> np.ndarray[Any, Any]:
    plain = all(isinstance(each, (bool, int, float, str)) for each in values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return np.array(values) if plain else array


def arrow_schema(kinds: Mapping[str, Kind]) -> Any:
    """The columns as an Arrow schema."""
    import pyarrow

    text = pyarrow.string()
    types = {"text": text, "integer": pyarrow.int64(), "number": pyarrow.float64()}
    types |= {"boolean": pyarrow.bool_(), "texts": pyarrow.list_(text)}
    return pyarrow.schema([(name, types[kind]) for name, kind in kinds.items()])


def _package(table: Any) -> str:
    return type(table).__module__.partition(".")[0]
