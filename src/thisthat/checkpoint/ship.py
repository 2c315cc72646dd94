"""Writes checkpoints that open everywhere: as a delta on a base, or as a whole model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from thisthat.checkpoint.card import (
    CARD_FILE,
    Base,
    Card,
    DeltaReference,
    PathBase,
    write_card,
)
from thisthat.checkpoint.checkpoint import Checkpoint
from thisthat.checkpoint.delta import DeltaReport, make_delta
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.safetensors_weights import write_model
from thisthat.checkpoint.store import hash_file

DELTA_FILE = "delta.safetensors"


def ship_delta(
    base: Checkpoint,
    trained: Weights,
    folder: Path,
    card: Card,
    *,
    bits: float | None = None,
    target_bytes: int | None = None,
) -> DeltaReport:
    """Write ``trained`` into ``folder`` as a card and a delta on the base of ``base``, lambda 1.

    ``card`` supplies everything else: name, version, prompt, temperatures; its release date is
    written later, by hand. Raises as ``make_delta``.
    """
    path = folder / DELTA_FILE
    report = make_delta(
        base.base_weights(),
        trained,
        path,
        base_sha256=base.base_sha256,
        bits=bits,
        target_bytes=target_bytes,
    )
    reference = DeltaReference(DELTA_FILE, hash_file(path))
    elsewhere = _base_from_elsewhere(base)
    shipped = replace(card, base=elsewhere, delta=reference, lam=1.0, released=None)
    write_card(shipped, folder / CARD_FILE)
    return report


def ship_whole(source: Checkpoint, weights: Weights, folder: Path, card: Card) -> None:
    """Write ``weights`` into ``folder`` as a whole model with the configuration of ``source``.

    The folder opens here with ``card``, without its date, and in transformers. Raises
    CheckpointError for tensors that do not fit the configuration, OSError when writing fails.
    """
    write_model(folder, weights, source.config, source.tokenizer, source.chat_template)
    shipped = replace(card, base=PathBase("."), delta=None, lam=0.0, released=None)
    write_card(shipped, folder / CARD_FILE)


def _base_from_elsewhere(base: Checkpoint) -> Base:
    """The base's reference relative to another folder, pinned by its hash."""
    reference = base.card.base
    if isinstance(reference, PathBase):
        path = (base.folder / reference.path).resolve()
        return PathBase(str(path), base.base_sha256)
    return replace(reference, sha256=base.base_sha256)
