"""``thisthat delta``: deltas and stacks of them: make, apply, stack, flatten, inspect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thisthat.cli.app import App

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint
    from thisthat.checkpoint.packing import DeltaReport

app = App(
    no_args_is_help=True,
    help="Make, apply, stack, flatten and inspect deltas: trained weights minus their parent's.",
)

_WORST_SHOWN = 5


@app.command()
def make(
    trained: Annotated[str, typer.Argument(help="Trained checkpoint: a folder or a Hub id.")],
    out: Annotated[Path, typer.Argument(help="Folder to write the delta and its card into.")],
    base: Annotated[str, typer.Option(help="Checkpoint whose base is subtracted.")] = "default",
    bits: Annotated[float | None, typer.Option(help="Bits per weight, instead of a size.")] = None,
    target_bytes: Annotated[
        int | None, typer.Option(help="Largest size of the delta file; 75,000,000 if not given.")
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(help="Store each matrix as a product of at most this rank, not in steps."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Write a checkpoint folder that is the base plus one delta, and report its cost."""
    from dataclasses import asdict, replace

    from thisthat.checkpoint import open_checkpoint
    from thisthat.checkpoint.card import CARD_FILE
    from thisthat.checkpoint.restack import refuse_heads
    from thisthat.checkpoint.ship import ship_delta

    start, end = open_checkpoint(base), open_checkpoint(trained)
    refuse_heads(end)
    has_card = (end.folder / CARD_FILE).is_file()
    card = end.card if end.parent is None else end.in_force
    if not has_card:
        # Trained elsewhere: causal states, layers run once, activations not rounded.
        form = replace(start.card.prompt, open_state=False)
        name = out.resolve().name
        card = replace(start.card, name=name, prompt=form, loop=None, byte_activations=False)
    report = ship_delta(
        start, end.weights(), out, card, bits=bits, target_bytes=target_bytes, rank=rank
    )
    if as_json:
        typer.echo(json.dumps(asdict(report)))
    else:
        _show_report(report, out)


@app.command()
def apply(
    delta: Annotated[Path, typer.Argument(help="Delta file.")],
    out: Annotated[Path, typer.Argument(help="Folder to write the whole model into.")],
    base: Annotated[str, typer.Option(help="Checkpoint whose base is added to.")] = "default",
    lam: Annotated[float, typer.Option("--lambda", help="Share of the delta, 0 to 1.")] = 1.0,
) -> None:
    """Write base + lambda * delta as a whole model folder (safetensors) with a card.

    A delta on a parent is added to that parent.
    """
    from dataclasses import replace

    from thisthat.checkpoint import open_checkpoint
    from thisthat.checkpoint.byte_weights import round_to_bytes
    from thisthat.checkpoint.card import CARD_FILE, read_card
    from thisthat.checkpoint.delta import Delta, apply_delta
    from thisthat.checkpoint.restack import refuse_heads
    from thisthat.checkpoint.ship import ship_whole

    beside = delta.parent / CARD_FILE
    card = read_card(beside) if beside.is_file() else None
    if card is not None and card.parent is not None:
        stacked = open_checkpoint(delta.parent, lam)
        refuse_heads(stacked)
        ship_whole(stacked, stacked.weights(), out, stacked.in_force)
        typer.echo(f"{out}: {card.parent.name} + {lam:g} * delta")
        return
    start = open_checkpoint(base)
    opened = Delta(delta)
    opened.check_base(start.base_sha256)
    card = card or start.card
    if lam == 0:
        # The base never read an open state.
        card = replace(card, prompt=replace(card.prompt, open_state=False))
    weights = apply_delta(start.base_weights(), opened, lam)
    if card.byte_weights and lam:
        weights = round_to_bytes(weights)
    ship_whole(start, weights, out, card)
    typer.echo(f"{out}: base + {lam:g} * delta")


@app.command()
def stack(
    checkpoint: Annotated[str, typer.Argument(help="Checkpoint whose topmost delta is moved.")],
    out: Annotated[Path, typer.Argument(help="New folder for the delta and its card.")],
    on: Annotated[str, typer.Option(help="Checkpoint to put it on.")] = "default",
    lam: Annotated[
        float | None,
        typer.Option("--lambda", help="λ of that checkpoint, if not its card's."),
    ] = None,
) -> None:
    """Put a delta on another parent: one that was retrained, recalibrated or upgraded.

    Shapes must agree. The delta was not trained for that parent: measure before you use it.
    """
    from thisthat.checkpoint import open_checkpoint
    from thisthat.checkpoint.restack import restack

    made = restack(checkpoint, open_checkpoint(on, lam), out)
    typer.echo(f"{out}: {made.card.name} {made.card.version}")
    _show_stack(made)
    typer.echo("Not trained for this parent: measure it, for example with `thisthat test`.")


@app.command()
def flatten(
    checkpoint: Annotated[str, typer.Argument(help="Checkpoint: a folder or a Hub id.")],
    out: Annotated[Path, typer.Argument(help="New folder for the delta and its card.")],
    lam: Annotated[
        float | None,
        typer.Option("--lambda", help="λ of the topmost delta, if not its card's."),
    ] = None,
    bits: Annotated[float | None, typer.Option(help="Bits per weight, instead of a size.")] = None,
    target_bytes: Annotated[
        int | None, typer.Option(help="Largest size of the delta file; 75,000,000 if not given.")
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(help="Store each matrix as a product of at most this rank, not in steps."),
    ] = None,
) -> None:
    """Write a stack as one delta on its base; λ = 0 is then the base, not the parent."""
    from thisthat.checkpoint import open_checkpoint
    from thisthat.checkpoint.restack import flatten as flat

    opened = open_checkpoint(checkpoint, lam)
    report = flat(opened, out, bits=bits, target_bytes=target_bytes, rank=rank)
    _show_report(report, out)


@app.command()
def inspect(
    delta: Annotated[str, typer.Argument(help="Delta file, or a checkpoint for its whole stack.")],
    lam: Annotated[
        float | None, typer.Option("--lambda", help="λ of a checkpoint, if not its card's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON with every tensor.")] = False,
) -> None:
    """Show the stack of a checkpoint, or what one delta file holds, without applying it."""
    from thisthat.checkpoint import open_checkpoint
    from thisthat.checkpoint.delta import inspect_delta
    from thisthat.checkpoint.restack import describe_stack

    if Path(delta).suffix == ".safetensors":
        facts = inspect_delta(Path(delta))
    else:
        opened = open_checkpoint(delta, lam)
        if not as_json:
            _show_stack(opened)
            return
        facts = describe_stack(opened)
    if as_json:
        typer.echo(json.dumps(facts))
        return
    kinds = [tensor["storage"] for tensor in facts["tensors"]]
    typer.echo(f"format           {facts['format']}")
    typer.echo(f"base sha256      {facts['base_sha256']}")
    typer.echo(f"size             {facts['bytes']:,} bytes for {facts['weights']:,} weights")
    typer.echo(f"bits per weight  {facts['bits_per_weight']:.2f}")
    typer.echo(
        f"tensors          {len(kinds)}: {kinds.count('steps')} in steps, "
        f"{kinds.count('product')} as products, "
        f"{kinds.count('exact')} exact, {kinds.count('zero')} unchanged"
    )
    largest = max((tensor["rank"] or 0 for tensor in facts["tensors"]), default=0)
    if largest:
        typer.echo(f"largest rank     {largest}")


def _show_stack(checkpoint: Checkpoint) -> None:
    """The stack as a table, the top in the first row and the base in the last."""
    from thisthat.checkpoint.restack import describe_stack

    facts = describe_stack(checkpoint)
    rows = [("layer", "version", "kind", "λ", "sha256", "bytes", "tensors changed")]
    for layer in reversed(facts["layers"]):
        names = (layer["name"], layer["version"], layer["kind"], f"{layer['lambda']:g}")
        changed = "" if layer["changed"] is None else f"{layer['changed']} of {layer['tensors']}"
        rows.append((*names, layer["sha256"][:12], f"{layer['bytes']:,}", changed))
    rows.append(("base", "", "", "", facts["base_sha256"][:12], "", ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())
    for layer in reversed(facts["layers"]):
        if layer["switches"]:
            keys = ", ".join(layer["switches"])
            typer.echo(f"{layer['name']}: {keys}: its own above λ = 0, the layer below's at 0")


def _show_report(report: DeltaReport, out: Path) -> None:
    typer.echo(f"{out}: {report.bytes:,} bytes, {report.bits_per_weight:.2f} bits per weight")
    typer.echo(f"relative error of the delta: {report.relative_error:.4f}; largest by tensor:")
    worst = sorted(report.tensors, key=lambda tensor: -tensor.relative_error)[:_WORST_SHOWN]
    for tensor in worst:
        typer.echo(f"  {tensor.relative_error:.4f}  {tensor.name}")
