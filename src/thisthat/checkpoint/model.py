"""What every source of weights provides: configuration, tokenizer, tensors, and their hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

Weights: TypeAlias = dict[str, NDArray[np.float32]]


class Model(Protocol):
    """A causal language model on disk."""

    @property
    def folder(self) -> Path:
        """Where its files are."""
        ...

    @property
    def files(self) -> Sequence[Path]:
        """The files its tensors are read from."""
        ...

    @property
    def config(self) -> dict[str, Any]:
        """Its configuration with the keys of a Hugging Face ``config.json``."""
        ...

    @property
    def chat_template(self) -> str | None:
        """The Jinja template of its conversations, if it has one."""
        ...

    @property
    def special_tokens(self) -> Mapping[str, str]:
        """Texts of the tokens a chat template may name: ``bos_token``, ``eos_token``, …"""
        ...

    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""
        ...

    def sha256(self) -> str:
        """A hash of the files its tensors are read from."""
        ...

    def weights(self) -> Weights:
        """All tensors in float32 under their Hugging Face names; a tied unembedding is left out."""
        ...
