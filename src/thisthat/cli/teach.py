"""`thisthat teach`: a checkpoint learns a user's own decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thisthat.cli.lab import trainer


def teach(
    data: Annotated[Path, typer.Argument(help="Rows: .jsonl, .jsonl.zst or .parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the checkpoint.")],
    model: Annotated[str, typer.Option(help="Checkpoint to start from.")] = "default",
    minutes: Annotated[float, typer.Option(help="How long to train.")] = 8.0,
) -> None:
    """Teach a checkpoint your own decisions from a few hundred rows."""
    for line in trainer().teach(data, output, typer.echo, initial=model, minutes=minutes).lines():
        typer.echo(line)
