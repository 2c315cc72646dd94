"""Commands of the laboratory, added to `thisthat` by ``thisthat.cli.lab``.

May import every package of the laboratory, but at the top only what is light.
"""

from __future__ import annotations

import typer

from thisthat_lab.cli import bench, report, train


def add_commands(app: typer.Typer) -> None:
    """Add the laboratory's commands to the one command line."""
    app.command("train")(train.train)
    app.command("leakage")(train.leakage)
    app.command("fit")(train.fit)
    app.add_typer(bench.app, name="bench")
    app.command("report")(report.report)
