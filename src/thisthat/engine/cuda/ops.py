"""What a layer does to a tape besides matrix products, in plain torch: right anywhere, not fast.

The protocol, and the plain form that defines what the fused kernels must give. Padding tokens at
the end of a tape hold no meaning; nothing reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from thisthat.engine.cuda.shapes import AttentionShape, DeltaShape


@dataclass(frozen=True, slots=True)
class DeviceTables:
    """The tables of a tape where the model is; see ``layout.Tables``."""

    ids: Tensor
    positions: Tensor
    parents: Tensor
    since: Tensor
    until: Tensor
    shelve: Tensor
    blocks: Tensor
    chunks: Tensor
    leaves: Tensor
    slots: Tensor


@dataclass(frozen=True, slots=True)
class Rounded:
    """Rows of eight-bit floats, FLOAT8 [rows, columns], each times its scale [rows].

    ``form`` is the numeric form of what was rounded, and of products.
    """

    values: Tensor
    scales: Tensor
    form: torch.dtype


FLOAT8 = torch.float8_e4m3fn
LARGEST_FLOAT8 = 448.0
"""What the largest number of a rounded row becomes: the largest there is."""

Turns = tuple[Tensor, Tensor]
"""Cosines and sines [tokens, rotated pairs] of a tape's positions, float32."""


class TapeOps(Protocol):
    """Tapes are [tokens, columns]; norm weights are float32.

    A shelf is [2, places, key columns]: the rotated keys and the values of a layer's kept tokens.
    """

    def norm(self, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        """Each token divided by its root mean square and weighted."""

    def product(self, x: Tensor, weight: Tensor) -> Tensor:
        """x times the transposed weight, in float32, a token's the same whatever others there are.

        The weight is float32, with values that the numeric form of ``x`` holds exactly.
        """

    def gated_product(self, x: Tensor) -> Tensor:
        """Silu of the first half of the columns times the second half."""

    def rounded(self, x: Tensor) -> Rounded:
        """Every row in eight-bit floats."""

    def rounded_norm(
        self, x: Tensor, added: Tensor | None, weight: Tensor, epsilon: float
    ) -> Rounded:
        """``norm`` of x + added, rounded; ``x`` is that sum afterwards."""

    def rounded_gate(self, x: Tensor) -> Rounded:
        """``gated_product``, rounded."""

    def rounded_product(self, x: Rounded, weight: Rounded) -> Tensor:
        """x times the transposed weight."""

    def rotate(
        self,
        projected: Tensor,
        shape: AttentionShape,
        turns: Turns,
        weights: Tensor | None,
        tables: DeviceTables,
        shelf: Tensor | None,
    ) -> Tensor:
        """Queries and keys [tokens, heads, size]; ``weights`` [2, size] norm them first.

        Keys and values of tokens that have a place on the shelf are written there.
        """

    def attend(
        self,
        heads: Tensor,
        projected: Tensor,
        shape: AttentionShape,
        tables: DeviceTables,
        shelf: Tensor | None,
    ) -> Tensor:
        """Attention along each token's path, what is kept of it on the shelf included; gated where
        the shape says so."""

    def delta(
        self,
        projected: Tensor,
        shape: DeltaShape,
        taps: Tensor,
        log_decay: Tensor,
        decay_bias: Tensor,
        tables: DeviceTables,
    ) -> Tensor:
        """The gated delta rule along each token's path, after its convolution."""

    def gated_norm(self, x: Tensor, projected: Tensor, shape: DeltaShape, weight: Tensor) -> Tensor:
        """Each head normed, weighted and multiplied by silu of its output gate."""


class PlainOps:
    """The definition, token by token where that is clearest."""

    def norm(self, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        """See TapeOps."""
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
        return (wide * scale * weight).to(x.dtype)

    def product(self, x: Tensor, weight: Tensor) -> Tensor:
        """See TapeOps."""
        return functional.linear(x.float(), weight)

    def gated_product(self, x: Tensor) -> Tensor:
        """See TapeOps."""
        gate, value = x.float().chunk(2, dim=-1)
        return (functional.silu(gate) * value).to(x.dtype)

    def rounded(self, x: Tensor) -> Rounded:
        """See TapeOps."""
        return _rounded(x.float(), x.dtype)

    def rounded_norm(
        self, x: Tensor, added: Tensor | None, weight: Tensor, epsilon: float
    ) -> Rounded:
        """See TapeOps."""
        if added is not None:
            x += added
        return _rounded(self.norm(x.float(), weight, epsilon), x.dtype)

    def rounded_gate(self, x: Tensor) -> Rounded:
        """See TapeOps."""
        return _rounded(self.gated_product(x.float()), x.dtype)

    def rounded_product(self, x: Rounded, weight: Rounded) -> Tensor:
        """See TapeOps."""
        product = functional.linear(x.values.float(), weight.values.float())
        return (product * x.scales[:, None] * weight.scales).to(x.form)

    def rotate(
        self,
        projected: Tensor,
        shape: AttentionShape,
        turns: Turns,
        weights: Tensor | None,
        tables: DeviceTables,
        shelf: Tensor | None,
    ) -> Tensor:
        """See TapeOps."""
        tokens = projected.shape[0]
        queries = projected[:, : shape.first_key].view(tokens, shape.heads, shape.query_stride)
        keys = projected[:, shape.first_key : shape.first_value]
        heads = [
            queries[..., : shape.size].float(),
            keys.reshape(tokens, shape.key_heads, shape.size).float(),
        ]
        if weights is not None:
            heads = [
                self.norm(part, weight, shape.epsilon)
                for part, weight in zip(heads, weights, strict=True)
            ]
        both = torch.cat(heads, dim=1)
        cosine, sine = (part[:, None] for part in turns)
        half = shape.rotated // 2
        low, high, rest = torch.split(both, [half, half, shape.size - shape.rotated], dim=-1)
        turned = [low * cosine - high * sine, high * cosine + low * sine, rest]
        found = torch.cat(turned, dim=-1).to(projected.dtype)
        if shelf is not None:
            kept = tables.shelve >= 0
            at = tables.shelve[kept].long()
            shelf[0, at] = found[kept, shape.heads :].flatten(1)
            shelf[1, at] = projected[kept, shape.first_value :]
        return found

    def attend(
        self,
        heads: Tensor,
        projected: Tensor,
        shape: AttentionShape,
        tables: DeviceTables,
        shelf: Tensor | None,
    ) -> Tensor:
        """See TapeOps."""
        tokens = projected.shape[0]
        queries, keys = torch.split(heads.float(), [shape.heads, shape.key_heads], dim=1)
        values = projected[:, shape.first_value :].float().view(tokens, -1, shape.size)
        place = torch.arange(tokens, device=projected.device)
        row = torch.full((tokens,), -1, dtype=torch.int32, device=projected.device)
        kept = torch.zeros((tokens, 2), dtype=torch.int32, device=projected.device)
        for block in tables.blocks:
            first, end = block[:2].tolist()
            row[first:end] = block[2]
            kept[first:end] = block[5:7]
        seen = (
            (tables.since[None, :] <= place[:, None])
            & (place[:, None] < tables.until[None, :])
            & (row[:, None] == row[None, :])
        )
        if shelf is not None:
            there = torch.arange(shelf.shape[1], device=projected.device)
            on_shelf = (kept[:, :1] <= there) & (there < kept[:, 1:])
            seen = torch.cat([on_shelf, seen], dim=1)
            both = shelf.float().view(2, -1, shape.key_heads, shape.size)
            keys, values = (torch.cat(pair) for pair in zip(both, (keys, values), strict=True))
        group = shape.heads // shape.key_heads
        keys = keys.repeat_interleave(group, dim=1)
        values = values.repeat_interleave(group, dim=1)
        score = torch.einsum("qhd,khd->hqk", queries, keys) * shape.scale
        share = score.masked_fill(~seen, -1e30).softmax(-1)
        answer = torch.einsum("hqk,khd->qhd", share, values)
        if shape.gated:
            both = projected[:, : shape.first_key].view(tokens, shape.heads, shape.query_stride)
            answer = answer * torch.sigmoid(both[..., shape.size :].float())
        return answer.reshape(tokens, -1).to(projected.dtype)

    def delta(
        self,
        projected: Tensor,
        shape: DeltaShape,
        taps: Tensor,
        log_decay: Tensor,
        decay_bias: Tensor,
        tables: DeviceTables,
    ) -> Tensor:
        """See TapeOps."""
        tokens = projected.shape[0]
        parents = tables.parents.tolist()
        mixed = self._convolve(projected[:, : shape.convolved].float(), taps.float(), parents)
        inner = shape.key_heads * shape.key_size
        query, key, value = torch.split(mixed, [inner, inner, mixed.shape[1] - 2 * inner], dim=1)
        group = shape.value_heads // shape.key_heads
        query, key = (
            _of_length_one(part.view(tokens, shape.key_heads, shape.key_size)).repeat_interleave(
                group, dim=1
            )
            for part in (query, key)
        )
        value = value.reshape(tokens, shape.value_heads, shape.value_size)
        strength = projected[:, shape.first_strength : shape.first_decay].float().sigmoid()
        raw = projected[:, shape.first_decay :].float() + decay_bias
        decay = torch.exp(-log_decay.exp() * functional.softplus(raw))
        empty = torch.zeros(
            shape.value_heads, shape.key_size, shape.value_size, device=projected.device
        )
        states: list[Tensor] = []
        answers: list[Tensor] = []
        for token, parent in enumerate(parents):
            state = (states[parent] if parent >= 0 else empty) * decay[token, :, None, None]
            held = torch.einsum("hkv,hk->hv", state, key[token])
            change = (value[token] - held) * strength[token, :, None]
            state = state + key[token, :, :, None] * change[:, None, :]
            states.append(state)
            answers.append(torch.einsum("hkv,hk->hv", state, query[token]))
        answer = torch.stack(answers).mul(shape.key_size**-0.5)
        return answer.reshape(tokens, -1).to(projected.dtype)

    def gated_norm(self, x: Tensor, projected: Tensor, shape: DeltaShape, weight: Tensor) -> Tensor:
        """See TapeOps."""
        tokens = projected.shape[0]
        gate = projected[:, shape.convolved : shape.first_strength].float()
        normed = self.norm(x.float().view(tokens, -1, shape.value_size), weight, shape.epsilon)
        return (normed.reshape(tokens, -1) * functional.silu(gate)).to(projected.dtype)

    @staticmethod
    def _convolve(x: Tensor, taps: Tensor, parents: list[int]) -> Tensor:
        """Silu of the weighted sum of each token and those before it on its path."""
        total = torch.zeros_like(x)
        place = list(range(len(parents)))
        for back in range(taps.shape[1]):
            there = torch.tensor([at >= 0 for at in place], device=x.device)
            values = torch.where(there[:, None], x[[max(at, 0) for at in place]], 0.0)
            total += values * taps[:, taps.shape[1] - 1 - back]
            place = [parents[at] if at >= 0 else -1 for at in place]
        return functional.silu(total)


def _rounded(wide: Tensor, form: torch.dtype) -> Rounded:
    largest = wide.abs().amax(-1)
    # A row of zeros would be divided by zero.
    scales = torch.where(largest > 0, largest / LARGEST_FLOAT8, 1.0)
    return Rounded((wide / scales[:, None]).to(FLOAT8), scales, form)


def _of_length_one(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)
