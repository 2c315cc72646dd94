"""Rope and attention over packed batches as Triton kernels.

Every program works on one row's tokens alone and in an order that depends only on that row, so a
row's result is the same whatever stands beside it in the batch. Sums are in float32.
"""

# Triton's language is compiled, not run: Python's type rules do not apply to it.
# mypy: ignore-errors
# ruff: noqa: N803

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def rope_kernel(
    projected,
    cosines,
    sines,
    weights,
    keep_at,
    prefix_kv,
    out,
    tokens,
    columns,
    query_stride,
    first_key,
    first_value,
    places,
    epsilon,
    HEADS: tl.constexpr,
    ALL_HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    HALF: tl.constexpr,
    PADDED: tl.constexpr,
    NORMED: tl.constexpr,
    KEPT: tl.constexpr,
    STEP: tl.constexpr,
):
    """Queries and keys, normed where the model does so, rotated to their positions.

    Keys and values of tokens with a place in the prefix slots go there as well.
    """
    token = tl.program_id(0) * STEP + tl.arange(0, STEP)
    head = tl.program_id(1)
    there = token < tokens
    is_query = head < HEADS
    column = tl.where(is_query, head * query_stride, first_key + (head - HEADS) * SIZE)
    source = projected + token.to(tl.int64)[:, None] * columns + column
    target = out + token.to(tl.int64)[:, None] * (ALL_HEADS * SIZE) + head * SIZE
    half = tl.arange(0, HALF)
    mask = there[:, None]
    low = tl.load(source + half[None, :], mask=mask, other=0.0).to(tl.float32)
    high = tl.load(source + HALF + half[None, :], mask=mask, other=0.0).to(tl.float32)
    if PADDED > 0:
        rest_at = tl.arange(0, PADDED)
        rest_mask = mask & (rest_at < SIZE - 2 * HALF)[None, :]
        rest = tl.load(source + 2 * HALF + rest_at[None, :], mask=rest_mask, other=0.0).to(
            tl.float32
        )
    if NORMED:
        squares = tl.sum(low * low, 1) + tl.sum(high * high, 1)
        if PADDED > 0:
            squares += tl.sum(rest * rest, 1)
        scale = tl.rsqrt(squares / SIZE + epsilon)[:, None]
        weight = weights + tl.where(is_query, 0, SIZE)
        low = low * scale * tl.load(weight + half)[None, :]
        high = high * scale * tl.load(weight + HALF + half)[None, :]
        if PADDED > 0:
            part = tl.load(weight + 2 * HALF + rest_at, mask=rest_at < SIZE - 2 * HALF, other=0.0)
            rest = rest * scale * part[None, :]
    angle = token[:, None] * HALF + half[None, :]
    cosine = tl.load(cosines + angle, mask=mask, other=0.0)
    sine = tl.load(sines + angle, mask=mask, other=0.0)
    kind = out.dtype.element_ty
    first = (low * cosine - high * sine).to(kind)
    second = (high * cosine + low * sine).to(kind)
    tl.store(target + half[None, :], first, mask=mask)
    tl.store(target + HALF + half[None, :], second, mask=mask)
    if PADDED > 0:
        tl.store(target + 2 * HALF + rest_at[None, :], rest.to(kind), mask=rest_mask)
    if KEPT:
        width: tl.constexpr = (ALL_HEADS - HEADS) * SIZE
        if head >= HEADS:
            place = tl.load(keep_at + token, mask=there, other=-1)
            kept = (place >= 0)[:, None]
            spot = prefix_kv + place.to(tl.int64)[:, None] * width + (head - HEADS) * SIZE
            tl.store(spot + half[None, :], first, mask=kept)
            tl.store(spot + HALF + half[None, :], second, mask=kept)
            if PADDED > 0:
                tl.store(spot + 2 * HALF + rest_at[None, :], rest.to(kind), mask=kept & rest_mask)
            at = tl.arange(0, SIZE)
            value = tl.load(
                projected
                + token.to(tl.int64)[:, None] * columns
                + first_value
                + (head - HEADS) * SIZE
                + at[None, :],
                mask=kept,
                other=0.0,
            )
            # The values stand behind the keys of all places.
            values = spot + tl.cast(places, tl.int64) * width
            tl.store(values + at[None, :], value, mask=kept)


@triton.jit
def attend_step(
    query,
    key,
    value,
    seen,
    most,
    total,
    result,
    scale,
    MASKED: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Softmax attention to some more keys: the new maxima, sums and weighted values.

    ``scale`` is in powers of two; maxima are too.
    """
    score = tl.dot(query, key, input_precision=PRECISION) * scale
    if MASKED:
        score = tl.where(seen, score, -1e30)
    peak = tl.maximum(most, tl.max(score, 1))
    kept = tl.exp2(most - peak)
    share = tl.exp2(score - peak[:, None])
    total = total * kept + tl.sum(share, 1)
    result = tl.dot(share.to(value.dtype), value, result * kept[:, None], input_precision=PRECISION)
    return peak, total, result


@triton.jit
def attend_kernel(
    heads,
    projected,
    prefix_kv,
    blocks,
    since,
    until,
    out,
    columns,
    query_stride,
    first_value,
    places,
    scale,
    HEADS: tl.constexpr,
    KEY_HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    GATED: tl.constexpr,
    KEPT: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Softmax attention of one block of queries over the tokens of its row that it may see.

    First the prefix slots, then what all of the block sees, then the rest under a mask.
    """
    block = blocks + tl.program_id(0) * BLOCK_COLUMNS
    head = tl.program_id(1)
    first = tl.load(block)
    end = tl.load(block + 1)
    if first >= end:
        return
    row_first = tl.load(block + 2)
    clear_end = tl.load(block + 3)
    seen_end = tl.load(block + 4)
    key_head = head // (HEADS // KEY_HEADS)
    width: tl.constexpr = (HEADS + KEY_HEADS) * SIZE
    here = first + tl.arange(0, ROWS)
    inside = here < end
    at = tl.arange(0, SIZE)
    query = tl.load(
        heads + here.to(tl.int64)[:, None] * width + head * SIZE + at[None, :],
        mask=inside[:, None],
        other=0.0,
    )
    most = tl.full([ROWS], -1e30, tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    result = tl.zeros([ROWS, SIZE], tl.float32)
    if KEPT:
        kept_end = tl.load(block + 6)
        kept_width: tl.constexpr = KEY_HEADS * SIZE
        values = prefix_kv + tl.cast(places, tl.int64) * kept_width
        for start in range(tl.load(block + 5), kept_end, KEYS):
            there = start + tl.arange(0, KEYS)
            known = there < kept_end
            place = there.to(tl.int64) * kept_width + key_head * SIZE
            key = tl.load(prefix_kv + place[None, :] + at[:, None], mask=known[None, :], other=0.0)
            value = tl.load(values + place[:, None] + at[None, :], mask=known[:, None], other=0.0)
            most, total, result = attend_step(
                query, key, value, known[None, :], most, total, result, scale, True, PRECISION
            )
    key_from = heads + (HEADS + key_head) * SIZE
    value_from = projected + first_value + key_head * SIZE
    clear_end = row_first + (clear_end - row_first) // KEYS * KEYS
    for start in range(row_first, clear_end, KEYS):
        there = (start + tl.arange(0, KEYS)).to(tl.int64)
        key = tl.load(key_from + there[None, :] * width + at[:, None])
        value = tl.load(value_from + there[:, None] * columns + at[None, :])
        most, total, result = attend_step(
            query, key, value, inside[:, None], most, total, result, scale, False, PRECISION
        )
    for start in range(clear_end, seen_end, KEYS):
        there = start + tl.arange(0, KEYS)
        known = there < seen_end
        wide = there.to(tl.int64)
        key = tl.load(
            key_from + wide[None, :] * width + at[:, None], mask=known[None, :], other=0.0
        )
        value = tl.load(
            value_from + wide[:, None] * columns + at[None, :], mask=known[:, None], other=0.0
        )
        seen_since = tl.load(since + there, mask=known, other=0)
        seen_until = tl.load(until + there, mask=known, other=0)
        seen = (seen_since[None, :] <= here[:, None]) & (here[:, None] < seen_until[None, :])
        most, total, result = attend_step(
            query, key, value, seen, most, total, result, scale, True, PRECISION
        )
    result = result / total[:, None]
    if GATED:
        gate = tl.load(
            projected
            + here.to(tl.int64)[:, None] * columns
            + head * query_stride
            + SIZE
            + at[None, :],
            mask=inside[:, None],
            other=0.0,
        ).to(tl.float32)
        result = result * tl.sigmoid(gate)
    tl.store(
        out + here.to(tl.int64)[:, None] * (HEADS * SIZE) + head * SIZE + at[None, :],
        result.to(out.dtype.element_ty),
        mask=inside[:, None],
    )
