"""Commands of the laboratory, added to `thisthat` by ``thisthat.cli.lab``.

May import every package of the laboratory, but at the top only what is light.
"""

from __future__ import annotations

import typer

from thisthat_lab.cli import bench, report, train


def add_commands(app: typer.Typer) -> None:
    """Add the laboratory's commands to the one command line, behind the others."""
    panel = "Laboratory: train and measure models"
    app.command("train", rich_help_panel=panel)(train.train)
    app.add_typer(bench.app, name="bench", rich_help_panel=panel)
    app.command("report", rich_help_panel=panel)(report.report)
    app.command("leakage", rich_help_panel=panel)(train.leakage)
    app.command("fit", rich_help_panel=panel)(train.fit)
