"""Opens a checkpoint from whatever a user names, its parents included, and verifies every hash."""

from __future__ import annotations

import re
from pathlib import Path

from thisthat.checkpoint.card import (
    CARD_FILE,
    Card,
    DeltaReference,
    HeadsReference,
    HubBase,
    Parent,
    PathBase,
    WheelBase,
    read_card,
)
from thisthat.checkpoint.checkpoint import SWITCHED, Checkpoint
from thisthat.checkpoint.delta import Delta, check_lambda
from thisthat.checkpoint.fetch import fetch_base
from thisthat.checkpoint.foreign_cards import card_for
from thisthat.checkpoint.gguf_weights import GgufModel
from thisthat.checkpoint.model import Model
from thisthat.checkpoint.safetensors_weights import SafetensorsModel, hub_folder
from thisthat.checkpoint.store import sha256_of
from thisthat.errors import CheckpointError, InvalidInputError

DEFAULT = "default"
MOST_LAYERS = 16
SHIPPED = {card.parent.name: card.parent for card in Path(__file__).parent.glob(f"*/{CARD_FILE}")}
"""The checkpoints inside this package: their folders by the names that open them."""

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.\-]*/[\w.\-]+")
_PATH_STARTS = ("./", "../", "/", "~")


def open_checkpoint(ref: str | Path = DEFAULT, lam: float | None = None) -> Checkpoint:
    """Open "default", "large", a folder with a card or without, a GGUF file or a Hub id.

    ``lam`` replaces the card's lambda. Raises InvalidInputError for a lambda outside [0, 1] or
    above 0 without a delta, CheckpointError for anything wrong with the files or those of a
    parent, FetchError when something cannot be fetched.
    """
    return _open(ref, lam, MOST_LAYERS)


def _open(ref: str | Path, lam: float | None, left: int) -> Checkpoint:
    shipped = _shipped(ref)
    if shipped is not None:
        return _open_carded(str(ref), shipped, lam, left)
    path = Path(ref).expanduser()
    if path.is_dir():
        if (path / CARD_FILE).is_file():
            return _open_carded(str(path.resolve()), path, lam, left)
        if not (path / "config.json").is_file():
            raise CheckpointError(f"{path}: has neither {CARD_FILE} nor config.json")
        return _open_plain(str(path.resolve()), SafetensorsModel(path), PathBase("."), lam)
    if path.is_file():
        if path.suffix != ".gguf":
            raise CheckpointError(f"{path}: only folders and .gguf files are opened")
        return _open_plain(str(path.resolve()), GgufModel(path), PathBase(path.name), lam)
    if isinstance(ref, str) and _HUB_ID.fullmatch(ref):
        folder = hub_folder(ref)
        if (folder / CARD_FILE).is_file():
            return _open_carded(ref, folder, lam, left)
        return _open_plain(ref, SafetensorsModel(folder), HubBase(ref), lam)
    if not isinstance(ref, str) or ref.startswith(_PATH_STARTS) or ref.endswith("/"):
        raise CheckpointError(f"there is no {'file' if path.suffix == '.gguf' else 'folder'} {ref}")
    names = ", ".join(f'"{name}"' for name in sorted(SHIPPED))
    raise CheckpointError(
        f"{ref}: is neither {names}, a folder, a .gguf file nor a Hub id such as owner/name"
    )


def _shipped(ref: str | Path) -> Path | None:
    return SHIPPED.get(ref) if isinstance(ref, str) else None


def _open_carded(ref: str, folder: Path, lam: float | None, left: int) -> Checkpoint:
    card = read_card(folder / CARD_FILE)
    chosen = _checked_lambda(card, lam)
    if isinstance(card.base, Parent):
        parent = _open_parent(card.base, folder, left)
        _check_switches(card, card.base, parent, folder)
        delta = _delta(card, folder, parent.identity)
        return Checkpoint(ref, card, parent.model, folder, chosen, delta=delta, parent=parent)
    model = _base_model(card.base, folder)
    delta = None if card.delta is None else _delta(card, folder, model.sha256())
    return Checkpoint(ref, card, model, folder, chosen, delta=delta)


def topmost_delta(ref: str | Path) -> tuple[Card, Path]:
    """The card and the verified delta file of a checkpoint, whether or not its parent is there.

    Raises InvalidInputError for a checkpoint without a delta, CheckpointError for a wrong hash.
    """
    path = _shipped(ref) or Path(ref).expanduser()
    if not path.exists() and isinstance(ref, str) and _HUB_ID.fullmatch(ref):
        path = hub_folder(ref)
    card = read_card(path / CARD_FILE) if (path / CARD_FILE).is_file() else None
    if card is None or card.delta is None:
        raise InvalidInputError("checkpoint", f"{ref} has no delta of its own")
    return card, _verified(card.delta, path)


def _delta(card: Card, folder: Path, below: str) -> Delta | None:
    """The verified delta of weights; None without one, or for heads, which are verified alike."""
    if card.delta is None:
        return None
    path = _verified(card.delta, folder)
    if card.delta.kind == "heads":
        return None
    delta = Delta(path)
    delta.check_base(below)
    return delta


def _verified(delta: DeltaReference, folder: Path) -> Path:
    """The delta's file; it and the heads that go with it are what the card says."""
    if delta.heads is not None:
        _delta_file(delta.heads, folder)
    return _delta_file(delta, folder)


def _delta_file(delta: DeltaReference | HeadsReference, folder: Path) -> Path:
    path = folder / delta.file
    if not path.is_file():
        raise CheckpointError(f"{folder}: the delta {delta.file} is missing")
    found = sha256_of(path)
    if found != delta.sha256:
        raise CheckpointError(f"{path}: has the sha256 {found}, the card says {delta.sha256}")
    return path


def _open_parent(named: Parent, folder: Path, left: int) -> Checkpoint:
    """The parent that a card in ``folder`` names. Raises CheckpointError if it is another one."""
    where = f"{folder / CARD_FILE}: parent"
    if left == 1:
        raise CheckpointError(f"{where}: the stack has more than {MOST_LAYERS} layers")
    ref = named.ref
    if ref not in SHIPPED and not _HUB_ID.fullmatch(ref):
        ref = str((folder / ref).resolve())
        if not Path(ref).exists():
            raise CheckpointError(
                f"{where}: {named.name} {named.version} is missing; it was expected in {ref}"
            )
    found = _open(ref, named.lam, left - 1)
    if found.identity != named.sha256:
        raise CheckpointError(
            f"{where}: needs {named.name} {named.version} with the sha256 {named.sha256}, but "
            f"{ref} is {found.card.name} {found.card.version} with {found.identity}; restore that "
            "one, or put the delta on this one with `thisthat delta stack`"
        )
    return found


def switches(card: Card, parent: Checkpoint) -> tuple[str, ...]:
    """The keys that are the parent's at lambda 0 and another value, the card's, above."""
    below = parent.in_force
    return tuple(name for name in SWITCHED if getattr(card, name) != getattr(below, name))


def _check_switches(card: Card, named: Parent, parent: Checkpoint, folder: Path) -> None:
    found = switches(card, parent)
    where = f"{folder / CARD_FILE}: parent: switches"
    if set(found) != set(named.switches):
        raise CheckpointError(
            f"{where}: is {sorted(named.switches)}, but the card differs from its parent in "
            f"{sorted(found)}"
        )
    if found and card.delta is not None and card.delta.kind == "heads":
        raise CheckpointError(f"{where}: heads cannot change {', '.join(found)} of their parent")


def _open_plain(ref: str, model: Model, base: PathBase | HubBase, lam: float | None) -> Checkpoint:
    card = card_for(ref, base, model.folder, model.config, model.chat_template is not None)
    return Checkpoint(ref, card, model, model.folder, _checked_lambda(card, lam))


def _base_model(base: WheelBase | PathBase | HubBase, folder: Path) -> Model:
    model: Model
    if isinstance(base, HubBase):
        model = SafetensorsModel(hub_folder(base.repository, base.revision))
    elif isinstance(base, PathBase):
        path = folder / base.path
        if not path.exists():
            raise CheckpointError(f"{folder / CARD_FILE}: the base {base.path} is missing")
        model = SafetensorsModel(path) if path.is_dir() else GgufModel(path)
    else:
        return GgufModel(fetch_base(base))
    if base.sha256 is not None and model.sha256() != base.sha256:
        raise CheckpointError(
            f"{model.folder}: the base has the sha256 {model.sha256()}, the card says {base.sha256}"
        )
    return model


def _checked_lambda(card: Card, lam: float | None) -> float:
    if lam is None:
        return card.lam
    check_lambda(lam)
    if card.delta is None and lam != 0:
        raise InvalidInputError(
            "lambda", f"is {lam}, but {card.name} is a base without a delta; only 0 is possible"
        )
    return float(lam)
