"""One call into a causal model: ids, positions, mask and cache in, hidden states out.

Says what the model can do (branches in one pass, states of different lengths in one batch) and
hides how the model wants to be told.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from thisthat.engine.torch.kept_state import can_stack, empty_cache, layer_kinds, reads_every_token
from thisthat.errors import CheckpointError

MASKED_ATTENTION = ("sdpa", "eager")
"""Attention implementations that take a mask of any shape."""

WINDOWED_INSIDE = ("gpt_neo",)
"""Models with local attention that their configuration's cache does not show."""

MASKS_BY_KIND = ("qwen3_5_text", "qwen3_5_moe_text")
"""Hybrid models that take one mask for each kind of layer."""

NO_LIMIT = 1 << 30
"""For models that measure distances between tokens and so have no last position."""


class Backbone:
    """A model without its unembedding."""

    def __init__(self, model: Any) -> None:
        self._trunk = model.base_model
        self.config = model.config.get_text_config(decoder=True)
        parameters = inspect.signature(self._trunk.forward).parameters
        if "past_key_values" not in parameters:
            raise CheckpointError(
                f"{type(model).__name__} does not keep its state in past_key_values, "
                "so no prefix can be kept or forked"
            )
        self._takes_positions = "position_ids" in parameters
        kinds = layer_kinds(self.config)
        flexible = (
            self._takes_positions
            and self.config._attn_implementation in MASKED_ATTENTION
            and not getattr(self.config, "alibi", False)
            and self.config.model_type not in WINDOWED_INSIDE
        )
        self._masks_by_kind = self.config.model_type in MASKS_BY_KIND
        self.branches_in_one_pass = flexible and reads_every_token(kinds)
        self.mixes_lengths = self.branches_in_one_pass or (
            flexible and self._masks_by_kind and can_stack(kinds)
        )
        self.device: torch.device = model.device
        self.dtype: torch.dtype = model.dtype

    @property
    def longest(self) -> int:
        """The most positions the model knows."""
        return int(getattr(self.config, "max_position_embeddings", None) or NO_LIMIT)

    @property
    def layers(self) -> int:
        """How many layers have hidden states that others read; the last one's are normalised."""
        return int(self.config.num_hidden_layers) - 1

    @property
    def vocabulary(self) -> int:
        """How many token ids there are."""
        return int(self._trunk.get_input_embeddings().weight.shape[0])

    def empty_cache(self) -> Any:
        """A cache for a pass that starts at the first token and whose state is to be kept."""
        return empty_cache(self.config)

    def __call__(
        self,
        ids: Tensor,
        positions: Tensor,
        mask: Tensor | None,
        cache: Any,
        layers: Sequence[int] = (),
    ) -> tuple[Tensor, list[Tensor]]:
        """Hidden states [batch, width, size], and those after each of ``layers``.

        ``mask`` None is causal; ``cache`` is continued.
        """
        arguments: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": mask,
            "past_key_values": cache,
            "use_cache": cache is not None,
        }
        if self._takes_positions:
            arguments["position_ids"] = positions
        if mask is not None and self._masks_by_kind:
            arguments["attention_mask"] = {"full_attention": mask, "linear_attention": None}
        if layers:
            arguments["output_hidden_states"] = True
        given = self._trunk(**arguments)
        return given.last_hidden_state, [given.hidden_states[layer] for layer in layers]
