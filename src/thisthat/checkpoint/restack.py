"""Moves deltas between stacks: on another parent, or a whole stack as one delta on its base."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from thisthat.checkpoint.card import Card, card_as_json
from thisthat.checkpoint.checkpoint import Checkpoint
from thisthat.checkpoint.delta import Delta, check_fits, rebase_delta
from thisthat.checkpoint.opening import open_checkpoint, topmost_delta
from thisthat.checkpoint.packing import DeltaReport
from thisthat.checkpoint.ship import DELTA_FILE, HEADS_FILE, marked, ship_delta, write_layer_card
from thisthat.errors import CheckpointError
from thisthat.files import new_folder


def restack(ref: str | Path, parent: Checkpoint, folder: Path) -> Checkpoint:
    """Write the topmost delta of a checkpoint into the new ``folder`` on another parent.

    Raises CheckpointError for a tensor that the parent lacks or has in another shape,
    InvalidInputError without a delta, FileExistsError for a folder that holds something.
    """
    card, path = topmost_delta(ref)
    kind = "weights" if card.delta is None else card.delta.kind
    with new_folder(folder) as made:
        if kind == "heads":
            shutil.copyfile(path, made / HEADS_FILE)
        else:
            check_fits(parent.weights(), Delta(path))
            rebase_delta(path, made / DELTA_FILE, parent.identity)
            if card.delta is not None and card.delta.heads is not None:
                shutil.copyfile(path.with_name(card.delta.heads.file), made / HEADS_FILE)
        named = replace(card, name=folder.resolve().name)
        write_layer_card(parent, made, folder, named, kind)
    return open_checkpoint(folder)


def flatten(
    checkpoint: Checkpoint,
    folder: Path,
    *,
    bits: float | None = None,
    target_bytes: int | None = None,
    rank: int | None = None,
) -> DeltaReport:
    """Write ``checkpoint`` as it is into the new ``folder`` as one delta on its base, lambda 1.

    Raises CheckpointError for heads, which are no weights, and as ``ship_delta``.
    """
    refuse_heads(checkpoint)
    names = [f"{layer.name} {layer.version}, λ = {layer.lam:g}" for layer in checkpoint.layers]
    mark = "flat" if checkpoint.lam == 1 else f"flat.{checkpoint.lam:g}"
    card = replace(
        checkpoint.in_force,
        name=folder.resolve().name,
        version=marked(checkpoint.card.version, mark),
        provenance={**checkpoint.card.provenance, "flattened": names},
    )
    with new_folder(folder) as made:
        return ship_delta(
            checkpoint,
            checkpoint.weights(),
            made,
            card,
            bits=bits,
            target_bytes=target_bytes,
            rank=rank,
        )


def refuse_heads(checkpoint: Checkpoint) -> None:
    """Raises CheckpointError for a checkpoint whose weights alone do not answer as it does."""
    for path, _ in checkpoint.heads:
        raise CheckpointError(f"{path}: heads cannot become weights; take the checkpoint below")


def describe_stack(checkpoint: Checkpoint) -> dict[str, Any]:
    """The layers from bottom to top: names, lambdas, hashes, sizes and how many tensors change."""
    at: Checkpoint | None = checkpoint
    cards: list[Card] = []
    while at is not None:
        delta = at.card.delta
        cards += [at.card] * (2 if delta is not None and delta.heads is not None else 1)
        at = at.parent
    layers = []
    for layer, card in zip(reversed(checkpoint.layers), cards, strict=False):
        entries = Delta(layer.path).entries.values() if layer.kind == "weights" else None
        layers.append(
            {
                "name": layer.name,
                "version": layer.version,
                "kind": layer.kind,
                "lambda": layer.lam,
                "sha256": layer.sha256,
                "bytes": layer.path.stat().st_size,
                "tensors": None if entries is None else len(entries),
                "changed": None
                if entries is None
                else sum(entry.storage != "zero" for entry in entries),
                "switches": [] if card.parent is None else list(card.parent.switches),
            }
        )
    return {
        "base_sha256": checkpoint.base_sha256,
        "base": card_as_json(checkpoint.root.card)["base"],
        "identity": checkpoint.identity,
        "layers": layers[::-1],
    }
