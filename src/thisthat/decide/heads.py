"""Taught heads: what labels moved an answer by, on top of what the checkpoint itself says.

A head belongs to one question, found by its wording and options whatever their order. It adds
``lambda * head`` to the logarithms of the answer's probabilities, where the head is linear in the
engine's hidden states and the state's words; heads of other questions are not looked at. Reads and
writes ``heads.safetensors``; ``thisthat.teach`` fits them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from thisthat.checkpoint.safetensors_file import safetensors_bytes
from thisthat.decide.words import word_counts
from thisthat.engine.rows import Hidden, Tokens
from thisthat.errors import CheckpointError
from thisthat.questions import Choice, Question
from thisthat.temperature import softmax

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Halves = NDArray[np.float16]

SMALLEST = 1e-30
"""Probabilities are clipped here before their logarithm is taken."""

_FORMAT = "thisthat heads of words, pairs and pieces"
_TENSORS = ("bias", "centre", "spread", "weights", "rarity", "word_weights")


def question_key(question: Question) -> str:
    """A hash of a question's wording and options; the order of a choice's options is left out."""
    options = [[option.name, option.description] for option in question.declared]
    if isinstance(question, Choice):
        options.sort(key=lambda option: str(option[0]))
    abstain = None if question.abstain is None else question.abstain.name
    said = json.dumps(
        [question.kind, question.instructions, options, abstain], sort_keys=True, ensure_ascii=False
    )
    return hashlib.sha256(said.encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Head:
    """One question's head. Its rows are the options of ``names``, in that order.

    Hidden states after ``layers``, of ``readouts`` (places in ``features.READOUTS``), are taken
    less ``centre``, over ``spread`` and to length 1; words as counts in buckets, times ``rarity``
    and to length 1. Either may be empty.
    """

    names: tuple[str, ...]
    layers: tuple[int, ...]
    readouts: tuple[int, ...]
    scale: float
    bias: Singles
    centre: Singles
    spread: Singles
    weights: Halves
    rarity: Halves
    word_weights: Halves

    def shift(self, logs: Floats, features: Hidden | None, text: str) -> Floats:
        """What to add to the logarithms of an answer's probabilities, in the order of ``names``.

        ``features`` are those after ``self.layers``: [layers, 3, width].
        """
        found: Floats = (self.scale - 1) * logs + self.bias
        if features is not None and self.weights.size:
            inputs = standard(features[:, self.readouts], self.centre, self.spread)
            found += self.weights.astype(np.float32) @ inputs
        if self.word_weights.size:
            places, counts = word_counts(text, self.rarity.size)
            counts = counts * self.rarity[places]
            length = float(np.linalg.norm(counts)) or 1.0
            found += self.word_weights[:, places].astype(np.float32) @ (counts / length)
        return found


def standard(features: Singles, centre: Singles, spread: Singles) -> Singles:
    """Features [..., layers, readouts, width] as vectors of length 1."""
    flat = (features.reshape(*features.shape[:-3], -1) - centre) / spread
    length = np.linalg.norm(flat, axis=-1, keepdims=True)
    return (flat / np.where(length > 0, length, 1)).astype(np.float32)


@dataclass(frozen=True)
class Heads:
    """The heads in force: of every layer its lambda and heads by question key, bottom to top."""

    stack: tuple[tuple[float, Mapping[str, Head]], ...]
    decode: Callable[[Sequence[int]], str]

    def knows(self, question: Question) -> bool:
        """Whether any head is this question's."""
        key = question_key(question)
        return any(key in heads for _, heads in self.stack)

    def unknown(self, questions: Mapping[str, Question]) -> list[str]:
        """The names of the questions that no head is for: a word may be off."""
        return [name for name, question in questions.items() if not self.knows(question)]

    def layers_for(self, questions: Iterable[Question]) -> tuple[int, ...]:
        """The layers whose hidden states the questions' heads read, in ascending order."""
        keys = [question_key(question) for question in questions]
        found = {
            layer
            for _, heads in self.stack
            for k in keys
            if k in heads
            for layer in heads[k].layers
        }
        return tuple(sorted(found))

    def moved(
        self,
        question: Question,
        probabilities: Floats,
        features: Hidden | None,
        layers: Sequence[int],
        state: Tokens,
    ) -> Floats:
        """The answer with every head of the question added, each scaled by its lambda.

        ``probabilities`` are in declared order; ``features`` [layers, 3, width] after ``layers``.
        """
        key, text = question_key(question), self.decode(state)
        names = [option.name for option in question.declared]
        logs = np.log(np.maximum(probabilities, SMALLEST))
        for lam, heads in self.stack:
            if key not in heads:
                continue
            head = heads[key]
            own = None
            if features is not None and head.layers:
                own = features[[layers.index(layer) for layer in head.layers]]
            order = [names.index(name) for name in head.names]
            moved = lam * head.shift(logs[order], own, text)
            logs = logs.copy()
            logs[order] += moved
        return softmax(logs)


def heads_as_bytes(heads: Mapping[str, Head]) -> bytes:
    """The content of ``heads.safetensors``."""
    tensors = {
        f"{number}.{name}": np.ascontiguousarray(getattr(head, name))
        for number, head in enumerate(heads.values())
        for name in _TENSORS
    }
    about = [
        {
            "key": key,
            "names": head.names,
            "layers": head.layers,
            "readouts": head.readouts,
            "scale": head.scale,
        }
        for key, head in heads.items()
    ]
    return safetensors_bytes(
        tensors, {"format": _FORMAT, "heads": json.dumps(about, ensure_ascii=False)}
    )


def read_heads(path: Path) -> dict[str, Head]:
    """The heads of a file, by question key. Raises CheckpointError for a file that is none."""
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != _FORMAT:
                raise ValueError("it was written by another version; teach again")
            about = json.loads(metadata["heads"])
            return {each["key"]: _head(file, number, each) for number, each in enumerate(about)}
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
        raise CheckpointError(f"{path}: is no file of heads: {error}") from error


def _head(file: Any, number: int, about: Mapping[str, Any]) -> Head:
    tensors = {name: file.get_tensor(f"{number}.{name}") for name in _TENSORS}
    head = Head(
        names=tuple(about["names"]),
        layers=tuple(about["layers"]),
        readouts=tuple(about["readouts"]),
        scale=float(about["scale"]),
        **tensors,
    )
    options, inputs, buckets = len(head.names), head.centre.size, head.rarity.size
    shapes: dict[str, tuple[int, ...]] = {
        "bias": (options,),
        "centre": (inputs,),
        "spread": (inputs,),
        "rarity": (buckets,),
    }
    shapes |= {"weights": (options, inputs), "word_weights": (options, buckets)}
    for name, shape in shapes.items():
        if tensors[name].shape != shape:
            raise ValueError(f"{number}.{name} is {tensors[name].shape}, not {shape}")
        if not np.isfinite(tensors[name]).all():
            raise ValueError(f"{number}.{name} has numbers that are not finite")
    return head
