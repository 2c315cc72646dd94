"""Opens a checkpoint from whatever a user names: its card, tokenizer and weights.

Combines base, delta and card; other modules read the file formats.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from thisthat.checkpoint.byte_weights import round_to_bytes
from thisthat.checkpoint.card import (
    CARD_FILE,
    Card,
    HubBase,
    Loop,
    PathBase,
    card_as_json,
    read_card,
)
from thisthat.checkpoint.delta import Delta, apply_delta, check_lambda
from thisthat.checkpoint.fetch import fetch_base
from thisthat.checkpoint.foreign_cards import card_for
from thisthat.checkpoint.gguf_weights import GgufModel
from thisthat.checkpoint.model import Model, Weights
from thisthat.checkpoint.safetensors_weights import SafetensorsModel, hub_folder
from thisthat.checkpoint.store import sha256_of
from thisthat.checkpoint.word_cache import WordCache, cuts_words
from thisthat.cpus import usable_cores
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.prompt_format import PromptFormat

DEFAULT = "default"
_LONG = 4_096
_MANY_CORES = 8
_DEFAULT_FOLDER = Path(__file__).parent / "default"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.\-]*/[\w.\-]+")


class Checkpoint:
    """An opened checkpoint: a card, a base, and lambda times a delta on top of it.

    Weights are read on demand and not kept; the tokenizer is kept.
    """

    def __init__(self, card: Card, model: Model, folder: Path, lam: float, delta: Delta | None):
        self.card = card
        self.lam = lam
        self.folder = folder
        self._model = model
        self._delta = delta

    @property
    def config(self) -> dict[str, Any]:
        """The model's configuration with the keys of a Hugging Face ``config.json``."""
        return self._model.config

    @property
    def chat_template(self) -> str | None:
        """The Jinja template of the model's conversations, if it has one."""
        return self._model.chat_template

    @property
    def model_folder(self) -> Path:
        """The folder of the base model's own files; ``folder`` is where the card is."""
        return self._model.folder

    @property
    def gguf_file(self) -> Path | None:
        """The GGUF file the base is read from, if it is one."""
        return self._model.path if isinstance(self._model, GgufModel) else None

    @property
    def released(self) -> date:
        """The card's date; without one, the day the weights were last written here."""
        if self.card.released is not None:
            return self.card.released
        files = list(self._model.files)
        if self.card.delta is not None:
            files.append(self.folder / self.card.delta.file)
        newest = max(path.stat().st_mtime for path in files)
        return datetime.fromtimestamp(newest, timezone.utc).date()

    def base_alone(self) -> Checkpoint:
        """The base as a checkpoint of its own: no delta, no repeated layers."""
        form = replace(self.card.prompt, open_state=False)
        card = replace(self.card, delta=None, lam=0.0, loop=None, prompt=form)
        return Checkpoint(card, self._model, self.folder, 0.0, None)

    @property
    def prompt(self) -> PromptFormat:
        """The prompt format in force; at lambda 0, without what the delta taught beyond wording.

        At lambda 0 a state is read as the base reads any text, each token seeing those before it.
        """
        form = self.card.prompt
        return replace(form, open_state=False) if self._turned_off else form

    @property
    def loop(self) -> Loop | None:
        """The layers that run more than once; none at lambda 0, as in the base."""
        return None if self._turned_off else self.card.loop

    @property
    def _turned_off(self) -> bool:
        return self._delta is not None and self.lam == 0

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer; text that looks like a special token is plain text to it."""
        tokenizer = self._model.tokenizer()
        tokenizer.encode_special_tokens = True
        return tokenizer

    def encode(self, text: str) -> list[int]:
        """The token ids of ``text``; no special tokens are added and none can be smuggled in."""
        if self._words is not None:
            return self._words(text)
        return self._encode_whole(text)

    @cached_property
    def _words(self) -> WordCache | None:
        return WordCache(self._encode_whole) if cuts_words(self.tokenizer) else None

    @cached_property
    def _one_by_one(self) -> bool:
        """Whether the word cache beats the tokenizer's own threads on many texts."""
        return self._words is not None and usable_cores() < _MANY_CORES

    def _encode_whole(self, text: str) -> list[int]:
        if len(text) > _LONG and self.tokenizer.padding is None:
            # Only batch encoding lets other threads run meanwhile.
            (whole,) = self.tokenizer.encode_batch_fast([text], add_special_tokens=False)
        else:
            whole = self.tokenizer.encode(text, add_special_tokens=False)
        ids: list[int] = whole.ids
        return ids

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """The result of ``encode`` for each text, faster for many."""
        if self._one_by_one or self.tokenizer.padding is not None:
            return [self.encode(text) for text in texts]
        encoded = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [each.ids for each in encoded]

    def encode_template(self, text: str) -> list[int]:
        """The token ids of a piece of chat template; special tokens in it are special."""
        ids: list[int] = self._model.tokenizer().encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of token ids, with special tokens shown."""
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=False)
        return text

    def base_weights(self) -> Weights:
        """The tensors of the base alone, in float32."""
        return self._model.weights()

    def weights(self) -> Weights:
        """The tensors base + lambda * delta in float32; at lambda 0 those of the base, bit for bit.

        If the card says ``byte_weights``, linear layers are rounded to eight bits. Raises
        CheckpointError naming a missing or misshapen tensor.
        """
        weights = self.base_weights()
        if self._delta is None or self.lam == 0:
            return weights
        moved = apply_delta(weights, self._delta, self.lam)
        return round_to_bytes(moved) if self.has_byte_weights else moved

    @property
    def has_byte_weights(self) -> bool:
        """True when eight bits hold the linear layers exactly; the base alone is never rounded."""
        return self.card.byte_weights and self._delta is not None and self.lam != 0

    @property
    def has_byte_activations(self) -> bool:
        """True when the delta was trained with eight-bit activations; the base never was."""
        return self.card.byte_activations and self._delta is not None and self.lam != 0

    @cached_property
    def base_sha256(self) -> str:
        """The hash of the files the base is read from."""
        return self._model.sha256()

    @cached_property
    def weights_sha256(self) -> str:
        """A hash of the base and, unless lambda is 0, of the delta; names and cards do not count.

        Both hashes were checked on opening or are remembered by the store.
        """
        if self.card.delta is None or self.lam == 0:
            return self.base_sha256
        both = f"{self.base_sha256} {self.card.delta.sha256}"
        return hashlib.sha256(both.encode()).hexdigest()

    @cached_property
    def fingerprint(self) -> str:
        """A hash of base, delta, lambda, card and configuration; names what is built from them."""
        parts = {
            "base": self.base_sha256,
            "delta": None if self.card.delta is None else self.card.delta.sha256,
            "lambda": self.lam,
            # Nothing that is built depends on the date.
            "card": card_as_json(replace(self.card, released=None)),
            "config": self.config,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def open_checkpoint(ref: str | Path = DEFAULT, lam: float | None = None) -> Checkpoint:
    """Open ``"default"``, a folder (with or without a card), a GGUF file or a Hub id.

    ``lam`` replaces the card's lambda. Raises InvalidInputError for a lambda outside [0, 1] or
    above 0 without a delta, CheckpointError for anything wrong with the files, FetchError when
    something cannot be fetched.
    """
    if ref == DEFAULT:
        return _open_carded(_DEFAULT_FOLDER, lam)
    path = Path(ref).expanduser()
    if path.is_dir():
        if (path / CARD_FILE).is_file():
            return _open_carded(path, lam)
        return _open_plain(str(path.resolve()), SafetensorsModel(path), PathBase("."), lam)
    if path.is_file():
        if path.suffix != ".gguf":
            raise CheckpointError(f"{path}: only folders and .gguf files are opened")
        return _open_plain(str(path.resolve()), GgufModel(path), PathBase(path.name), lam)
    if isinstance(ref, str) and _HUB_ID.fullmatch(ref):
        folder = hub_folder(ref)
        if (folder / CARD_FILE).is_file():
            return _open_carded(folder, lam)
        return _open_plain(ref, SafetensorsModel(folder), HubBase(ref), lam)
    raise CheckpointError(
        f'{ref}: is neither "{DEFAULT}", a folder, a .gguf file nor a Hub id such as owner/name'
    )


def _open_carded(folder: Path, lam: float | None) -> Checkpoint:
    card = read_card(folder / CARD_FILE)
    chosen = _checked_lambda(card, lam)
    model = _base_model(card, folder)
    delta = None
    if card.delta is not None:
        path = folder / card.delta.file
        if not path.is_file():
            raise CheckpointError(f"{folder}: the delta {card.delta.file} is missing")
        found = sha256_of(path)
        if found != card.delta.sha256:
            raise CheckpointError(
                f"{path}: has the sha256 {found}, the card says {card.delta.sha256}"
            )
        delta = Delta(path)
        delta.check_base(model.sha256())
    return Checkpoint(card, model, folder, chosen, delta)


def _open_plain(ref: str, model: Model, base: PathBase | HubBase, lam: float | None) -> Checkpoint:
    card = card_for(ref, base, model.folder, model.config)
    return Checkpoint(card, model, model.folder, _checked_lambda(card, lam), None)


def _base_model(card: Card, folder: Path) -> Model:
    base = card.base
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


def describe(checkpoint: Checkpoint) -> dict[str, Any]:
    """What ``thisthat info`` shows: the card, the lambda in use, the size, the folders."""
    config = checkpoint.config
    text = config.get("text_config")
    sizes = {**(text if isinstance(text, dict) else {}), **config}
    return {
        "name": checkpoint.card.name,
        "version": checkpoint.card.version,
        "lambda": checkpoint.lam,
        "fingerprint": checkpoint.fingerprint,
        "base_sha256": checkpoint.base_sha256,
        "folder": str(checkpoint.folder),
        "model_folder": str(checkpoint.model_folder),
        "architecture": config.get("model_type"),
        "layers": sizes.get("num_hidden_layers"),
        "hidden_size": sizes.get("hidden_size"),
        "vocabulary": checkpoint.tokenizer.get_vocab_size(),
        "card": card_as_json(checkpoint.card),
    }
