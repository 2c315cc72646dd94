"""`thisthat teach`: a checkpoint learns a user's own decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thisthat.cli.lab import trainer
from thisthat.cli.labels import read_schema
from thisthat.cli.options import LABELS_HELP
from thisthat.cli.outputs import check_place
from thisthat.errors import InvalidInputError


def teach(
    data: Annotated[Path, typer.Argument(help=LABELS_HELP)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the checkpoint.")],
    schema: Annotated[
        Path | None, typer.Option(help="JSON file of the named questions that were labelled.")
    ] = None,
    checkpoint: Annotated[
        str, typer.Option("--checkpoint", "--model", help="Checkpoint to start from.")
    ] = "default",
    lam: Annotated[
        float | None, typer.Option("--lambda", help="How much of that checkpoint's delta, 0 to 1.")
    ] = None,
    engine: Annotated[str, typer.Option(help="auto, native, onnx or torch.")] = "auto",
    deep: Annotated[
        bool, typer.Option("--deep", help="Train the weights themselves; needs the train extra.")
    ] = False,
    minutes: Annotated[
        float | None,
        typer.Option(help="How long to train, with --deep; three passes if not given."),
    ] = None,
) -> None:
    """Teach a checkpoint your own decisions from a few dozen to a few thousand labels."""
    check_place(output)
    if deep:
        _teach_deep(data, output, schema, checkpoint, lam, minutes)
        return
    from thisthat.teach.known import labels_of, refuse_taught
    from thisthat.teach.rows import read_rows

    labelled = read_rows(data, read_schema(schema))
    refuse_taught(str(data), checkpoint, lam, labels_of(labelled))

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from thisthat.checkpoint import open_checkpoint
    from thisthat.decide.opening import open_decider
    from thisthat.teach.light import teach as teach_light

    parent = open_checkpoint(checkpoint, lam)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with (
        open_decider(checkpoint, lam=lam, engine=engine) as decider,  # type: ignore[arg-type]
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task("learning", total=len(labelled))
        done = dict.fromkeys(labelled, 0.0)

        def progress(name: str, share: float) -> None:
            done[name] = share
            bar.update(task, completed=sum(done.values()))

        taught = teach_light(decider, parent, labelled, output, progress)
    for line in taught.lines():
        typer.echo(line)
    if taught.folder is None:
        raise typer.Exit(1)


def _teach_deep(
    data: Path,
    output: Path,
    schema: Path | None,
    checkpoint: str,
    lam: float | None,
    minutes: float | None,
) -> None:
    if lam is not None:
        raise InvalidInputError("--lambda", "is for the light teach; --deep takes the whole")
    questions = read_schema(schema)
    deep = trainer().teach
    taught = deep(
        data, output, typer.echo, questions=questions, initial=checkpoint, minutes=minutes
    )
    for line in taught.lines():
        typer.echo(line)
    if taught.folder is None:
        raise typer.Exit(1)
