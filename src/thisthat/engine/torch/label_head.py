"""Hidden states at slots -> logits of the labels, without the rest of the vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from thisthat.errors import CheckpointError

Product = Callable[[Tensor, Tensor], Tensor]
"""Hidden states and label rows in, their products in float32 out."""


def plain_product(hidden: Tensor, rows: Tensor) -> Tensor:
    """The product in float32."""
    return torch.nn.functional.linear(hidden.float(), rows)


class LabelHead:
    """The label rows of a model's unembedding, in float32."""

    def __init__(self, model: Any, label_ids: Sequence[int]) -> None:
        unembedding = model.get_output_embeddings()
        if unembedding is None:
            raise CheckpointError(f"{type(model).__name__} has no unembedding to answer with")
        labels = torch.tensor(list(label_ids), device=unembedding.weight.device)
        self._rows = unembedding.weight.detach()[labels].float()
        bias = getattr(unembedding, "bias", None)
        self._bias = None if bias is None else bias.detach()[labels].float()
        config = model.config.get_text_config(decoder=True)
        self._scale = float(
            (getattr(config, "logit_scale", None) or 1.0)
            * (getattr(config, "lm_head_multiplier", None) or 1.0)
            / (getattr(config, "logits_scaling", None) or 1.0)
        )
        self._softcap: float | None = getattr(config, "final_logit_softcapping", None)

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return int(self._rows.shape[0])

    def __call__(self, hidden: Tensor, product: Product = plain_product) -> Tensor:
        """Logits [slots, labels] in float32 for hidden states [slots, size]."""
        logits = product(hidden, self._rows)
        if self._bias is not None:
            logits = logits + self._bias
        if self._scale != 1.0:
            logits = logits * self._scale
        if self._softcap is not None:
            logits = torch.tanh(logits / self._softcap) * self._softcap
        return logits
