"""`thisthat calibrate`: temperatures fitted on held-out rows, written to a checkpoint's card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thisthat.cli.labels import read_schema
from thisthat.cli.options import LABELS_HELP, SchemaOption


def calibrate(
    checkpoint: Annotated[Path, typer.Argument(help="Checkpoint folder; its card is changed.")],
    data: Annotated[Path, typer.Argument(help=LABELS_HELP)],
    schema: SchemaOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the temperatures; change nothing.")
    ] = False,
) -> None:
    """Fit temperatures on held-out labels and write them to the checkpoint's card."""
    from thisthat.calibrate.card import calibrate as fit
    from thisthat.calibrate.card import write_temperatures
    from thisthat.decide.opening import open_decider
    from thisthat.items.labels import labelled_questions

    labelled = list(labelled_questions(data, read_schema(schema)))
    with open_decider(checkpoint) as decider:
        temperatures, fits = fit(decider, labelled)
    for layout, groups in fits.items():
        for group in groups:
            typer.echo(
                f"{layout} {group.name}: temperature {group.temperature:.3f} on {group.rows} rows; "
                f"NLL {group.nll_before:.4f} to {group.nll_after:.4f}, "
                f"ECE {group.ece_before:.4f} to {group.ece_after:.4f}"
            )
    if not dry_run:
        write_temperatures(checkpoint, temperatures)
