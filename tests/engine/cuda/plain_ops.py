"""``Ops`` in plain torch, right anywhere and not fast: what the fused kernels must give."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from thisthat.engine.cuda import ops
from thisthat.engine.cuda.ops import LARGEST_FLOAT8, Angles, DeviceTables, KeptStates, Rounded
from thisthat.engine.cuda.packed_batch import NOTHING_BEFORE
from thisthat.engine.cuda.shapes import AttentionShape, DeltaShape


class PlainOps:
    """The definition, token by token where that is clearest."""

    def norm(self, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        """See Ops."""
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
        return (wide * scale * weight).to(x.dtype)

    def product(self, x: Tensor, weight: Tensor) -> Tensor:
        """See Ops."""
        return functional.linear(x.float(), weight)

    def gated_product(self, x: Tensor) -> Tensor:
        """See Ops."""
        gate, value = x.float().chunk(2, dim=-1)
        return (functional.silu(gate) * value).to(x.dtype)

    def rounded(self, x: Tensor) -> Rounded:
        """See Ops."""
        return _rounded(x.float(), x.dtype)

    def rounded_norm(
        self, x: Tensor, added: Tensor | None, weight: Tensor, epsilon: float
    ) -> Rounded:
        """See Ops."""
        if added is not None:
            x += added
        return _rounded(self.norm(x.float(), weight, epsilon), x.dtype)

    def rounded_gate(self, x: Tensor) -> Rounded:
        """See Ops."""
        return _rounded(self.gated_product(x.float()), x.dtype)

    def rounded_product(self, x: Rounded, weight: Rounded) -> Tensor:
        """See Ops."""
        product = functional.linear(x.values.float(), weight.values.float())
        return (product * x.scales[:, None] * weight.scales).to(x.form)

    def rope(
        self,
        projected: Tensor,
        shape: AttentionShape,
        angles: Angles,
        weights: Tensor | None,
        tables: DeviceTables,
        prefix_kv: Tensor | None,
    ) -> Tensor:
        """See Ops."""
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
        cosine, sine = (part[:, None] for part in angles)
        half = shape.rotated // 2
        low, high, rest = torch.split(both, [half, half, shape.size - shape.rotated], dim=-1)
        turned = [low * cosine - high * sine, high * cosine + low * sine, rest]
        found = torch.cat(turned, dim=-1).to(projected.dtype)
        if prefix_kv is not None:
            kept = tables.keep_at >= 0
            at = tables.keep_at[kept].long()
            prefix_kv[0, at] = found[kept, shape.heads :].flatten(1)
            prefix_kv[1, at] = projected[kept, shape.first_value :]
        return found

    def attend(
        self,
        heads: Tensor,
        projected: Tensor,
        shape: AttentionShape,
        tables: DeviceTables,
        prefix_kv: Tensor | None,
    ) -> Tensor:
        """See Ops."""
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
        if prefix_kv is not None:
            there = torch.arange(prefix_kv.shape[1], device=projected.device)
            kept_seen = (kept[:, :1] <= there) & (there < kept[:, 1:])
            seen = torch.cat([kept_seen, seen], dim=1)
            both = prefix_kv.float().view(2, -1, shape.key_heads, shape.size)
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
        kept: KeptStates | None,
    ) -> Tensor:
        """See Ops."""
        tokens = projected.shape[0]
        parents = tables.parents.tolist()
        given = projected[:, : shape.convolved].float()
        mixed = self._convolve(given, taps.float(), parents, tables.history_at.tolist(), kept)
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
            before = empty
            if parent >= 0:
                before = states[parent]
            elif kept is not None and parent > NOTHING_BEFORE:
                before = kept.states[-1 - parent]
            state = before * decay[token, :, None, None]
            held = torch.einsum("hkv,hk->hv", state, key[token])
            change = (value[token] - held) * strength[token, :, None]
            state = state + key[token, :, :, None] * change[:, None, :]
            states.append(state)
            answers.append(torch.einsum("hkv,hk->hv", state, query[token]))
        for token, keep in enumerate(tables.history_at.tolist()):
            if keep >= 0 and kept is not None:
                kept.states[keep] = states[token]
        answer = torch.stack(answers).mul(shape.key_size**-0.5)
        return answer.reshape(tokens, -1).to(projected.dtype)

    def gated_norm(self, x: Tensor, projected: Tensor, shape: DeltaShape, weight: Tensor) -> Tensor:
        """See Ops."""
        tokens = projected.shape[0]
        gate = projected[:, shape.convolved : shape.first_strength].float()
        normed = self.norm(x.float().view(tokens, -1, shape.value_size), weight, shape.epsilon)
        return (normed.reshape(tokens, -1) * functional.silu(gate)).to(projected.dtype)

    @staticmethod
    def _convolve(
        x: Tensor,
        taps: Tensor,
        parents: list[int],
        history_at: list[int],
        kept: KeptStates | None,
    ) -> Tensor:
        """Silu of the weighted sum of each token and those before it on its path."""
        total = torch.zeros_like(x)
        for token in range(len(parents)):
            path, place = [], token
            while place >= 0 and len(path) < taps.shape[1]:
                path.append(x[place])
                place = parents[place]
            if kept is not None and NOTHING_BEFORE < place < 0:
                path += kept.history[-1 - place].float()
            path += [torch.zeros_like(x[0])] * taps.shape[1]
            seen = torch.stack(path[: taps.shape[1]])
            total[token] = (seen * taps.t().flip(0)).sum(0)
            if kept is not None and history_at[token] >= 0:
                kept.history[history_at[token]] = seen[:-1].to(kept.history.dtype)
        return functional.silu(total)


def _rounded(wide: Tensor, form: torch.dtype) -> Rounded:
    largest = wide.abs().amax(-1)
    # A row of zeros would be divided by zero.
    scales = torch.where(largest > 0, largest / LARGEST_FLOAT8, 1.0)
    return Rounded((wide / scales[:, None]).to(ops.FLOAT8), scales, form)


def _of_length_one(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)
