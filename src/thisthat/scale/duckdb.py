"""A schema as an SQL function of DuckDB: a column of states in, a struct of answers out."""

from __future__ import annotations

from typing import Any

from thisthat.scale.columns import Kind
from thisthat.scale.decider import BatchDecider

_TYPES: dict[Kind, str] = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "texts": "VARCHAR[]",
}


def register(connection: Any, name: str, schema: Any, **settings: Any) -> None:
    """Make ``name(text)`` a function of the connection, evaluated on whole vectors of rows.

    It returns a struct with the columns of ``BatchDecider(schema, **settings)``; NULL for NULL.
    Raises what BatchDecider raises, and what DuckDB raises for a name that is taken.
    """
    import pyarrow

    decider = BatchDecider(schema, **{**settings, "state": "state", "id": None})

    def answer(states: Any) -> Any:
        return decider(pyarrow.table({"state": states})).to_struct_array()

    quoted = {each.replace('"', '""'): _TYPES[kind] for each, kind in decider.kinds.items()}
    fields = [f'"{each}" {kind}' for each, kind in quoted.items()]
    struct = connection.type(f"STRUCT({', '.join(fields)})")
    connection.create_function(name, answer, ["VARCHAR"], struct, type="arrow")
