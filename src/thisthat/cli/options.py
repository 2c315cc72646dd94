"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import typer

from thisthat.environment import ENDPOINT_KEY
from thisthat.errors import InvalidInputError

_CHECKPOINT = "default, large, a folder, a GGUF file or a Hub id."

CheckpointOption: TypeAlias = Annotated[str, typer.Option("--checkpoint", help=_CHECKPOINT)]
CheckpointAlone: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="CHECKPOINT", help="The same as --checkpoint CHECKPOINT.")
]
LambdaOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--lambda", help="λ, 0 to 1: how much of the checkpoint's delta; 0 is its parent."
    ),
]
EngineOption: TypeAlias = Annotated[
    str, typer.Option("--engine", help="auto, native, onnx or torch.")
]
FormOption: TypeAlias = Annotated[
    str | None, typer.Option("--form", help="onnx numeric form: int8, block8 or float32.")
]
LayoutOption: TypeAlias = Annotated[
    str | None, typer.Option("--layout", help="state-first or schema-first.")
]
PackingOption: TypeAlias = Annotated[str, typer.Option("--packing", help="apart or together.")]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
KeepOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--keep", help="Cut a state that is too long: keep head, tail or ends."),
]
OrderOption: TypeAlias = Annotated[
    str,
    typer.Option("--order", help="as-given, or average: answers free of the order of options."),
]
LogOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--decision-log", help="Record every decision in this SQLite file or SQLAlchemy URL."
    ),
]
ServerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--server",
        help="Ask this server (http://…) instead; --checkpoint is then a name it answers to.",
    ),
]
KeyOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--key", envvar=ENDPOINT_KEY, help="Key of a server.", show_envvar=True),
]
TimeoutOption: TypeAlias = Annotated[
    float, typer.Option("--timeout", help="Seconds to wait for a server's next answer.")
]
LABELS_HELP = "Labels: .jsonl, .csv, .jsonl.zst or .parquet."
STATES_HELP = "States: a JSON value a line, or the column state of a .csv, .tsv or .parquet file"
SCHEMA_HELP = "A JSON file of named questions (type, instructions, criteria)."
SchemaOption: TypeAlias = Annotated[Path | None, typer.Option("--schema", help=SCHEMA_HELP)]
SchemaAlone: TypeAlias = Annotated[
    Path | None, typer.Argument(metavar="SCHEMA", help="The same as --schema SCHEMA.")
]

Given = TypeVar("Given")


def alone_or_named(name: str, alone: Given | None, named: Given, default: Given) -> Given:
    """What stands alone, or else after its ``name``. Raises InvalidInputError if both differ."""
    if alone is None:
        return named
    if named not in (default, alone):
        raise InvalidInputError(name, f"{alone} or {named}? Give one of them")
    return alone
