"""Running a span of layers several times with the same weights.

Each pass is a layer of its own to the rest of the model, with its own place in the cache, and
shares every parameter with the layer it repeats.
"""

from __future__ import annotations

import copy
from typing import Any

from torch import nn

from thisthat.engine.llama_shape import looped
from thisthat.errors import InvalidInputError


def loop_layers(model: Any, first: int, last: int, times: int) -> None:
    """Make ``model`` run layers ``first`` to ``last`` (counted from 0, inclusive) ``times`` times.

    Changes the model and its configuration in place. Raises InvalidInputError for a span outside
    the model, for less than one time, and for a model without a plain list of layers.
    """
    trunk = model.base_model
    layers = getattr(trunk, "layers", None)
    if not isinstance(layers, nn.ModuleList):
        raise InvalidInputError("loop", f"{type(model).__name__} has no plain list of layers")
    if not 0 <= first <= last < len(layers):
        raise InvalidInputError(
            "loop", f"layers {first} to {last}, but the model has layers 0 to {len(layers) - 1}"
        )
    if times < 1:
        raise InvalidInputError("loop.times", f"{times}, but must be at least 1")
    order = looped(len(layers), first, last, times)
    config = trunk.config
    kinds = getattr(config, "layer_types", None)
    trunk.layers = nn.ModuleList(
        _at_place(layers[source], place) for place, source in enumerate(order)
    )
    config.num_hidden_layers = len(order)
    if kinds is not None:
        config.layer_types = [kinds[source] for source in order]


def _at_place(module: nn.Module, place: int) -> Any:
    """A copy that shares all parameters, with ``layer_idx`` set to ``place`` wherever it is."""
    moved: Any = copy.copy(module)
    moved._modules = {
        name: child if child is None or not _knows_place(child) else _at_place(child, place)
        for name, child in module._modules.items()
    }
    if hasattr(moved, "layer_idx"):
        moved.layer_idx = place
    return moved


def _knows_place(module: nn.Module) -> bool:
    return any(hasattr(part, "layer_idx") for part in module.modules())
