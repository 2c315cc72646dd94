"""An opened checkpoint: its card, tokenizer and weights.

Combines base or parent, delta and card; other modules open them and read the file formats.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from thisthat.checkpoint.byte_weights import round_to_bytes
from thisthat.checkpoint.card import Card, LayerKind, Loop, card_as_json
from thisthat.checkpoint.delta import Delta, apply_delta
from thisthat.checkpoint.gguf_weights import GgufModel
from thisthat.checkpoint.model import Model, Weights
from thisthat.checkpoint.word_cache import WordCache, cuts_words
from thisthat.cpus import usable_cores
from thisthat.prompt_format import PromptFormat
from thisthat.temperature import Blended

SWITCHED = (
    "prompt",
    "layout",
    "layouts",
    "limits",
    "loop",
    "byte_weights",
    "byte_activations",
)
"""What cannot move with lambda: a parent's at lambda 0, the card's own above."""

_LONG = 4_096
_MANY_CORES = 8


@dataclass(frozen=True, slots=True)
class Layer:
    """One delta of a stack: the checkpoint that adds it, its lambda, its file and its hash."""

    name: str
    version: str
    kind: LayerKind
    lam: float
    path: Path
    sha256: str


class Checkpoint:
    """A card, what is below it (a base or a parent), and lambda times a delta on top.

    ``ref`` is what it was opened by: a shipped name, a Hub id or an absolute path. Weights are read
    on demand and not kept; the tokenizer is kept.
    """

    def __init__(
        self,
        ref: str,
        card: Card,
        model: Model,
        folder: Path,
        lam: float,
        *,
        delta: Delta | None = None,
        parent: Checkpoint | None = None,
    ) -> None:
        self.ref = ref
        self.card = card
        self.lam = lam
        self.folder = folder
        self.parent = parent
        self.model = model
        self._delta = delta

    @property
    def root(self) -> Checkpoint:
        """The checkpoint at the bottom of the stack, whose card names the base."""
        return self if self.parent is None else self.parent.root

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The deltas of the stack from bottom to top, those at lambda 0 included.

        Heads that go with weights are a layer after them.
        """
        below = () if self.parent is None else self.parent.layers
        delta, card = self.card.delta, self.card
        if delta is None:
            return below
        files = [(delta.kind, delta.file, delta.sha256)]
        if delta.heads is not None:
            files.append(("heads", delta.heads.file, delta.heads.sha256))
        own = (
            Layer(card.name, card.version, kind, self.lam, self.folder / file, digest)
            for kind, file, digest in files
        )
        return (*below, *own)

    @property
    def heads(self) -> list[tuple[Path, float]]:
        """The files of heads that add to the logits, each with its lambda, from bottom to top.

        None of them has lambda 0.
        """
        return [(each.path, each.lam) for each in self._in_use if each.kind == "heads"]

    @property
    def _in_use(self) -> tuple[Layer, ...]:
        return tuple(layer for layer in self.layers if layer.lam > 0)

    @property
    def config(self) -> dict[str, Any]:
        """The model's configuration with the keys of a Hugging Face ``config.json``."""
        return self.model.config

    @property
    def chat_template(self) -> str | None:
        """The Jinja template of the model's conversations, if it has one."""
        return self.model.chat_template

    @property
    def special_tokens(self) -> Mapping[str, str]:
        """Texts of the tokens that the chat template may name."""
        return self.model.special_tokens

    @property
    def model_folder(self) -> Path:
        """The folder of the base model's own files; ``folder`` is where the card is."""
        return self.model.folder

    @property
    def gguf_file(self) -> Path | None:
        """The GGUF file the base is read from, if it is one."""
        return self.model.path if isinstance(self.model, GgufModel) else None

    @property
    def released(self) -> date:
        """The card's date; without one, the day the weights were last written here."""
        if self.card.released is not None:
            return self.card.released
        files = [*self.model.files, *(layer.path for layer in self.layers)]
        newest = max(path.stat().st_mtime for path in files)
        return datetime.fromtimestamp(newest, timezone.utc).date()

    def at(self, lam: float) -> Checkpoint:
        """This checkpoint with another lambda of its own; the files are not opened again."""
        other = Checkpoint(
            self.ref, self.card, self.model, self.folder, lam, delta=self._delta, parent=self.parent
        )
        other.tokenizer = self.tokenizer
        return other

    def base_alone(self) -> Checkpoint:
        """The base as a checkpoint of its own: no delta, no repeated layers."""
        if self.parent is not None:
            return self.parent.base_alone()
        form = replace(self.card.prompt, open_state=False)
        card = replace(self.card, delta=None, lam=0.0, loop=None, prompt=form)
        return Checkpoint(self.ref, card, self.model, self.folder, 0.0)

    @cached_property
    def in_force(self) -> Card:
        """The card as it holds at this lambda.

        With a parent, lambda 0 is the parent: how it reads, its temperatures, its numeric form.
        Above, temperatures move with lambda (see ``Blended``) and the rest is the card's own. On a
        base, lambda 0 reads a state as the base reads any text, each token seeing those before it,
        runs layers once and rounds nothing; the temperatures stay.
        """
        card = self.card
        if self.parent is None:
            if card.delta is not None and self.lam > 0:
                return card
            card = replace(card, byte_weights=False, byte_activations=False)
            if card.delta is None:
                return card
            return replace(card, loop=None, prompt=replace(card.prompt, open_state=False))
        below = self.parent.in_force
        if self.lam == 0:
            held = {name: getattr(below, name) for name in SWITCHED}
            return replace(card, temperatures=below.temperatures, **held)
        if self.lam == 1:
            return card
        moved = Blended(first=below.temperatures, second=card.temperatures, share=self.lam)
        return replace(card, temperatures=moved)

    @property
    def prompt(self) -> PromptFormat:
        """The prompt format in force."""
        return self.in_force.prompt

    @property
    def loop(self) -> Loop | None:
        """The layers that run more than once, if any do."""
        return self.in_force.loop

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer; text that looks like a special token is plain text to it."""
        tokenizer = self.model.tokenizer()
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
        ids: list[int] = self.model.tokenizer().encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of token ids, with special tokens shown."""
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=False)
        return text

    def base_weights(self) -> Weights:
        """The tensors of the base alone, in float32."""
        return self.model.weights()

    def weights(self) -> Weights:
        """The tensors in float32: lambda times the delta added to those of the base or parent.

        At lambda 0 they are those of the base or parent, bit for bit. If the card says
        ``byte_weights``, linear layers are rounded to eight bits. Raises CheckpointError naming a
        missing or misshapen tensor.
        """
        below = self.base_weights() if self.parent is None else self.parent.weights()
        if self._delta is None or self.lam == 0:
            return below
        moved = apply_delta(below, self._delta, self.lam)
        return round_to_bytes(moved) if self.has_byte_weights else moved

    @property
    def has_byte_weights(self) -> bool:
        """True when eight bits hold the linear layers exactly; the base alone is never rounded."""
        return self.in_force.byte_weights

    @property
    def has_byte_activations(self) -> bool:
        """True when the delta was trained with eight-bit activations; the base never was."""
        return self.in_force.byte_activations

    @cached_property
    def base_sha256(self) -> str:
        """The hash of the files the base is read from."""
        return self.model.sha256()

    @cached_property
    def weights_sha256(self) -> str:
        """A hash of the base and of every delta that is not at lambda 0.

        Names and cards do not count, nor does this checkpoint's own lambda; those below it do. All
        hashes were checked on opening or are remembered by the store.
        """
        below = self.base_sha256 if self.parent is None else self.parent.weights_sha256
        if self.card.delta is None or self.lam == 0:
            return below
        between = "" if self.parent is None else f"{self.parent.lam!r} "
        return hashlib.sha256(f"{below} {between}{self.card.delta.sha256}".encode()).hexdigest()

    @cached_property
    def identity(self) -> str:
        """A hash of all that answers depend on, by which a card on top of this one names it.

        That is the base, every delta that is not at lambda 0, its lambda, and the card in force;
        names, versions, dates and provenance do not count.
        """
        card = self.in_force
        settings = {name: getattr(card, name) for name in ("layout", "layouts")}
        for name in ("prompt", "limits", "loop", "temperatures"):
            value = getattr(card, name)
            settings[name] = None if value is None else asdict(value)
        # A setting that a later version adds does not count until it is used.
        settings["prompt"] = {key: on for key, on in settings["prompt"].items() if on}
        parts = {
            "base": self.base_sha256,
            "layers": [[layer.kind, layer.sha256, layer.lam] for layer in self._in_use],
            "byte": [card.byte_weights, card.byte_activations],
            **settings,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @cached_property
    def fingerprint(self) -> str:
        """A hash that names what is built from the weights, such as runtime forms.

        Where a parent's weights are used as they are, so is what was built from them.
        """
        if self.parent is not None and (self._delta is None or self.lam == 0):
            return self.parent.fingerprint
        parts = {
            "base": self.base_sha256 if self.parent is None else self.parent.fingerprint,
            "delta": None if self.card.delta is None else self.card.delta.sha256,
            "lambda": self.lam,
            # Nothing that is built depends on the date.
            "card": card_as_json(replace(self.card, released=None)),
            "config": self.config,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


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
        "identity": checkpoint.identity,
        "stack": [
            f"{layer.name} {layer.version}, {layer.kind}, λ = {layer.lam:g}"
            for layer in checkpoint.layers
        ],
        "base_sha256": checkpoint.base_sha256,
        "folder": str(checkpoint.folder),
        "model_folder": str(checkpoint.model_folder),
        "architecture": config.get("model_type"),
        "layers": sizes.get("num_hidden_layers"),
        "hidden_size": sizes.get("hidden_size"),
        "vocabulary": checkpoint.tokenizer.get_vocab_size(),
        "card": card_as_json(checkpoint.card),
    }
