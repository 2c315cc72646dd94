"""How much device memory a step will take, and a cap that raises instead of spilling.

Parameters, gradients and moments are counted, and so is what a joined or compiled layer keeps for
its backward pass; of other layers it is found by running one on the CPU on a few tokens and adding
up what autograd saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from thisthat.errors import InvalidInputError
from thisthat_lab.train.config import Run
from thisthat_lab.train.data.buckets import LABELS, Shape
from thisthat_lab.train.model.attention import ATTENTION
from thisthat_lab.train.model.backbone import TrainedBackbone
from thisthat_lab.train.model.joined_layer import head_width

GIB = 1 << 30
_PROBE_TOKENS = 128


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Predicted bytes on the device at the peak of a step."""

    parameters: int
    gradients: int
    optimiser: int
    activations: int

    @property
    def peak(self) -> int:
        """All of it together."""
        return self.parameters + self.gradients + self.optimiser + self.activations

    def lines(self) -> list[str]:
        """The plan for people."""
        parts = {
            "parameters": self.parameters,
            "gradients": self.gradients,
            "optimiser": self.optimiser,
            "activations": self.activations,
            "peak": self.peak,
        }
        return [f"{name:12} {size / GIB:8.2f} GiB" for name, size in parts.items()]


def predict_memory(backbone: TrainedBackbone, run: Run, shapes: Sequence[Shape]) -> MemoryPlan:
    """The peak of one optimiser step for the largest of these shapes."""
    parameters = list(backbone.parameters())
    trained = [parameter for _, parameter in backbone.trained()]
    held = sum(p.numel() * p.element_size() for p in parameters)
    count = sum(p.numel() for p in trained)
    own = sum(p.numel() * p.element_size() for p in trained)
    eight_bit = run.optimiser.name == "adamw-8bit"
    moments = 1 if run.optimiser.name == "muon" else 2
    moments += (run.optimiser.pull > 0) + (run.schedule.average > 0)
    apart = not eight_bit and run.model.dtype != "float32"
    if eight_bit:
        gradients, optimiser = own, int(2 * count * (1 + 4 / 256))
    elif apart:
        # Gradients of the last batch meet their float32 sums; masters and moments stay.
        gradients, optimiser = own + 4 * count, (1 + moments) * 4 * count
    else:
        gradients, optimiser = own, moments * 4 * count
    tokens = max(shape.rows * shape.length for shape in shapes)
    return MemoryPlan(held, gradients, optimiser, _activations(backbone, run, tokens))


def _activations(backbone: TrainedBackbone, run: Run, tokens: int) -> int:
    config = backbone.trunk.config
    size = next(backbone.trunk.parameters()).element_size()
    hidden = config.hidden_size * size
    order = [index for index in backbone.order if index >= backbone.first_trained]
    copies = 0
    if backbone.joined:
        kept = _joined_bytes(backbone, size, len(order))
        copies = sum(_copied_bytes(backbone, index) for index in order)
    elif run.model.compile == "off" or not backbone.plain:
        by_layer = _probe(backbone)
        kept = [by_layer[index] for index in order]
    else:
        kept = [_compiled_bytes(config, size)] * len(order)
    # The backward pass of a feed-forward part holds its gradients beside what was kept.
    transient = (3 * config.intermediate_size + 3 * config.hidden_size) * size
    slots = 4 * LABELS * 4  # per slot: logits, log-probabilities, targets and a gradient
    embedding = 3 * hidden
    if backbone.checkpointing:
        per_token = len(order) * hidden + max(kept) + transient
    else:
        per_token = sum(kept) + transient
    return int(tokens * (per_token + embedding) + tokens / 32 * slots + copies)


def _joined_bytes(backbone: TrainedBackbone, size: int, passes: int) -> list[int]:
    """What each pass through a joined layer keeps per token.

    The residual and its norm, with a reciprocal RMS in float32, before attention and before the
    feed-forward part; queries, keys and values; the attention output, with the logarithm of every
    head's sum in float32, and once more when it is rounded; gate and up, and their product. After
    its attention the last pass keeps what belongs to slots alone. With float8 the second norm is
    kept in bytes.
    """
    config = backbone.trunk.config
    heads, width = config.num_attention_heads, head_width(config)
    normed = 2 * config.hidden_size * size + 4
    turned = (heads + 2 * config.num_key_value_heads) * width * size
    attended = (2 if backbone.eight_bit else 1) * heads * width * size + 4 * heads
    fed_forward = normed + 3 * config.intermediate_size * size
    if backbone.float8:
        fed_forward -= config.hidden_size * (size - 1)
    first = normed + turned + attended
    return [first + fed_forward] * (passes - 1) + [first]


def _copied_bytes(backbone: TrainedBackbone, index: int) -> int:
    """The weights that a joined layer copies: side by side, or all of them rounded."""
    attention, mlp = backbone.trunk.layers[index].self_attn, backbone.trunk.layers[index].mlp
    whole = [attention.q_proj, attention.k_proj, attention.v_proj]
    opening = [mlp.gate_proj, mlp.up_proj]
    if backbone.float8:
        rounded: int = sum(module.weight.numel() for module in (*opening, mlp.down_proj))
        return _bytes_of(whole) + rounded
    if backbone.eight_bit:
        whole += [attention.o_proj, mlp.down_proj]
    return _bytes_of(whole + opening)


def _bytes_of(modules: Sequence[Any]) -> int:
    return sum(module.weight.numel() * module.weight.element_size() for module in modules)


def _compiled_bytes(config: Any, size: int) -> int:
    """What a compiled decoder layer keeps per token.

    The compiler keeps the inputs of matrix products that it cannot recompute from cheaper ones:
    the residual before attention and before the feed-forward part, queries, keys, values, the
    attention output, gate and up.
    """
    heads = 2 * config.num_attention_heads + 2 * config.num_key_value_heads
    attention = heads * head_width(config)
    kept: int = (2 * config.hidden_size + attention + 2 * config.intermediate_size) * size
    return kept


def _probe(backbone: TrainedBackbone) -> list[int]:
    """Bytes per token that one eager pass through each layer keeps.

    One layer of each type is built anew and run on the CPU, whose attention keeps what a GPU's
    does; of families with fused layers, which a GPU alone may run, where the model is.
    """
    count = len(backbone.trunk.layers)
    kinds = getattr(backbone.trunk.config, "layer_types", None) or ["one"] * count
    with torch.device("cpu") if backbone.plain else backbone.label_ids.device:
        found = {kind: _probe_layer(backbone, kinds.index(kind)) for kind in set(kinds)}
    return [found[kind] for kind in kinds]


def _probe_layer(backbone: TrainedBackbone, index: int) -> int:
    config = backbone.trunk.config
    dtype = backbone.trunk.dtype
    probe = type(backbone.trunk.layers[index])(config, index).to(dtype)
    rotary = type(backbone.trunk.rotary_emb)(config=config)
    hidden = torch.randn(1, _PROBE_TOKENS, config.hidden_size, dtype=dtype, requires_grad=True)
    positions = torch.arange(_PROBE_TOKENS).unsqueeze(0)
    if hasattr(rotary, "mrope_section"):
        positions = positions.expand(3, 1, -1)  # one row each for time, height and width
    angles = rotary(hidden, position_ids=positions)
    own = {p.untyped_storage().data_ptr() for p in probe.parameters()}
    own |= {angle.untyped_storage().data_ptr() for angle in angles}
    kept: list[Tensor] = []  # held until the end, so that no address is used twice

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    more: dict[str, Any] = {}
    if config._attn_implementation == ATTENTION:
        bounds = torch.tensor([0, _PROBE_TOKENS], dtype=torch.int32)
        more = {"packed": (bounds, _PROBE_TOKENS, None, None)}
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        probe(hidden, position_embeddings=angles, **more)
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in kept
    }
    return sum(size for address, size in storages.items() if address not in own) // _PROBE_TOKENS


def cap_memory(device: torch.device, cap_gib: float | None) -> None:
    """Make the device raise once this process holds more than the cap.

    Raises InvalidInputError when the device has less, or cannot be capped.
    """
    if cap_gib is None:
        return
    if device.type != "cuda":
        raise InvalidInputError("memory.cap_gib", f"a {device.type} device cannot be capped")
    total = torch.cuda.get_device_properties(device).total_memory
    if cap_gib * GIB > total:
        raise InvalidInputError(
            "memory.cap_gib", f"is {cap_gib}; the device has {total / GIB:.1f} GiB"
        )
    index = torch.cuda.current_device() if device.index is None else device.index
    torch.cuda.set_per_process_memory_fraction(cap_gib * GIB / total, index)


def measured_peak(device: torch.device) -> int | None:
    """The most bytes held on the device so far, where the device counts them."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
