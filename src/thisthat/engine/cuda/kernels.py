"""The tape's operations as Triton kernels. Knows shapes and tables, nothing of models.

Every program works on one row's tokens alone and in an order that depends only on that row, so a
row's result is the same whatever stands beside it on the tape. Sums are in float32.
"""

# Triton's language is compiled, not run: Python's type rules do not apply to it.
# mypy: ignore-errors
# ruff: noqa: N803

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def norm_kernel(x, weight, out, rows, size, epsilon, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """out[row] = x[row] / rms(x[row]) * weight."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, WIDTH)
    inside = (row < rows)[:, None] & (at < size)[None, :]
    place = row.to(tl.int64)[:, None] * size + at[None, :]
    values = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, 1) / size + epsilon)
    weights = tl.load(weight + at, mask=at < size, other=0.0)
    result = values * scale[:, None] * weights[None, :]
    tl.store(out + place, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _store_rounded(result, row, at, inside, out, scales, rows, size, LARGEST: tl.constexpr):
    """Rows in eight-bit floats, each with the scale that makes its largest number the largest."""
    largest = tl.max(tl.abs(result), 1)
    scale = tl.where(largest > 0, largest / LARGEST, 1.0)
    tl.store(scales + row, scale, mask=row < rows)
    place = row.to(tl.int64)[:, None] * size + at[None, :]
    tl.store(out + place, (result / scale[:, None]).to(out.dtype.element_ty), mask=inside)


@triton.jit
def round_kernel(
    x, out, scales, rows, size, LARGEST: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr
):
    """out[row] * scales[row] = x[row], as near as eight-bit floats are."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, WIDTH)
    inside = (row < rows)[:, None] & (at < size)[None, :]
    place = row.to(tl.int64)[:, None] * size + at[None, :]
    values = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    _store_rounded(values, row, at, inside, out, scales, rows, size, LARGEST)


@triton.jit
def rounded_norm_kernel(
    x,
    added,
    weight,
    out,
    scales,
    rows,
    size,
    epsilon,
    ADDED: tl.constexpr,
    LARGEST: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """x += added, and its norm as in norm_kernel, in eight-bit floats."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, WIDTH)
    inside = (row < rows)[:, None] & (at < size)[None, :]
    place = row.to(tl.int64)[:, None] * size + at[None, :]
    values = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    if ADDED:
        values += tl.load(added + place, mask=inside, other=0.0).to(tl.float32)
        total = values.to(x.dtype.element_ty)
        tl.store(x + place, total, mask=inside)
        values = total.to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, 1) / size + epsilon)
    weights = tl.load(weight + at, mask=at < size, other=0.0)
    result = values * scale[:, None] * weights[None, :]
    _store_rounded(result, row, at, inside, out, scales, rows, size, LARGEST)


@triton.jit
def rounded_gate_kernel(
    x, out, scales, rows, size, LARGEST: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr
):
    """silu(first half of x[row]) * second half, in eight-bit floats."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, WIDTH)
    inside = (row < rows)[:, None] & (at < size)[None, :]
    place = row.to(tl.int64)[:, None] * 2 * size + at[None, :]
    gate = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(x + place + size, mask=inside, other=0.0).to(tl.float32)
    result = gate * tl.sigmoid(gate) * value
    _store_rounded(result, row, at, inside, out, scales, rows, size, LARGEST)


@triton.jit
def product_kernel(
    x,
    weight,
    out,
    rows,
    size,
    columns,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEP: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """out = x @ weight.T in float32. Sums go in the same order however many rows there are."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, size, STEP):
        at = start + tl.arange(0, STEP)
        left = tl.load(
            x + row[:, None] * size + at[None, :],
            mask=(row < rows)[:, None] & (at < size)[None, :],
            other=0.0,
        )
        right = tl.load(
            weight + column[None, :] * size + at[:, None],
            mask=(column < columns)[None, :] & (at < size)[:, None],
            other=0.0,
        )
        total = tl.dot(left, right.to(left.dtype), total, input_precision=PRECISION)
    tl.store(
        out + row[:, None] * columns + column[None, :],
        total,
        mask=(row < rows)[:, None] & (column < columns)[None, :],
    )


@triton.jit
def gated_product_kernel(x, out, size, WIDTH: tl.constexpr):
    """out[row] = silu(first half of x[row]) * second half."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    inside = at < size
    gate = tl.load(x + row * 2 * size + at, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(x + row * 2 * size + size + at, mask=inside, other=0.0).to(tl.float32)
    result = gate * tl.sigmoid(gate) * value
    tl.store(out + row * size + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def rotate_kernel(
    projected,
    cosines,
    sines,
    weights,
    shelve,
    shelf,
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

    Keys and values of tokens with a place on the shelf go there as well.
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
            place = tl.load(shelve + token, mask=there, other=-1)
            kept = (place >= 0)[:, None]
            spot = shelf + place.to(tl.int64)[:, None] * width + (head - HEADS) * SIZE
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
    shelf,
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

    First what is kept on the shelf, then what all of the block sees, then the rest under a mask.
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
        values = shelf + tl.cast(places, tl.int64) * kept_width
        for start in range(tl.load(block + 5), kept_end, KEYS):
            there = start + tl.arange(0, KEYS)
            known = there < kept_end
            place = there.to(tl.int64) * kept_width + key_head * SIZE
            key = tl.load(shelf + place[None, :] + at[:, None], mask=known[None, :], other=0.0)
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


@triton.jit
def convolve_kernel(
    projected,
    taps,
    parents,
    out,
    tokens,
    columns,
    convolved,
    query_scale,
    KEY_HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    TAPS: tl.constexpr,
    STEP: tl.constexpr,
):
    """Queries, keys and values after the convolution along each token's own path.

    Queries and keys are brought to length one, queries then scaled.
    """
    token = tl.program_id(0) * STEP + tl.arange(0, STEP)
    head = tl.program_id(1)
    channel = head * SIZE + tl.arange(0, SIZE)
    place = token
    there = token < tokens
    total = tl.zeros([STEP, SIZE], tl.float32)
    for back in tl.static_range(TAPS):
        values = tl.load(
            projected + place.to(tl.int64)[:, None] * columns + channel[None, :],
            mask=there[:, None],
            other=0.0,
        ).to(tl.float32)
        weight = tl.load(taps + channel * TAPS + (TAPS - 1 - back)).to(tl.float32)
        total += values * weight[None, :]
        if back < TAPS - 1:
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
    out,
    convolved,
    KEY_HEADS: tl.constexpr,
    HEADS: tl.constexpr,
    KEY: tl.constexpr,
    VALUE: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The state of one leaf carried through its trunk's chunks and its own, which it answers."""
    leaf = tl.program_id(0)
    head = tl.program_id(1)
    at_value = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    shared = tl.load(leaves + leaf * 4)
    shared_end = tl.load(leaves + leaf * 4 + 1)
    own = tl.load(leaves + leaf * 4 + 2)
    own_end = tl.load(leaves + leaf * 4 + 3)
    if own >= own_end:
        return
    key_head = head // (HEADS // KEY_HEADS)
    kind = mixed.dtype.element_ty
    row = tl.arange(0, SIZE)
    at_key = tl.arange(0, KEY)
    state = tl.zeros([KEY, WIDTH], tl.float32)
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
