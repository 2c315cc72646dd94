"""A causal model of `transformers` as a function of a packed batch: tables in, label logits out.

Projections that read the same input are one matrix product, and after the last layer's mixing only
the slots are computed. Shares the model's parameters: fused matrices hold them, the model's own
become views; products in another numeric form have a copy. Knows Llama-like attention and the gated
delta rule; ``why_not`` says what else a model may not have. Prefixes can be kept, at fixed
addresses: keys and values of every token, and the states of recurrent layers after the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from thisthat.engine.cuda.ops import Angles, DeviceTables, KeptStates, Ops
from thisthat.engine.cuda.prefix_slots import PrefixSlots
from thisthat.engine.cuda.products import Own, Products
from thisthat.engine.cuda.shapes import AttentionShape, DeltaShape
from thisthat.engine.torch.label_head import Product

PLAIN_KINDS = ("llama", "mistral", "qwen2", "qwen3", "qwen3_5_text")
"""Models whose layers are exactly: norm, mixing, add, norm, gated product, add."""

FIXED_ROPES = ("default", "linear", "llama3", "yarn")
"""Rotations that do not depend on the length of a text."""

Head = Callable[[Tensor, Product], Tensor]


def why_not(model: Any, fused: bool) -> str | None:
    """Why this model cannot run in packed batches (with fused kernels), or None."""
    config = model.config.get_text_config(decoder=True)
    trunk = model.base_model
    if config.model_type not in PLAIN_KINDS:
        return f"{config.model_type} is none of {', '.join(PLAIN_KINDS)}"
    if getattr(config, "hidden_act", "silu") != "silu":
        return f"its activation is {config.hidden_act}"
    if trunk.rotary_emb.rope_type not in FIXED_ROPES:
        return f"its rotation is {trunk.rotary_emb.rope_type}"
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if not kinds <= {"full_attention", "linear_attention"}:
        return f"it has layers of kind {', '.join(sorted(kinds))}"
    if "layer_types" not in config.to_dict() and getattr(config, "sliding_window", None):
        return "it attends within a window"
    for layer in trunk.layers:
        mixer = getattr(layer, "self_attn", None)
        outward = [layer.mlp.down_proj, *([mixer.o_proj] if mixer else [])]
        if any(module.bias is not None for module in outward):
            return "its output projections have biases"
    return _why_not_fused(trunk) if fused else None


def _why_not_fused(trunk: Any) -> str | None:
    for layer in trunk.layers:
        if hasattr(layer, "self_attn"):
            sizes = [layer.self_attn.head_dim]
        else:
            sizes = [layer.linear_attn.head_k_dim, layer.linear_attn.head_v_dim]
            if sizes[0] != sizes[1]:
                return "keys and values of its recurrent layers differ in size"
        if any(size not in (16, 32, 64, 128, 256) for size in sizes):
            return f"its heads have {sizes[0]} columns"
    return None


MOST_PREFIX_SLOTS = 16_384
"""Tokens of prefixes that are kept at most, however much memory they may take."""

TOKENS_PER_STATE = 512
"""Places for tokens beside each state that a recurrent model can keep."""


class PackedModel:
    """The label logits at the slots of a batch. Nothing here depends on what the tokens say."""

    def __init__(
        self,
        model: Any,
        head: Head,
        ops: Ops,
        prefix_bytes: int = 0,
        products: Products | None = None,
    ) -> None:
        """``prefix_bytes`` is the most memory for kept prefixes; they make do with less.

        No ``products`` are those of the model's own numeric form.
        """
        trunk = model.base_model
        self._embedding: Tensor = trunk.embed_tokens.weight.detach()
        self._ops = ops
        self._products: Products = Own(ops) if products is None else products
        self._head = head
        rotation = trunk.rotary_emb
        self._frequencies: Tensor = rotation.inv_freq.detach().float()
        self._rope_scale = float(rotation.attention_scaling)
        self._layers: list[_Layer] = []
        built: dict[int, tuple[_Mixer, _Gated]] = {}
        for layer in trunk.layers:
            key = id(layer.mlp.down_proj)
            if key not in built:
                built[key] = (
                    _mixer_of(layer, rotation, self._products),
                    _Gated(layer.mlp, self._products),
                )
            mixer, gated = built[key]
            self._layers.append(
                _Layer(
                    _norm_weight(layer.input_layernorm),
                    mixer,
                    _norm_weight(layer.post_attention_layernorm),
                    gated,
                    _epsilon(layer.input_layernorm),
                )
            )
        self._last_norm = _norm_weight(trunk.norm)
        self._epsilon = _epsilon(trunk.norm)
        self._kept, self.prefix_slots = self._make_prefix_slots(prefix_bytes)

    def __call__(self, tables: DeviceTables) -> Tensor:
        """Logits [slots, labels] in float32."""
        ops, products = self._ops, self._products
        hidden = functional.embedding(tables.ids, self._embedding)
        angles = self._angles(tables.positions)
        pending: Tensor | None = None
        for number, layer in enumerate(self._layers):
            entering = products.normed(hidden, pending, layer.mixing_norm, layer.epsilon)
            projected = products.times(entering, layer.mixer.inward, layer.mixer.bias)
            mixed = layer.mixer.mix(projected, angles, tables, ops, self._kept[number])
            if number == len(self._layers) - 1:
                hidden = hidden.index_select(0, tables.slots)
                mixed = mixed.index_select(0, tables.slots)
            pending = products.add(products.operand(mixed), layer.mixer.outward, hidden)
            entering = products.normed(hidden, pending, layer.gated_norm, layer.epsilon)
            both = products.times(entering, layer.gated.inward)
            pending = products.add(products.gated(both), layer.gated.outward, hidden)
        if pending is not None:
            hidden += pending
        return self._head(ops.norm(hidden, self._last_norm, self._epsilon), ops.product)

    @property
    def float8(self) -> bool:
        """Whether its products are of eight-bit floats."""
        return self._products.float8

    def _make_prefix_slots(self, most_bytes: int) -> tuple[Sequence[_Kept], PrefixSlots]:
        """Each layer's memory for kept prefixes, as much as there is, and the plan of it."""
        mixers = [layer.mixer for layer in self._layers]
        one = [mixer.kept_memory(1, 1, self._embedding.to("meta")) for mixer in mixers]
        place_bytes = sum(memory.nbytes for memory in one if isinstance(memory, Tensor))
        state_bytes = sum(
            memory.states.nbytes + memory.history.nbytes
            for memory in one
            if isinstance(memory, KeptStates)
        )
        together = TOKENS_PER_STATE if state_bytes else 1
        count = most_bytes // (together * place_bytes + state_bytes)
        count = min(count, MOST_PREFIX_SLOTS // together)
        while count:
            places, states = count * together, count if state_bytes else None
            try:
                memory = [mixer.kept_memory(places, count, self._embedding) for mixer in mixers]
                return memory, PrefixSlots(places, place_bytes, states, state_bytes)
            except torch.OutOfMemoryError:
                count //= 2
        return [None] * len(mixers), PrefixSlots(0)

    def _angles(self, positions: Tensor) -> Angles:
        angles = positions[:, None] * self._frequencies
        if self._rope_scale == 1.0:
            return angles.cos(), angles.sin()
        return angles.cos() * self._rope_scale, angles.sin() * self._rope_scale


class _Attention:
    """Queries, gates, keys and values in one product."""

    def __init__(self, module: Any, rotation: Any, products: Products) -> None:
        size = int(module.head_dim)
        heads = int(module.config.num_attention_heads)
        gated = module.q_proj.weight.shape[0] == 2 * heads * size
        normed = hasattr(module, "q_norm")
        inward, self.bias = _fuse([module.q_proj, module.k_proj, module.v_proj])
        self.inward = products.matrix(inward)
        self.outward = products.matrix(module.o_proj.weight.detach())
        self._norms = (
            torch.stack([_norm_weight(module.q_norm), _norm_weight(module.k_norm)])
            if normed
            else None
        )
        self._shape = AttentionShape(
            heads=heads,
            key_heads=int(module.config.num_key_value_heads),
            size=size,
            rotated=2 * int(rotation.inv_freq.shape[0]),
            scale=float(module.scaling),
            gated=gated,
            epsilon=_epsilon(module.q_norm) if normed else 0.0,
        )

    def kept_memory(self, places: int, states: int, like: Tensor) -> Tensor:
        """Room for the keys and values of so many tokens."""
        return like.new_zeros(2, places, self._shape.key_heads * self._shape.size)

    def mix(
        self,
        projected: Tensor,
        angles: Angles,
        tables: DeviceTables,
        ops: Ops,
        kept: _Kept,
    ) -> Tensor:
        """What each token takes from those before it on its path."""
        assert not isinstance(kept, KeptStates)
        heads = ops.rope(projected, self._shape, angles, self._norms, tables, kept)
        return ops.attend(heads, projected, self._shape, tables, kept)


class _Delta:
    """Queries, keys, values, output gates, strengths and decays in one product."""

    def __init__(self, module: Any, products: Products) -> None:
        inward, self.bias = _fuse(
            [module.in_proj_qkv, module.in_proj_z, module.in_proj_b, module.in_proj_a]
        )
        self.inward = products.matrix(inward)
        self.outward = products.matrix(module.out_proj.weight.detach())
        self._taps = module.conv1d.weight.detach()[:, 0].contiguous()
        self._log_decay = module.A_log.detach().float()
        self._decay_bias = module.dt_bias.detach().float()
        self._norm = module.norm.weight.detach().float()
        self._shape = DeltaShape(
            key_heads=int(module.num_k_heads),
            value_heads=int(module.num_v_heads),
            key_size=int(module.head_k_dim),
            value_size=int(module.head_v_dim),
            taps=int(module.conv_kernel_size),
            epsilon=float(module.layer_norm_epsilon),
        )

    def kept_memory(self, places: int, states: int, like: Tensor) -> KeptStates:
        """Room for so many states, which are not rounded between tokens, and not here either."""
        shape = self._shape
        sizes = (states, shape.value_heads, shape.key_size, shape.value_size)
        history = like.new_zeros(states, shape.taps - 1, shape.convolved)
        return KeptStates(like.new_zeros(sizes, dtype=torch.float32), history)

    def mix(
        self,
        projected: Tensor,
        angles: Angles,
        tables: DeviceTables,
        ops: Ops,
        kept: _Kept,
    ) -> Tensor:
        """What each token takes from those before it on its path."""
        assert not isinstance(kept, Tensor)
        answer = ops.delta(
            projected, self._shape, self._taps, self._log_decay, self._decay_bias, tables, kept
        )
        return ops.gated_norm(answer, projected, self._shape, self._norm)


_Mixer = _Attention | _Delta
_Kept = Tensor | KeptStates | None


class _Gated:
    def __init__(self, module: Any, products: Products) -> None:
        inward, _ = _fuse([module.gate_proj, module.up_proj])
        self.inward = products.matrix(inward)
        self.outward = products.matrix(module.down_proj.weight.detach())


@dataclass(frozen=True, slots=True)
class _Layer:
    mixing_norm: Tensor
    mixer: _Mixer
    gated_norm: Tensor
    gated: _Gated
    epsilon: float


def _mixer_of(layer: Any, rotation: Any, products: Products) -> _Mixer:
    if hasattr(layer, "self_attn"):
        return _Attention(layer.self_attn, rotation, products)
    return _Delta(layer.linear_attn, products)


def _fuse(modules: Sequence[nn.Linear]) -> tuple[Tensor, Tensor | None]:
    """Linear maps of one input as one matrix; the modules' weights become views of it."""
    weight = torch.cat([module.weight.detach() for module in modules])
    start = 0
    for module in modules:
        stop = start + module.weight.shape[0]
        module.weight.data = weight[start:stop]
        start = stop
    biases = [module.bias for module in modules if module.bias is not None]
    if not biases:
        return weight, None
    parts = [
        weight.new_zeros(module.weight.shape[0]) if module.bias is None else module.bias.detach()
        for module in modules
    ]
    return weight, torch.cat(parts)


def _norm_weight(module: Any) -> Tensor:
    """The factor of a norm in float32; some models store its distance from one."""
    weight: Tensor = module.weight.detach().float()
    return weight + 1.0 if type(module).__name__.startswith("Qwen3_5RMSNorm") else weight


def _epsilon(module: Any) -> float:
    return float(getattr(module, "variance_epsilon", None) or module.eps)
