"""Attention over packed rows, causal or with open states, forward and backward, in Triton kernels.

They read queries, keys and values where the product before them left them, side by side, and
write gradients in the same places. Heads are rotated on the way, each token once in either
direction. A program owns a block of queries or of keys and is the only one that writes its
results, so a kernel gives the same bits again on the same device. Rows without open states are
told by None in place of ``until`` and ``since`` (see ``open_rows``), and compiled apart.
"""

# Triton's language is compiled, not run: Python's type rules do not apply to it.
# mypy: ignore-errors
# ruff: noqa: N803

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def block_of(table, BLOCK: tl.constexpr):
    """The first place of a block in its row; the row's start, length and first wanted place; and
    where numbers of its tokens stand in lists that give every block the same room.

    A table has a line of five numbers for every block; programs of the second axis are blocks.
    """
    line = table + tl.program_id(1) * 5
    start = tl.load(line + 1)
    first = tl.multiple_of(tl.load(line) - start, BLOCK)
    listed = tl.load(line + 4) * BLOCK
    return first, start, tl.load(line + 2) - start, tl.load(line + 3) - start, listed


@triton.jit
def roped(heads, cosines, sines, places, there, BACK: tl.constexpr):
    """Heads (tokens x width) rotated to their places, or BACK from them, in float32."""
    tokens: tl.constexpr = heads.shape[0]
    width: tl.constexpr = heads.shape[1]
    pairs = tl.permute(tl.reshape(heads.to(tl.float32), [tokens, 2, width // 2]), (0, 2, 1))
    low, high = tl.split(pairs)
    angle = places[:, None] * width + tl.arange(0, width // 2)[None, :]
    cosine = tl.load(cosines + angle, mask=there[:, None], other=0.0).to(tl.float32)
    sine = tl.load(sines + angle, mask=there[:, None], other=0.0).to(tl.float32)
    if BACK:
        sine = -sine
    pairs = tl.join(low * cosine - high * sine, high * cosine + low * sine)
    return tl.reshape(tl.permute(pairs, (0, 2, 1)), [tokens, width])


@triton.jit
def rope_keys_kernel(
    joined,
    table,
    cosines,
    sines,
    HEADS: tl.constexpr,
    KEY_HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Keys rotated to their places where they stand."""
    stride: tl.constexpr = (HEADS + 2 * KEY_HEADS) * WIDTH
    first, start, length, _, _ = block_of(table, BLOCK)
    places = first + tl.arange(0, BLOCK)
    there = places < length
    keys = joined + start.to(tl.int64) * stride + (HEADS + tl.program_id(0)) * WIDTH
    at = places[:, None] * stride + tl.arange(0, WIDTH)[None, :]
    given = tl.load(keys + at, mask=there[:, None], other=0.0)
    made = roped(given, cosines, sines, places, there, False)
    tl.store(keys + at, made.to(given.dtype), mask=there[:, None])


@triton.jit
def seen_block(keys, values, places, stride, length, WIDTH: tl.constexpr, EDGE: tl.constexpr):
    """Keys and values of some places; with EDGE some may stand behind the row."""
    at = places[:, None] * stride + tl.arange(0, WIDTH)[None, :]
    if EDGE:
        there = (places < length)[:, None]
        k = tl.load(keys + at, mask=there, other=0.0)
        v = tl.load(values + at, mask=there, other=0.0)
    else:
        k = tl.load(keys + at)
        v = tl.load(values + at)
    return k, v


@triton.jit
def sight_of(until, first, start, length, BLOCK: tl.constexpr):
    """The last key that each query of a block sees, the end of the key blocks that all of them see
    as a whole, and the end of the keys that any of them sees."""
    places = first + tl.arange(0, BLOCK)
    if until is None:
        last = places
        whole = first
        end = first + BLOCK
    else:
        until += start
        last = tl.load(until + tl.minimum(places, length - 1)) - start
        whole = (tl.load(until + first) - start + 1) // BLOCK * BLOCK
        end = tl.load(until + tl.minimum(first + BLOCK, length) - 1) - start + 1
    return last, whole, end


@triton.jit
def hide_unseen(scores, last, places, EDGE: tl.constexpr):
    """Scores of queries; with EDGE none is left for keys behind the last that a query sees."""
    if EDGE:
        scores = tl.where(last[:, None] < places[None, :], float("-inf"), scores)
    return scores


@triton.jit
def seen_steps(
    total,
    sums,
    largest,
    query,
    keys,
    values,
    stride,
    length,
    last,
    begin,
    end,
    factor,
    BLOCK: tl.constexpr,
    EDGE: tl.constexpr,
    STAGES: tl.constexpr,
):
    """The running total, sum and largest score of a block of queries after more keys.

    With EDGE some keys may stand behind the last that a query sees, or behind the row.
    """
    for key in tl.range(begin, end, BLOCK, num_stages=STAGES):
        places = key + tl.arange(0, BLOCK)
        k, v = seen_block(keys, values, places, stride, length, query.shape[1], EDGE)
        scores = tl.dot(query, k.T) * factor
        scores = hide_unseen(scores, last, places, EDGE)
        more = tl.maximum(largest, tl.max(scores, 1))
        shares = tl.exp2(scores - more[:, None])
        less = tl.exp2(largest - more)
        sums = sums * less + tl.sum(shares, 1)
        total = tl.dot(shares.to(v.dtype), v, total * less[:, None])
        largest = more
    return total, sums, largest


@triton.jit
def attend_kernel(
    joined,
    out,
    logs,
    table,
    until,
    cosines,
    sines,
    room,
    scale,
    HEADS: tl.constexpr,
    KEY_HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
):
    """What every query sees, and the logarithm (base 2) of its sum; rotates queries in place.

    ``logs`` has ``room`` numbers for every head.
    """
    stride: tl.constexpr = (HEADS + 2 * KEY_HEADS) * WIDTH
    head = tl.program_id(0)
    first, start, length, wanted, listed = block_of(table, BLOCK)
    if (first >= length) | (first + BLOCK <= wanted):
        return
    rows = joined + start.to(tl.int64) * stride
    at = tl.arange(0, WIDTH)[None, :]
    places = first + tl.arange(0, BLOCK)
    there = places < length
    asks = rows + places[:, None] * stride + head * WIDTH + at
    query = tl.load(asks, mask=there[:, None], other=0.0)
    query = roped(query, cosines, sines, places, there, False).to(query.dtype)
    tl.store(asks, query, mask=there[:, None])
    keys = rows + (HEADS + head // (HEADS // KEY_HEADS)) * WIDTH
    values = keys + KEY_HEADS * WIDTH
    factor = scale * 1.4426950408889634
    last, whole, end = sight_of(until, first, start, length, BLOCK)
    total = tl.zeros([BLOCK, WIDTH], tl.float32)
    sums = tl.zeros([BLOCK], tl.float32)
    largest = tl.full([BLOCK], float("-inf"), tl.float32)
    for edge in tl.static_range(2):
        total, sums, largest = seen_steps(
            total,
            sums,
            largest,
            query,
            keys,
            values,
            stride,
            length,
            last,
            whole if edge else 0,
            end if edge else whole,
            factor,
            BLOCK,
            edge == 1,
            STAGES,
        )
    target = out + start.to(tl.int64) * (HEADS * WIDTH) + head * WIDTH
    made = (total / sums[:, None]).to(out.dtype.element_ty)
    tl.store(target + places[:, None] * (HEADS * WIDTH) + at, made, mask=there[:, None])
    # No score is left of a query behind the row.
    log = tl.where(there, largest + tl.log2(sums), float("inf"))
    tl.store(logs + head * room + listed + places, log)


@triton.jit
def query_steps(
    d_query,
    query,
    given,
    log,
    along,
    keys,
    values,
    stride,
    length,
    last,
    begin,
    end,
    factor,
    BLOCK: tl.constexpr,
    EDGE: tl.constexpr,
    STAGES: tl.constexpr,
):
    """The gradient of a block of queries after more keys; EDGE as for ``seen_steps``."""
    for key in tl.range(begin, end, BLOCK, num_stages=STAGES):
        places = key + tl.arange(0, BLOCK)
        k, v = seen_block(keys, values, places, stride, length, query.shape[1], EDGE)
        scores = tl.dot(query, k.T) * factor - log[:, None]
        scores = hide_unseen(scores, last, places, EDGE)
        d_scores = tl.exp2(scores) * (tl.dot(given, v.T) - along[:, None])
        d_query = tl.dot(d_scores.to(k.dtype), k, d_query)
    return d_query


@triton.jit
def back_query_kernel(
    joined,
    out,
    d_out,
    logs,
    alongs,
    d_joined,
    table,
    until,
    cosines,
    sines,
    room,
    scale,
    HEADS: tl.constexpr,
    KEY_HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
):
    """The gradient of queries, rotated back; ``alongs`` gets each output times its gradient."""
    stride: tl.constexpr = (HEADS + 2 * KEY_HEADS) * WIDTH
    head = tl.program_id(0)
    first, start, length, wanted, listed = block_of(table, BLOCK)
    if first >= length:
        return
    at = tl.arange(0, WIDTH)[None, :]
    places = first + tl.arange(0, BLOCK)
    there = places < length
    own = start.to(tl.int64) * stride + places[:, None] * stride + head * WIDTH + at
    d_query = tl.zeros([BLOCK, WIDTH], tl.float32)
    if first + BLOCK > wanted:
        ask = start.to(tl.int64) * (HEADS * WIDTH) + head * WIDTH
        ask += places[:, None] * (HEADS * WIDTH) + at
        query = tl.load(joined + own, mask=there[:, None], other=0.0)
        given = tl.load(d_out + ask, mask=there[:, None], other=0.0)
        made = tl.load(out + ask, mask=there[:, None], other=0.0)
        along = tl.sum(given.to(tl.float32) * made.to(tl.float32), 1)
        line = head * room + listed + places
        tl.store(alongs + line, along)
        log = tl.load(logs + line)
        keys = joined + start.to(tl.int64) * stride
        keys += (HEADS + head // (HEADS // KEY_HEADS)) * WIDTH
        values = keys + KEY_HEADS * WIDTH
        factor = scale * 1.4426950408889634
        last, whole, end = sight_of(until, first, start, length, BLOCK)
        for edge in tl.static_range(2):
            d_query = query_steps(
                d_query,
                query,
                given,
                log,
                along,
                keys,
                values,
                stride,
                length,
                last,
                whole if edge else 0,
                end if edge else whole,
                factor,
                BLOCK,
                edge == 1,
                STAGES,
            )
        d_query = roped(d_query * scale, cosines, sines, places, there, True)
    tl.store(d_joined + own, d_query.to(d_joined.dtype.element_ty), mask=there[:, None])


@triton.jit
def back_key_kernel(
    joined,
    d_out,
    logs,
    alongs,
    d_joined,
    table,
    since,
    cosines,
    sines,
    room,
    scale,
    HEADS: tl.constexpr,
    KEY_HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
):
    """The gradients of keys, rotated back, and of values: sums over the heads that share them."""
    stride: tl.constexpr = (HEADS + 2 * KEY_HEADS) * WIDTH
    group: tl.constexpr = HEADS // KEY_HEADS
    key_head = tl.program_id(0)
    first, start, length, wanted, listed = block_of(table, BLOCK)
    if first >= length:
        return
    rows = joined + start.to(tl.int64) * stride
    asks = rows + key_head * group * WIDTH
    gives = d_out + start.to(tl.int64) * (HEADS * WIDTH) + key_head * group * WIDTH
    line = key_head * group * room + listed
    at = tl.arange(0, WIDTH)[None, :]
    places = first + tl.arange(0, BLOCK)
    there = places < length
    at_key = places[:, None] * stride + (HEADS + key_head) * WIDTH + at
    at_value = at_key + KEY_HEADS * WIDTH
    key = tl.load(rows + at_key, mask=there[:, None], other=0.0)
    value = tl.load(rows + at_value, mask=there[:, None], other=0.0)
    factor = scale * 1.4426950408889634
    d_key = tl.zeros([BLOCK, WIDTH], tl.float32)
    d_value = tl.zeros([BLOCK, WIDTH], tl.float32)
    if since is None:
        seen = places
        begin = first
    else:
        since += start
        seen = tl.load(since + tl.minimum(places, length - 1)) - start
        begin = (tl.load(since + first) - start) // BLOCK * BLOCK
    begin = tl.maximum(begin, wanted // BLOCK * BLOCK)
    steps = tl.cdiv(length - begin, BLOCK)
    for step in tl.range(0, group * steps, num_stages=STAGES):
        head = step // steps
        ask = begin + (step - head * steps) * BLOCK + tl.arange(0, BLOCK)
        asked = ask < length
        q = tl.load(
            asks + ask[:, None] * stride + head * WIDTH + at, mask=asked[:, None], other=0.0
        )
        given = tl.load(
            gives + ask[:, None] * (HEADS * WIDTH) + head * WIDTH + at,
            mask=asked[:, None],
            other=0.0,
        )
        log = tl.load(logs + line + head * room + ask)
        along = tl.load(alongs + line + head * room + ask)
        scores = tl.dot(key, q.T) * factor - log[None, :]
        scores = tl.where(ask[None, :] < seen[:, None], float("-inf"), scores)
        shares = tl.exp2(scores)
        d_value = tl.dot(shares.to(given.dtype), given, d_value)
        d_scores = shares * (tl.dot(value, given.T) - along[None, :])
        d_key = tl.dot(d_scores.to(q.dtype), q, d_key)
    d_key = roped(d_key * scale, cosines, sines, places, there, True)
    target = d_joined + start.to(tl.int64) * stride
    kind = d_joined.dtype.element_ty
    tl.store(target + at_key, d_key.to(kind), mask=there[:, None])
    tl.store(target + at_value, d_value.to(kind), mask=there[:, None])
