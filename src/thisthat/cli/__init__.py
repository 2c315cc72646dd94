"""Thin commands over the library. May import every package of the runtime.

Heavy imports happen inside the commands, not here. ``lab`` is the only way to the laboratory.
"""

from __future__ import annotations

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


app.command("ask")(ask.ask)
app.command("batch")(batch.batch)
app.command("info")(info.info)
app.command("pull")(info.pull)
app.command("doctor")(doctor.doctor)
app.command("teach")(teach.teach)
app.command("label")(label.label)
app.command("eval")(evaluate.evaluate)
app.command("calibrate")(calibrate.calibrate)
app.command("check")(check.check)
app.command("test")(test.run_tests)
app.command("serve")(serve.serve)
app.command("mcp")(mcp.mcp)
app.add_typer(threshold.app, name="threshold")
app.add_typer(log.app, name="log")
for command in trials.COMMANDS:
    loop.app.command()(command)
app.add_typer(loop.app, name="loop")
app.add_typer(delta.app, name="delta")
add_lab_commands(app)


def main() -> None:
    """Run the command line; our own errors are one line on standard error and exit code 2."""
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
    except BrokenPipeError:
        sys.exit(1)
