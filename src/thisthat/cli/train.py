"""Commands that train: ``thisthat train`` and ``thisthat teach``. Thin; the work is elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Train, teach and calibrate.", no_args_is_help=True)


@app.command()
def train(
    run_file: Annotated[Path, typer.Argument(metavar="RUN.toml", help="What to train, and how.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say the data, shapes and memory; train nothing.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the run's saved state.")
    ] = False,
    stop_after: Annotated[
        float | None,
        typer.Option(metavar="MINUTES", help="Save and stop after this long; resume later."),
    ] = None,
) -> None:
    """Train a checkpoint as a run file says."""
    from thisthat.train.config import read_run
    from thisthat.train.loop import dry_run as show
    from thisthat.train.loop import train as start

    run = read_run(run_file)
    if dry_run:
        show(run, typer.echo)
        return
    start(run, typer.echo, resume=resume, stop_after_minutes=stop_after)
