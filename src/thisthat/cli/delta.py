"""``thisthat delta``: make, apply and inspect the difference of a trained model from its base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from thisthat.checkpoint.delta import DeltaReport

app = typer.Typer(
    no_args_is_help=True,
    help="Make, apply and inspect deltas: trained weights minus base weights.",
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
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Write a checkpoint folder that is the base plus one delta, and report its cost."""
    from dataclasses import asdict, replace

    from thisthat.checkpoint import open_checkpoint
    from thisthat.checkpoint.card import CARD_FILE
    from thisthat.checkpoint.ship import ship_delta

    start, end = open_checkpoint(base), open_checkpoint(trained)
    has_card = (end.folder / CARD_FILE).is_file()
    card = end.card
    if not has_card:
        # Trained elsewhere: causal states, layers run once, activations not rounded.
        form = replace(start.card.prompt, open_state=False)
        name = out.resolve().name
        card = replace(start.card, name=name, prompt=form, loop=None, byte_activations=False)
    report = ship_delta(start, end.weights(), out, card, bits=bits, target_bytes=target_bytes)
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
    """Write base + lambda * delta as a whole model folder (safetensors) with a card."""
    from dataclasses import replace

    from thisthat.checkpoint import open_checkpoint
    from thisthat.checkpoint.byte_weights import round_to_bytes
    from thisthat.checkpoint.card import CARD_FILE, read_card
    from thisthat.checkpoint.delta import Delta, apply_delta
    from thisthat.checkpoint.ship import ship_whole

    start = open_checkpoint(base)
    opened = Delta(delta)
    opened.check_base(start.base_sha256)
    beside = delta.parent / CARD_FILE
    card = read_card(beside) if beside.is_file() else start.card
    if lam == 0:
        # The base never read an open state.
        card = replace(card, prompt=replace(card.prompt, open_state=False))
    weights = apply_delta(start.base_weights(), opened, lam)
    if card.byte_weights and lam:
        weights = round_to_bytes(weights)
    ship_whole(start, weights, out, card)
    typer.echo(f"{out}: base + {lam:g} * delta")


@app.command()
def inspect(
    delta: Annotated[Path, typer.Argument(help="Delta file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON with every tensor.")] = False,
) -> None:
    """Show what a delta file holds without applying it."""
    from thisthat.checkpoint.delta import inspect_delta

    facts = inspect_delta(delta)
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
        f"{kinds.count('exact')} exact, {kinds.count('zero')} unchanged"
    )


def _show_report(report: DeltaReport, out: Path) -> None:
    typer.echo(f"{out}: {report.bytes:,} bytes, {report.bits_per_weight:.2f} bits per weight")
    typer.echo(f"relative error of the delta: {report.relative_error:.4f}; largest by tensor:")
    worst = sorted(report.tensors, key=lambda tensor: -tensor.relative_error)[:_WORST_SHOWN]
    for tensor in worst:
        typer.echo(f"  {tensor.relative_error:.4f}  {tensor.name}")
