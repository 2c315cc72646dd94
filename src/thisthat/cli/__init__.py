"""Thin commands over the library. May import every package of the runtime.

Heavy imports happen inside the commands, not here. ``lab`` is the only way to the laboratory.
"""

from __future__ import annotations

import errno
import logging
import sys
from typing import Annotated

import typer

from thisthat.cli.app import App
from thisthat.cli.commands import (
    ask,
    batch,
    calibrate,
    check,
    delta,
    doctor,
    evaluate,
    info,
    label,
    log,
    loop,
    mcp,
    serve,
    teach,
    test,
    threshold,
    trials,
)
from thisthat.cli.extras import missing_extra
from thisthat.cli.lab import add_lab_commands
from thisthat.cli.pipes import ended_by_broken_pipes
from thisthat.errors import ThisThatError

app = App(
    name="thisthat",
    help="The smart if-statement: declare the options, get a probability for each of them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=info.version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


DECIDE, TEACH, TRUST = "Decide", "Teach and judge", "Trust"
SERVE, CHECKPOINTS = "Serve", "Checkpoints and this machine"

app.command("ask", rich_help_panel=DECIDE)(ask.ask)
app.command("batch", rich_help_panel=DECIDE)(batch.batch)
app.command("teach", rich_help_panel=TEACH)(teach.teach)
app.command("label", rich_help_panel=TEACH)(label.label)
app.command("eval", rich_help_panel=TEACH)(evaluate.evaluate)
app.add_typer(threshold.app, name="threshold", rich_help_panel=TRUST)
app.command("check", rich_help_panel=TRUST)(check.check)
app.command("test", rich_help_panel=TRUST)(test.run_tests)
app.add_typer(log.app, name="log", rich_help_panel=TRUST)
app.command("serve", rich_help_panel=SERVE)(serve.serve)
app.command("mcp", rich_help_panel=SERVE)(mcp.mcp)
for command in trials.COMMANDS:
    loop.app.command()(command)
app.add_typer(loop.app, name="loop", rich_help_panel=SERVE)
app.command("doctor", rich_help_panel=CHECKPOINTS)(doctor.doctor)
app.command("pull", rich_help_panel=CHECKPOINTS)(info.pull)
app.command("info", rich_help_panel=CHECKPOINTS)(info.info)
app.command("calibrate", rich_help_panel=CHECKPOINTS)(calibrate.calibrate)
app.add_typer(delta.app, name="delta", rich_help_panel=CHECKPOINTS)
add_lab_commands(app)


def main() -> None:
    """Run the command line; our own errors are one line on standard error and exit code 2."""
    with ended_by_broken_pipes():
        _run()


def _run() -> None:
    # transformers imports torchao if installed, and torchao warns about what it lacks.
    for talkative in ("torchao", "torch.utils._pytree"):
        logging.getLogger(talkative).setLevel(logging.ERROR)
    try:
        app()
    except ThisThatError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:
        told = missing_extra(error)
        if told is None:
            raise
        print(f"error: {told}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)  # Before a command begins, nobody else has caught it.
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = f" ({error.filename})" if error.filename else ""
        print(f"error: the disk is full{where}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
