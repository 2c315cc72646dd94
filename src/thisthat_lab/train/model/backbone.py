"""The model under training: a decoder trunk without its language head, read at slots only.

Rows are padded on the right or packed. Causal rows need no mask, as padding changes nothing before
it; an open state, whose tokens see each other, does. Only the hidden states at slots meet the 255
label rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.attention.flex_attention import BlockMask
from torch.utils.checkpoint import checkpoint

from thisthat.errors import CheckpointError, InvalidInputError
from thisthat_lab.train.config import Loop, Model
from thisthat_lab.train.data.buckets import LABELS
from thisthat_lab.train.data.packs import positions_in_rows
from thisthat_lab.train.model import attention
from thisthat_lab.train.model.attention import CAUSAL, BlockMasks, Packed, PlainAttention, Sight
from thisthat_lab.train.model.float8_feed import why_not_float8
from thisthat_lab.train.model.joined_layer import Rounding, can_join, head_width, run_joined
from thisthat_lab.train.model.row_blocks import even_bounds
from thisthat_lab.train.model.rows_attention import RowsAttention, can_attend

# Families whose decoder layers take (hidden, position_embeddings) and nothing else that matters.
PLAIN_FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
# Families that are run as a whole; their logits are hidden state times label row, like the others'.
WHOLE_FAMILIES = ("qwen3_5_text", "qwen3_next")
WRAPPED = "model.language_model."
_ADAPTED = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class TrainedBackbone(nn.Module):
    """Token rows and slot places in, one logit per label and slot out.

    ``trunk`` is a Hugging Face decoder without language head. ``unembedding`` holds the label rows
    of an untied head; None takes them from the embedding. ``prefix`` opens the names of the trunk's
    tensors in the checkpoint.
    """

    def __init__(
        self,
        trunk: Any,
        label_ids: Sequence[int],
        unembedding: Tensor | None,
        settings: Model,
        prefix: str = "model.",
    ) -> None:
        super().__init__()
        self.trunk, self.prefix = trunk, prefix
        self.label_ids: Tensor
        self.register_buffer("label_ids", torch.tensor(label_ids), persistent=False)
        self.label_rows = None if unembedding is None else nn.Parameter(unembedding)
        family = trunk.config.model_type
        if family not in PLAIN_FAMILIES + WHOLE_FAMILIES:
            known = ", ".join(PLAIN_FAMILIES + WHOLE_FAMILIES)
            raise InvalidInputError("model.initial", f"{family} cannot be trained, only {known}")
        window = getattr(trunk.config, "sliding_window", None)
        self.plain = family in PLAIN_FAMILIES and window is None
        self.checkpointing = settings.checkpointing
        count = len(self.trunk.layers)
        self.order = layer_order(count, settings.loop)
        if settings.loop is not None and not self.plain:
            raise InvalidInputError("model.loop", f"is not known for {family}")
        self.first_trained = 0
        if settings.train == "trunk":
            self.trunk.embed_tokens.requires_grad_(False)
        elif settings.train == "last":
            self._freeze_but_last(settings.last_layers)
        elif settings.train == "lora":
            self._add_adapters(settings.rank, settings.adapt_from)
        # Rounding is done in joined layers alone; without it, frozen ones are faster apart.
        apart = settings.checkpointing or (self.first_trained > 0 and not settings.eight_bit)
        self.joined = can_join(trunk) and not apart
        self._masks: dict[int, BlockMasks] = {}
        self.eight_bit = settings.eight_bit
        if settings.eight_bit and not self.joined:
            raise InvalidInputError("model.eight_bit", "is for whole, plain llama layers only")
        self.float8 = settings.float8
        if settings.float8 and (reason := why_not_float8(trunk, self.joined)) is not None:
            raise InvalidInputError("model.float8", reason)
        if settings.checkpointing and not self.plain:
            self.trunk.gradient_checkpointing_enable({"use_reentrant": False})

    def forward(self, tokens: Tensor, row: Tensor, at: Tensor, sight: Sight = CAUSAL) -> Tensor:
        """Logits, slots x 255 in float32; ``row`` and ``at`` are the place of each slot.

        Raises InvalidInputError for an open state in a family that cannot read one.
        """
        return self.label_logits(self.states_at(tokens, row, at, sight))

    def states_at(self, tokens: Tensor, row: Tensor, at: Tensor, sight: Sight) -> Tensor:
        """Hidden states after the last norm, places x size."""
        if self.plain:
            normed: Tensor = self.trunk.norm(self._hidden(tokens, row, at, sight))
            return normed
        if sight.since is not None:
            family = self.trunk.config.model_type
            raise InvalidInputError("prompt.open_state", f"is not known for {family}")
        output = self.trunk(input_ids=tokens, attention_mask=None, use_cache=False)
        found: Tensor = output.last_hidden_state[row, at]
        return found

    def label_logits(self, slots: Tensor) -> Tensor:
        """Logits of the labels in float32 from hidden states at slots."""
        rows = self.label_rows
        if rows is None:
            rows = self.trunk.embed_tokens.weight[self.label_ids]
        logits: Tensor = slots.float() @ rows.float().T
        return logits

    def next_token_losses(self, states: Tensor, following: Tensor) -> Tensor:
        """The language model's loss for the token that follows each place.

        Raises InvalidInputError for a model whose language head is not its embedding.
        """
        if self.label_rows is not None:
            raise InvalidInputError("objective.rehearsal", "is for models with tied embeddings")
        logits = states @ self.trunk.embed_tokens.weight.T
        return torch.nn.functional.cross_entropy(logits.float(), following, reduction="none")

    def _hidden(self, tokens: Tensor, row: Tensor, at: Tensor, sight: Sight) -> Tensor:
        """What the last layer gives at slots, slots x size."""
        hidden: Tensor = self.trunk.embed_tokens(tokens)
        length = tokens.shape[1]
        slots = row * length + at
        if self.joined and can_attend(hidden, head_width(self.trunk.config)):
            rows = self._rows_attention(hidden, sight, slots)
            return run_joined(self.trunk, self.order, hidden, rows, self._rounding, slots)
        packed: Packed | None = None
        mask: Tensor | None = None
        if sight.bounds is not None:
            positions = positions_in_rows(sight.bounds, length)
            blocks = self._block_mask(sight.bounds, sight.since, length)
            packed = (sight.bounds, sight.longest, sight.since, blocks)
        else:
            positions = torch.arange(length, device=tokens.device).unsqueeze(0)
            if sight.since is not None:
                mask = attention.padded_mask(sight.since)
        if self.joined:
            plain = PlainAttention(packed, mask, self._angles(hidden, positions), self._heads)
            padded = packed is None
            with (
                attention.padded_kernels(tokens.device, mask is not None)
                if padded
                else nullcontext()
            ):
                return run_joined(self.trunk, self.order, hidden, plain, self._rounding, slots)
        angles = self.trunk.rotary_emb(hidden, position_ids=positions)
        more = {"attention_mask": mask} if packed is None else {"packed": packed}
        for index in self.order:
            layer = self.trunk.layers[index]
            if index < self.first_trained:
                with torch.no_grad():
                    hidden = layer(hidden, position_embeddings=angles, **more)
            elif self.checkpointing and torch.is_grad_enabled():
                hidden = checkpoint(
                    layer, hidden, position_embeddings=angles, use_reentrant=False, **more
                )
            else:
                hidden = layer(hidden, position_embeddings=angles, **more)
        return hidden[row, at]

    def _rows_attention(self, hidden: Tensor, sight: Sight, slots: Tensor) -> RowsAttention:
        """Attention for rows, packed or padded, in kernels of its own."""
        many, length = hidden.shape[:2]
        bounds, longest, since = sight.bounds, sight.longest, sight.since
        if bounds is None:
            bounds, longest = even_bounds(many, length, hidden.device), length
            since = None if since is None else (since + bounds[:-1, None]).flatten()
        angles = self._angles(hidden, torch.arange(longest, device=hidden.device).unsqueeze(0))
        return RowsAttention(bounds, many * length, angles, self._heads, slots, since)

    @property
    def _rounding(self) -> Rounding:
        if self.eight_bit:
            return "int8"
        return "float8" if self.float8 and torch.is_grad_enabled() else "none"

    @property
    def _heads(self) -> tuple[int, int]:
        """Query heads, and key heads."""
        config = self.trunk.config
        return config.num_attention_heads, config.num_key_value_heads

    def _angles(self, hidden: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and sine of each of the positions (1 x places), places x width of a head."""
        cosine, sine = self.trunk.rotary_emb(hidden, position_ids=positions)
        return cosine.squeeze(0), sine.squeeze(0)

    def _block_mask(self, bounds: Tensor, since: Tensor | None, length: int) -> BlockMask | None:
        if since is None or not bounds.is_cuda or not torch.is_grad_enabled():
            return None
        if length not in self._masks:
            self._masks[length] = BlockMasks(length, bounds.device)
        return self._masks[length].draw(bounds, since)

    def compile_layers(self, dynamic: bool) -> None:
        """Compile the decoder layers in place, one region for all of them.

        Joined layers are made of kernels already and stay as they are.
        """
        if self.joined:
            return
        # One entry per shape, with and without gradients, must fit beside each other.
        torch._dynamo.config.recompile_limit = 64
        torch._dynamo.config.accumulated_recompile_limit = 1024
        for layer in self.trunk.layers:
            layer.compile(dynamic=dynamic)

    def trained(self) -> list[tuple[str, nn.Parameter]]:
        """The parameters that are trained, by name, in a fixed order."""
        return [(name, p) for name, p in self.named_parameters() if p.requires_grad]

    def _freeze_but_last(self, count: int) -> None:
        if count > len(self.trunk.layers):
            raise InvalidInputError(
                "model.last_layers", f"is {count}; the model has {len(self.trunk.layers)} layers"
            )
        self.first_trained = len(self.trunk.layers) - count
        if max(self.order, default=0) != self.order[-1] or self.order != sorted(set(self.order)):
            raise InvalidInputError("model.train", "'last' cannot be combined with a loop")
        self.requires_grad_(False)
        for layer in self.trunk.layers[self.first_trained :]:
            layer.requires_grad_(True)
        self.trunk.norm.requires_grad_(True)

    def _add_adapters(self, rank: int, first: int) -> None:
        from peft import LoraConfig, inject_adapter_in_model

        count = len(self.trunk.layers)
        if first >= count:
            raise InvalidInputError("model.adapt_from", f"is {first}; the model has {count} layers")
        self.first_trained = first
        self.requires_grad_(False)
        adapted = [
            f"layers.{number}.{name}"
            for number, layer in enumerate(self.trunk.layers[first:], first)
            for name, _ in layer.named_modules()
            if name.endswith(_ADAPTED)
        ]
        config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=adapted)
        inject_adapter_in_model(config, self.trunk)

    def tensors(self) -> dict[str, Tensor]:
        """Trained tensors under their Hugging Face names; adapters are none of them."""
        return {
            self.prefix + name.removeprefix("trunk."): parameter.detach()
            for name, parameter in self.trained()
            if name.startswith("trunk.") and "lora_" not in name
        }

    def adapted(self) -> Iterator[tuple[str, Tensor]]:
        """What adapters add to weights, by Hugging Face names, in float32."""
        for path, module in self.trunk.named_modules():
            if hasattr(module, "get_delta_weight"):
                inward, outward = module.lora_A["default"], module.lora_B["default"]
                added = outward.weight.detach().float() @ inward.weight.detach().float()
                yield f"{self.prefix}{path}.weight", added * module.scaling["default"]


def layer_order(count: int, loop: Loop | None) -> list[int]:
    """The layers in the order they run. Raises InvalidInputError for a loop outside them."""
    if loop is None:
        return list(range(count))
    if not loop.first <= loop.last < count:
        raise InvalidInputError(
            "model.loop", f"{loop.first} to {loop.last} is no range of layers 0 to {count - 1}"
        )
    block = list(range(loop.first, loop.last + 1))
    return [*range(loop.first), *block * loop.times, *range(loop.last + 1, count)]


def build_backbone(
    config: Mapping[str, Any],
    weights: Mapping[str, NDArray[np.float32]],
    label_ids: Sequence[int],
    settings: Model,
    device: torch.device,
    packed: bool = False,
) -> TrainedBackbone:
    """A backbone with these weights on the device, in the dtype the settings name.

    A ``packed`` one takes packed batches only. Raises CheckpointError for a tensor that is
    missing, unknown or of another shape.
    """
    trunk = blank_trunk(config, settings, device, packed)
    wrapped = any(name.startswith(WRAPPED) for name in weights)
    prefix = WRAPPED if wrapped else "model."
    _fill(trunk, weights, prefix)
    head = weights.get("lm_head.weight")
    unembedding = None
    if head is not None and not trunk.config.tie_word_embeddings:
        rows = torch.from_numpy(np.ascontiguousarray(head[np.asarray(label_ids)]))
        unembedding = rows.to(device=device, dtype=trunk.dtype)
    return TrainedBackbone(trunk, label_ids, unembedding, settings, prefix).to(device)


def random_backbone(
    config: Mapping[str, Any], settings: Model, device: torch.device, packed: bool = False
) -> TrainedBackbone:
    """A backbone of this shape with random weights, for measuring what fits and how fast."""
    trunk = blank_trunk(config, settings, device, packed)
    with torch.no_grad():
        for parameter in trunk.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=0.02)
            else:
                parameter.fill_(1.0)
    return TrainedBackbone(trunk, range(LABELS), None, settings).to(device)


def blank_trunk(
    config: Mapping[str, Any], settings: Model, device: torch.device, packed: bool
) -> Any:
    """The decoder of this configuration on the device, its parameters not yet set."""
    import transformers

    dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16}[settings.dtype]
    table = {key: value for key, value in config.items() if key != "quantization_config"}
    trunk_config = transformers.AutoConfig.for_model(**table).get_text_config()
    if packed and trunk_config.model_type not in PLAIN_FAMILIES:
        raise InvalidInputError("data.pack", f"is not known for {trunk_config.model_type}")
    if packed:
        attention.register_attention()
    trunk_config._attn_implementation = attention.ATTENTION if packed else "sdpa"
    trunk_config.use_cache = False
    with torch.device("meta"):
        trunk = transformers.AutoModel.from_config(trunk_config, dtype=dtype)
    trunk.to_empty(device=device)
    # Rotary tables are computed, not stored: to_empty leaves them undefined.
    trunk.rotary_emb = type(trunk.rotary_emb)(config=trunk_config).to(device)
    return trunk


def _fill(trunk: nn.Module, weights: Mapping[str, NDArray[np.float32]], prefix: str) -> None:
    own = dict(trunk.named_parameters())
    # A text model inside a larger one: what else the checkpoint holds is not trained.
    given = {
        name.removeprefix(prefix): tensor
        for name, tensor in weights.items()
        if (name.startswith(WRAPPED) if prefix == WRAPPED else not name.startswith("lm_head."))
    }
    for name in sorted(own.keys() ^ given.keys()):
        problem = "is missing" if name in own else "is not a tensor of this architecture"
        raise CheckpointError(f"weights: {name} {problem}")
    with torch.no_grad():
        for name, parameter in own.items():
            tensor = torch.from_numpy(np.ascontiguousarray(given[name]))
            if tensor.shape != parameter.shape:
                raise CheckpointError(
                    f"weights: {name} has shape {tuple(tensor.shape)}, not {tuple(parameter.shape)}"
                )
            parameter.copy_(tensor)
