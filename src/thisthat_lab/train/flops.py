"""Floating-point work per token, and what a device could do at best."""

from __future__ import annotations

import torch

from thisthat_lab.tables import Tables
from thisthat_lab.train.model.backbone import TrainedBackbone

# Dense bf16 matrix peaks in FLOP/s, from the makers' data sheets.
_PEAKS = Tables(__file__).read("peaks", dict[str, float])


def flops_per_token(backbone: TrainedBackbone) -> float:
    """Forward and backward through the decoder layers, matrix products alone.

    Attention's own products are left out: they depend on the length and are small beside the rest
    at the lengths of decision rows. The recomputation of checkpointing is not counted either, nor
    what joined layers do at slots alone.
    """
    total = 0
    for index in backbone.order:
        weights = [p for p in backbone.trunk.layers[index].parameters() if p.ndim == 2]
        per_weight = 6 if index >= backbone.first_trained else 2
        total += per_weight * sum(weight.numel() for weight in weights)
    if backbone.joined:
        last = backbone.trunk.layers[backbone.order[-1]]
        at_slots = (last.self_attn.o_proj, *last.mlp.children())
        total -= 6 * sum(p.numel() for module in at_slots for p in module.parameters())
    return float(total)


def peak_flops(device: torch.device) -> float | None:
    """The peak of a CUDA device we know, None otherwise."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    known = [key for key in _PEAKS if key in name]
    return _PEAKS[max(known, key=len)] if known else None
