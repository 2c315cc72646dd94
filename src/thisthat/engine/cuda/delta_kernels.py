"""The gated delta rule over packed batches as Triton kernels.

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
def convolve_kernel(
    projected,
    taps,
    parents,
    history_at,
    history,
    out,
    tokens,
    columns,
    convolved,
    query_scale,
    KEY_HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    TAPS: tl.constexpr,
    KEPT: tl.constexpr,
    NOTHING: tl.constexpr,
    STEP: tl.constexpr,
):
    """Queries, keys and values after the convolution along each token's own path.

    Queries and keys are brought to length one, queries then scaled. A path goes on from the
    history of its prefix, and what a prefix's last token sees becomes its history.
    """
    token = tl.program_id(0) * STEP + tl.arange(0, STEP)
    head = tl.program_id(1)
    channel = head * SIZE + tl.arange(0, SIZE)
    place = token
    there = token < tokens
    total = tl.zeros([STEP, SIZE], tl.float32)
    if KEPT:
        keep = tl.load(history_at + token, mask=there, other=-1)
        depth = tl.zeros([STEP], tl.int32)
    for back in tl.static_range(TAPS):
        values = tl.load(
            projected + place.to(tl.int64)[:, None] * columns + channel[None, :],
            mask=(there & (place >= 0))[:, None],
            other=0.0,
        )
        if KEPT:
            entry = (-1 - place).to(tl.int64) * (TAPS - 1) + depth
            before = tl.load(
                history + entry[:, None] * convolved + channel[None, :],
                mask=(there & (place < 0))[:, None],
                other=0.0,
            )
            values = tl.where((place < 0)[:, None], before, values)
            if back < TAPS - 1:
                entry = keep.to(tl.int64) * (TAPS - 1) + back
                tl.store(
                    history + entry[:, None] * convolved + channel[None, :],
                    values,
                    mask=(keep >= 0)[:, None],
                )
        values = values.to(tl.float32)
        weight = tl.load(taps + channel * TAPS + (TAPS - 1 - back)).to(tl.float32)
        total += values * weight[None, :]
        if back < TAPS - 1:
            if KEPT:
                depth = tl.where(place < 0, depth + 1, 0)
                further = tl.load(parents + place, mask=there & (place >= 0), other=NOTHING)
                place = tl.where(place >= 0, further, place)
                there = there & (place > NOTHING)
            else:
                place = tl.load(parents + place, mask=there, other=-1)
                there = place >= 0
    total = total * tl.sigmoid(total)
    if head < 2 * KEY_HEADS:
        length = tl.rsqrt(tl.sum(total * total, 1) + 1e-6)
        if head < KEY_HEADS:
            length = length * query_scale
        total = total * length[:, None]
    tl.store(
        out + token.to(tl.int64)[:, None] * convolved + channel[None, :],
        total.to(out.dtype.element_ty),
        mask=(token < tokens)[:, None],
    )


@triton.jit
def delta_chunk_kernel(
    mixed,
    projected,
    chunks,
    log_decay,
    decay_bias,
    fresh,
    erased,
    decayed,
    columns,
    convolved,
    first_strength,
    first_decay,
    KEY_HEADS: tl.constexpr,
    HEADS: tl.constexpr,
    KEY: tl.constexpr,
    VALUE: tl.constexpr,
    SIZE: tl.constexpr,
    PRECISION: tl.constexpr,
    SOLVE: tl.constexpr,
):
    """What each chunk adds to and takes from the state before it, and its summed decay.

    The rows of a chunk depend on each other through a unit triangular system, whose inverse is
    built from blocks of twice the size at each step.
    """
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    first = tl.load(chunks + chunk * 2)
    end = tl.load(chunks + chunk * 2 + 1)
    if first >= end:
        return
    row = tl.arange(0, SIZE)
    token = (first + row).to(tl.int64)
    inside = first + row < end
    key_head = head // (HEADS // KEY_HEADS)
    at_key = tl.arange(0, KEY)
    at_value = tl.arange(0, VALUE)
    strength = tl.load(projected + token * columns + first_strength + head, mask=inside, other=0.0)
    strength = tl.where(inside, tl.sigmoid(strength.to(tl.float32)), 0.0)
    raw = tl.load(projected + token * columns + first_decay + head, mask=inside, other=0.0)
    raw = raw.to(tl.float32) + tl.load(decay_bias + head)
    soft = tl.where(raw > 20.0, raw, tl.log(1.0 + tl.exp(tl.minimum(raw, 20.0))))
    step = tl.where(inside, -tl.exp(tl.load(log_decay + head)) * soft, 0.0)
    summed = tl.cumsum(step, 0)
    tl.store(decayed + token * HEADS + head, summed, mask=inside)
    key = tl.load(
        mixed + token[:, None] * convolved + (KEY_HEADS + key_head) * KEY + at_key[None, :],
        mask=inside[:, None],
        other=0.0,
    )
    earlier = row[:, None] > row[None, :]
    apart = tl.where(earlier, summed[:, None] - summed[None, :], 0.0)
    coupling = tl.dot(key, tl.trans(key), input_precision=PRECISION)
    coupling = tl.where(earlier, coupling * strength[:, None] * tl.exp(apart), 0.0)
    same = (row[:, None] // 2) == (row[None, :] // 2)
    inverse = tl.where(row[:, None] == row[None, :], 1.0, 0.0) - tl.where(same, coupling, 0.0)
    for level in tl.static_range(1, 6):
        width = 2**level
        below = ((row[:, None] // width) != (row[None, :] // width)) & (
            (row[:, None] // (2 * width)) == (row[None, :] // (2 * width))
        )
        part = tl.where(below, coupling, 0.0)
        part = tl.dot(inverse, part, input_precision=SOLVE)
        inverse -= tl.dot(part, inverse, input_precision=SOLVE)
    kind = key.dtype
    value = tl.load(
        mixed + token[:, None] * convolved + 2 * KEY_HEADS * KEY + head * VALUE + at_value[None, :],
        mask=inside[:, None],
        other=0.0,
    )
    inverse = inverse.to(kind)
    added = (value.to(tl.float32) * strength[:, None]).to(kind)
    added = tl.dot(inverse, added, input_precision=PRECISION)
    tl.store(
        fresh + token[:, None] * (HEADS * VALUE) + head * VALUE + at_value[None, :],
        added.to(kind),
        mask=inside[:, None],
    )
    taken = (key.to(tl.float32) * (strength * tl.exp(summed))[:, None]).to(kind)
    taken = tl.dot(inverse, taken, input_precision=PRECISION)
    tl.store(
        erased + token[:, None] * (HEADS * KEY) + head * KEY + at_key[None, :],
        taken.to(kind),
        mask=inside[:, None],
    )


@triton.jit
def read_chunk(
    mixed,
    fresh,
    erased,
    decayed,
    first,
    end,
    head,
    key_head,
    at_value,
    before,
    convolved,
    KEY_HEADS: tl.constexpr,
    HEADS: tl.constexpr,
    KEY: tl.constexpr,
    VALUE: tl.constexpr,
    SIZE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The keys, corrected values and summed decays of a chunk after the state ``before``."""
    row = tl.arange(0, SIZE)
    at_key = tl.arange(0, KEY)
    token = (first + row).to(tl.int64)
    inside = first + row < end
    summed = tl.load(decayed + token * HEADS + head, mask=inside, other=0.0)
    taken = tl.load(
        erased + token[:, None] * (HEADS * KEY) + head * KEY + at_key[None, :],
        mask=inside[:, None],
        other=0.0,
    )
    added = tl.load(
        fresh + token[:, None] * (HEADS * VALUE) + head * VALUE + at_value[None, :],
        mask=inside[:, None],
        other=0.0,
    )
    value = added.to(tl.float32) - tl.dot(taken, before, input_precision=PRECISION)
    key = tl.load(
        mixed + token[None, :] * convolved + (KEY_HEADS + key_head) * KEY + at_key[:, None],
        mask=inside[None, :],
        other=0.0,
    )
    return key, value, summed


@triton.jit
def advance(
    state,
    key,
    value,
    summed,
    decayed,
    first,
    end,
    head,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The state after a chunk."""
    inside = first + tl.arange(0, SIZE) < end
    last = tl.load(decayed + (end - 1).to(tl.int64) * HEADS + head)
    left = tl.where(inside, tl.exp(last - summed), 0.0)
    value = (value * left[:, None]).to(key.dtype)
    return state * tl.exp(last) + tl.dot(key, value, input_precision=PRECISION)


@triton.jit
def delta_scan_kernel(
    mixed,
    fresh,
    erased,
    decayed,
    chunks,
    leaves,
    states,
    out,
    convolved,
    KEY_HEADS: tl.constexpr,
    HEADS: tl.constexpr,
    KEY: tl.constexpr,
    VALUE: tl.constexpr,
    SIZE: tl.constexpr,
    KEPT: tl.constexpr,
    LEAF_COLUMNS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The state of one leaf carried through its trunk's chunks and its own, which it answers.

    It starts with nothing or a kept state, and may be kept itself.
    """
    leaf = tl.program_id(0)
    head = tl.program_id(1)
    at_value = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    leaves += leaf * LEAF_COLUMNS
    shared = tl.load(leaves)
    shared_end = tl.load(leaves + 1)
    own = tl.load(leaves + 2)
    own_end = tl.load(leaves + 3)
    if own >= own_end:
        return
    key_head = head // (HEADS // KEY_HEADS)
    kind = mixed.dtype.element_ty
    row = tl.arange(0, SIZE)
    at_key = tl.arange(0, KEY)
    state = tl.zeros([KEY, WIDTH], tl.float32)
    if KEPT:
        kept = tl.load(leaves + 4)
        keep = tl.load(leaves + 5)
        states += (head * KEY + at_key)[:, None] * VALUE + at_value[None, :]
        apart_by: tl.constexpr = HEADS * KEY * VALUE
        state = tl.load(
            states + kept.to(tl.int64) * apart_by,
            mask=(at_key >= 0)[:, None] & (kept >= 0),
            other=0.0,
        )
    for chunk in range(shared, shared_end):
        first = tl.load(chunks + chunk * 2)
        end = tl.load(chunks + chunk * 2 + 1)
        key, value, summed = read_chunk(
            mixed,
            fresh,
            erased,
            decayed,
            first,
            end,
            head,
            key_head,
            at_value,
            state.to(kind),
            convolved,
            KEY_HEADS,
            HEADS,
            KEY,
            VALUE,
            SIZE,
            PRECISION,
        )
        state = advance(
            state, key, value, summed, decayed, first, end, head, HEADS, SIZE, PRECISION
        )
    for chunk in range(own, own_end):
        first = tl.load(chunks + chunk * 2)
        end = tl.load(chunks + chunk * 2 + 1)
        before = state.to(kind)
        key, value, summed = read_chunk(
            mixed,
            fresh,
            erased,
            decayed,
            first,
            end,
            head,
            key_head,
            at_value,
            before,
            convolved,
            KEY_HEADS,
            HEADS,
            KEY,
            VALUE,
            SIZE,
            PRECISION,
        )
        token = (first + row).to(tl.int64)
        inside = first + row < end
        query = tl.load(
            mixed + token[:, None] * convolved + key_head * KEY + at_key[None, :],
            mask=inside[:, None],
            other=0.0,
        )
        earlier = (row[:, None] >= row[None, :]) & inside[:, None]
        apart = tl.where(earlier, summed[:, None] - summed[None, :], 0.0)
        within = tl.dot(query, key, input_precision=PRECISION)
        within = tl.where(earlier, within * tl.exp(apart), 0.0)
        answer = tl.dot(query, before, input_precision=PRECISION) * tl.exp(summed)[:, None]
        answer += tl.dot(within.to(kind), value.to(kind), input_precision=PRECISION)
        tl.store(
            out + token[:, None] * (HEADS * VALUE) + head * VALUE + at_value[None, :],
            answer.to(kind),
            mask=inside[:, None],
        )
        state = advance(
            state, key, value, summed, decayed, first, end, head, HEADS, SIZE, PRECISION
        )
    if KEPT:
        tl.store(
            states + keep.to(tl.int64) * apart_by,
            state,
            mask=(at_key >= 0)[:, None] & (keep >= 0),
        )


@triton.jit
def gated_norm_kernel(
    x,
    projected,
    weight,
    out,
    rows,
    columns,
    first_gate,
    epsilon,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    STEP: tl.constexpr,
):
    """Each head's answer normed, weighted and multiplied by silu of its output gate."""
    row = tl.program_id(0) * STEP + tl.arange(0, STEP)
    there = row < rows
    at = tl.arange(0, SIZE)
    token = (row // HEADS).to(tl.int64)
    head = row % HEADS
    place = row.to(tl.int64)[:, None] * SIZE + at[None, :]
    values = tl.load(x + place, mask=there[:, None], other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, 1) / SIZE + epsilon)
    gate = tl.load(
        projected + token[:, None] * columns + first_gate + head[:, None] * SIZE + at[None, :],
        mask=there[:, None],
        other=0.0,
    ).to(tl.float32)
    weights = tl.load(weight + at)
    result = values * scale[:, None] * weights[None, :] * gate * tl.sigmoid(gate)
    tl.store(out + place, result.to(out.dtype.element_ty), mask=there[:, None])
