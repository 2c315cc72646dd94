"""What a backbone remembers of tokens it has read, and how that is forked and batched.

Wraps the cache of `transformers`: keys and values, and for recurrent layers their recurrent and
convolution states. A kept state is never changed: a pass continues a copy.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache, DynamicLayer, LinearAttentionLayer


@dataclass(frozen=True, slots=True)
class KeptState:
    """Row ``index`` of a batched cache that has read ``length`` tokens."""

    cache: Any
    index: int
    length: int

    def alone(self) -> KeptState:
        """The same state holding no memory of the rest of its batch."""
        return KeptState(_select(self.cache, [self.index]), 0, self.length)

    @property
    def bytes(self) -> int:
        """Memory of the whole cache this state is a row of."""
        return sum(tensor.nbytes for tensor in _tensors(self.cache))


def empty_cache(config: Any) -> Any:
    """A cache for a pass that starts at the first token and whose state is to be kept."""
    return DynamicCache(config=config)


def layer_kinds(config: Any) -> frozenset[type]:
    """The kinds of cache layers a backbone of this configuration uses."""
    return frozenset(type(layer) for layer in DynamicCache(config=config).layers)


def can_stack(kinds: frozenset[type]) -> bool:
    """Whether states that come from different passes can run in one batch."""
    return kinds <= {DynamicLayer, LinearAttentionLayer}


def reads_every_token(kinds: frozenset[type]) -> bool:
    """Whether every layer attends to all earlier tokens, so that a tree mask says it all."""
    return kinds == {DynamicLayer}


def continued(states: Sequence[KeptState]) -> Any:
    """A new batched cache that continues the states, one row each; the states stay as they are.

    Where lengths differ (only for kinds that ``can_stack``), shorter keys and values are padded on
    the right up to the longest, and the caller masks that padding.
    """
    first = states[0].cache
    if all(state.cache is first for state in states):
        return _select(first, [state.index for state in states])
    stacked = _sharing_tensors(first)
    for number, layer in enumerate(stacked.layers):
        rows = [(state.cache.layers[number], state.index) for state in states]
        if isinstance(layer, LinearAttentionLayer):
            _stack_recurrent(layer, rows)
        elif layer.keys is not None:
            layer.keys = _padded([source.keys[index] for source, index in rows])
            layer.values = _padded([source.values[index] for source, index in rows])
    return stacked


def _select(cache: Any, indices: list[int]) -> Any:
    selected = _sharing_tensors(cache)
    device = next(_tensors(cache)).device
    selected.reorder_cache(torch.tensor(indices, device=device))
    return selected


def _stack_recurrent(layer: Any, rows: Sequence[tuple[Any, int]]) -> None:
    for name in ("conv_states", "recurrent_states"):
        states = getattr(layer, name)
        for key, state in states.items():
            if state is not None:
                states[key] = torch.stack([getattr(source, name)[key][i] for source, i in rows])


def _padded(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors [heads, length, size] as one [batch, heads, longest, size]."""
    longest = max(tensor.shape[-2] for tensor in tensors)
    heads, _, size = tensors[0].shape
    batch = tensors[0].new_zeros((len(tensors), heads, longest, size))
    for row, tensor in zip(batch, tensors, strict=True):
        row[:, : tensor.shape[-2]] = tensor
    return batch


def _sharing_tensors(cache: Any) -> Any:
    """A copy of the cache's structure whose tensors are still those of the original."""
    return copy.deepcopy(cache, {id(tensor): tensor for tensor in _tensors(cache)})


def _tensors(cache: Any) -> Iterator[Tensor]:
    for layer in cache.layers:
        for value in vars(layer).values():
            held = value.values() if isinstance(value, dict) else [value]
            yield from (item for item in held if isinstance(item, Tensor))
