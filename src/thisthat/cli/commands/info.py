"""`thisthat info` and `thisthat pull`: describe a checkpoint, and fetch it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from thisthat.cli.options import (
    CheckpointAlone,
    CheckpointOption,
    JsonOption,
    LambdaOption,
    alone_or_named,
)


def info(
    alone: CheckpointAlone = None,
    checkpoint: CheckpointOption = "default",
    lam: LambdaOption = None,
    as_json: JsonOption = False,
    check: Annotated[
        bool, typer.Option(help="Ask twenty plain questions and print what the model read.")
    ] = False,
) -> None:
    """Show what a checkpoint is: name, version, λ, base, prompt format, limits, temperatures."""
    checkpoint = alone_or_named("--checkpoint", alone, checkpoint, "default")
    if check:
        from thisthat.cli.plain_questions import check_reading

        check_reading(checkpoint, lam, as_json)
        return
    from thisthat.checkpoint import describe, open_checkpoint
    from thisthat.engine.speed import known_speed

    opened = open_checkpoint(checkpoint, lam)
    description = describe(opened)
    speed = known_speed(opened)
    if speed is not None:
        description["engine, 64 tokens"] = str(speed)
    if as_json:
        print(json.dumps(description, ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    card = description.pop("card")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in {**description, **_flat(card)}.items():
        table.add_row(name, _shown(value))
    Console().print(table)


def pull(
    alone: CheckpointAlone = None,
    checkpoint: CheckpointOption = "default",
    check: Annotated[
        bool, typer.Option(help="Hash every file anew, even if it seems unchanged.")
    ] = False,
) -> None:
    """Fetch and verify a checkpoint, and build its runtime forms so that later starts are quick.

    Reports which engine answers and, if it is not the native one, why.
    """
    from thisthat.checkpoint.store import forget_hashes
    from thisthat.decide.opening import open_decider

    checkpoint = alone_or_named("--checkpoint", alone, checkpoint, "default")
    if check:
        forget_hashes()
    decider = open_decider(checkpoint)
    decider.open_all()
    source, engine = decider.source, decider.engine.description
    print(f"{source.name} {source.version}, λ = {source.lam:g}: {engine}")
    if engine.startswith("onnxruntime") and "int8" in engine:
        from thisthat.checkpoint import open_checkpoint
        from thisthat.cli.diagnosis import why_this_engine

        print(f"Why: {why_this_engine(open_checkpoint(checkpoint), engine).fact}.")


def version(wanted: bool) -> None:
    """Print the package's version and stop, if asked."""
    if wanted:
        from thisthat import __version__

        print(f"thisthat {__version__}")
        raise typer.Exit


def _flat(card: dict[str, object], parent: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in card.items():
        if key in ("name", "version", "lambda"):
            continue
        if isinstance(value, dict):
            flat.update(_flat(value, f"{parent}{key}."))
        elif key == "labels_sample":
            flat[f"{parent}{key}"] = f"{len(str(value).split())} hashes of labels; --json has them"
        else:
            flat[f"{parent}{key}"] = value
    return flat


def _shown(value: object) -> str:
    """A value of a card for people: numbers as far as they matter, a list one item a line."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return "\n".join(map(_shown, value)) or "none"
    if isinstance(value, dict):
        if {"value", "low", "high"} <= set(value):
            return f"{_shown(value['value'])} [{_shown(value['low'])}, {_shown(value['high'])}]"
        return ", ".join(f"{key} {_shown(each)}" for key, each in value.items())
    return str(value)
