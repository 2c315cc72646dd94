"""Writes checkpoints that open everywhere: on a parent, as a delta on a base, or whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from thisthat.checkpoint.card import (
    CARD_FILE,
    Base,
    Card,
    DeltaReference,
    HeadsReference,
    LayerKind,
    Parent,
    PathBase,
    write_card,
)
from thisthat.checkpoint.checkpoint import Checkpoint
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.opening import switches
from thisthat.checkpoint.packing import DeltaReport, make_delta
from thisthat.checkpoint.safetensors_weights import write_model
from thisthat.checkpoint.store import hash_file
from thisthat.errors import CheckpointError
from thisthat.files import new_folder, write_atomically

DELTA_FILE = "delta.safetensors"
HEADS_FILE = "heads.safetensors"


@contextmanager
def naming(folder: Path) -> Iterator[None]:
    """Raise CheckpointError with the folder's name where it cannot be written: a full disk, say."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be written: {error.strerror or error}") from error


def ship_taught(
    parent: Checkpoint,
    trained: Weights,
    folder: Path,
    card: Card,
    *,
    bits: float | None = None,
    target_bytes: int | None = None,
    rank: int | None = None,
    heads: bytes | None = None,
) -> DeltaReport:
    """Write ``trained`` into the new ``folder`` as a delta on ``parent`` as it is, at lambda 1.

    ``heads`` were fitted for these weights and move with them. ``card`` supplies what the parent
    does not: name, prompt, temperatures; the version is the parent's with a mark of the delta.
    Raises as ``make_delta``, and FileExistsError for a folder that holds something.
    """
    with new_folder(folder) as made:
        report = make_delta(
            parent.weights(),
            trained,
            made / DELTA_FILE,
            base_sha256=parent.identity,
            bits=bits,
            target_bytes=target_bytes,
            rank=rank,
        )
        if heads is not None:
            write_atomically(made / HEADS_FILE, heads)
        write_layer_card(parent, made, folder, card, "weights")
    return report


def ship_heads(parent: Checkpoint, heads: bytes, folder: Path, card: Card) -> None:
    """Write ``heads`` into the new ``folder`` as a layer on ``parent`` as it is, at lambda 1.

    ``card`` supplies name and temperatures; how the parent reads stays. Raises FileExistsError for
    a folder that holds something.
    """
    with new_folder(folder) as made:
        write_atomically(made / HEADS_FILE, heads)
        write_layer_card(parent, made, folder, card, "heads")


def write_layer_card(
    parent: Checkpoint, made: Path, folder: Path, card: Card, kind: LayerKind
) -> None:
    """Write the card of the layer whose files are in ``made``, which will be called ``folder``."""
    if kind == "heads":
        below = parent.in_force
        card = replace(
            below, name=card.name, temperatures=card.temperatures, provenance=card.provenance
        )
    file = DELTA_FILE if kind == "weights" else HEADS_FILE
    digest = hash_file(made / file)
    heads = None
    if kind == "weights" and (made / HEADS_FILE).exists():
        heads = HeadsReference(HEADS_FILE, hash_file(made / HEADS_FILE))
    under = parent.card.version
    reference = Parent(
        ref=_ref_from(parent, folder),
        name=parent.card.name,
        version=under,
        lam=parent.lam,
        sha256=parent.identity,
        switches=switches(card, parent),
    )
    shipped = replace(
        card,
        version=marked(under, digest[:8]),
        base=reference,
        delta=DeltaReference(file, digest, kind, heads),
        lam=1.0,
        released=None,
    )
    write_card(shipped, made / CARD_FILE)


def marked(version: str, mark: str) -> str:
    """The version with a local label, one after another: 1.0, 1.0+a, 1.0+a.b."""
    return f"{version}{'.' if '+' in version else '+'}{mark}"


def _ref_from(parent: Checkpoint, folder: Path) -> str:
    """How a card in ``folder`` names its parent: paths relative, if they can be."""
    path = Path(parent.ref)
    if not path.is_absolute():
        return parent.ref
    try:
        return Path(os.path.relpath(path, folder.resolve())).as_posix()
    except ValueError:  # On Windows, another drive.
        return path.as_posix()


def ship_delta(
    base: Checkpoint,
    trained: Weights,
    folder: Path,
    card: Card,
    *,
    bits: float | None = None,
    target_bytes: int | None = None,
    rank: int | None = None,
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
        rank=rank,
    )
    reference = DeltaReference(DELTA_FILE, hash_file(path))
    elsewhere = _base_from_elsewhere(base.root)
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
