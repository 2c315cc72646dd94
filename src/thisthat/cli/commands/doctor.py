"""`thisthat doctor`: what runs here, and what could be fixed."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer

from thisthat.cli.options import CheckpointOption, JsonOption
from thisthat.cli.terminal import plain_table, print_table


def doctor(checkpoint: CheckpointOption = "default", as_json: JsonOption = False) -> None:
    """Say what answers on this machine, what is cached, why it is not faster, and what to do.

    Exit code 0: nothing needs fixing; 1: something does, and it says what.
    """
    from thisthat.cli.diagnosis import diagnose

    found = diagnose(checkpoint)
    if as_json:
        record = {"fine": found.fine, "findings": [asdict(each) for each in found.findings]}
        print(json.dumps(record, ensure_ascii=False, indent=2))
    else:
        from rich.text import Text

        table = plain_table("", "")
        table.show_header = False
        for each in found.findings:
            table.add_row(Text(each.name), Text(each.fact))
            if each.mend is not None:
                table.add_row("", Text(f"→ {each.mend}", style="bold yellow"))
        print_table(table)
    if not found.fine:
        raise typer.Exit(1)
