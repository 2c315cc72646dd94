"""The element-wise parts of a decoder layer, forward and backward, as Triton kernels.

Every kernel reads each of its inputs once and computes in float32. Sums go in a fixed order, so a
kernel gives the same bits again on the same device.
"""

# Triton's language is compiled, not run: Python's type rules do not apply to it.
# mypy: ignore-errors
# ruff: noqa: N803

from __future__ import annotations

import triton
import triton.language as tl

from thisthat.engine.cuda.token_kernels import rows_of


@triton.jit
def norm_back_kernel(
    total,
    weight,
    scales,
    d_normed,
    d_total,
    d_hidden,
    d_weights,
    rows,
    size,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """d_hidden = d_total + what comes back through the norm; d_weights has a sum per program."""
    program = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    known = at < size
    weights = tl.load(weight + at, mask=known, other=0.0).to(tl.float32)
    sums = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(program * ROWS, rows, tl.num_programs(0) * ROWS):
        row = start + tl.arange(0, ROWS)
        there = row < rows
        inside = there[:, None] & known[None, :]
        place = row.to(tl.int64)[:, None] * size + at[None, :]
        values = tl.load(total + place, mask=inside, other=0.0).to(tl.float32)
        from_norm = tl.load(d_normed + place, mask=inside, other=0.0).to(tl.float32)
        past_norm = tl.load(d_total + place, mask=inside, other=0.0).to(tl.float32)
        scale = tl.load(scales + row, mask=there, other=0.0)[:, None]
        unit = values * scale
        sums += from_norm * unit
        weighted = from_norm * weights[None, :]
        along = tl.sum(weighted * unit, 1)[:, None] / size
        result = past_norm + scale * (weighted - unit * along)
        tl.store(d_hidden + place, result.to(d_hidden.dtype.element_ty), mask=inside)
    own = d_weights + program.to(tl.int64) * size
    tl.store(own + at, tl.sum(sums, 0), mask=known)


@triton.jit
def rope_heads(
    source,
    source_row,
    source_token,
    source_head,
    target,
    target_row,
    target_token,
    target_head,
    row,
    token,
    there,
    cosine,
    sine,
    HEADS: tl.constexpr,
    HALF: tl.constexpr,
    WIDTH: tl.constexpr,
    ROPE: tl.constexpr,
):
    """The heads of one tensor in another, rotated by the angles or as they are.

    Each of the two has its own strides.
    """
    half = tl.arange(0, WIDTH)[None, :]
    read = source + row * source_row + token * source_token + half
    write = target + row * target_row + token * target_token + half
    kind = target.dtype.element_ty
    for head in range(HEADS):
        low = tl.load(read + head * source_head, mask=there, other=0.0)
        high = tl.load(read + head * source_head + HALF, mask=there, other=0.0)
        if ROPE:
            near, far = low.to(tl.float32), high.to(tl.float32)
            low = (near * cosine - far * sine).to(kind)
            high = (far * cosine + near * sine).to(kind)
        tl.store(write + head * target_head, low, mask=there)
        tl.store(write + head * target_head + HALF, high, mask=there)


@triton.jit
def rope_kernel(
    query,
    query_row,
    query_token,
    query_head,
    key,
    key_row,
    key_token,
    key_head,
    value,
    value_row,
    value_token,
    value_head,
    to_query,
    to_query_row,
    to_query_token,
    to_query_head,
    to_key,
    to_key_row,
    to_key_token,
    to_key_head,
    to_value,
    to_value_row,
    to_value_token,
    to_value_head,
    cosines,
    sines,
    tokens,
    length,
    HEADS: tl.constexpr,
    KEY_HEADS: tl.constexpr,
    HALF: tl.constexpr,
    WIDTH: tl.constexpr,
    BACK: tl.constexpr,
    STEP: tl.constexpr,
):
    """Queries and keys rotated to their positions, or BACK from them; values are copied.

    A head is twice HALF wide, and WIDTH is the power of two that holds HALF.
    """
    number = tl.program_id(0) * STEP + tl.arange(0, STEP)
    half = tl.arange(0, WIDTH)
    there = (number < tokens)[:, None] & (half < HALF)[None, :]
    row = (number // length).to(tl.int64)[:, None]
    token = (number % length).to(tl.int64)[:, None]
    angle = token * (2 * HALF) + half[None, :]
    cosine = tl.load(cosines + angle, mask=there, other=0.0).to(tl.float32)
    sine = tl.load(sines + angle, mask=there, other=0.0).to(tl.float32)
    if BACK:
        sine = -sine
    rope_heads(
        query,
        query_row,
        query_token,
        query_head,
        to_query,
        to_query_row,
        to_query_token,
        to_query_head,
        row,
        token,
        there,
        cosine,
        sine,
        HEADS,
        HALF,
        WIDTH,
        True,
    )
    rope_heads(
        key,
        key_row,
        key_token,
        key_head,
        to_key,
        to_key_row,
        to_key_token,
        to_key_head,
        row,
        token,
        there,
        cosine,
        sine,
        KEY_HEADS,
        HALF,
        WIDTH,
        True,
    )
    rope_heads(
        value,
        value_row,
        value_token,
        value_head,
        to_value,
        to_value_row,
        to_value_token,
        to_value_head,
        row,
        token,
        there,
        cosine,
        sine,
        KEY_HEADS,
        HALF,
        WIDTH,
        False,
    )


@triton.jit
def gate_kernel(both, out, rows, size, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """out[row] = silu(first half of both[row]) * second half."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    at = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)[None, :]
    inside = (row < rows) & (at < size)
    gate = tl.load(both + row * 2 * size + at, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(both + row * 2 * size + size + at, mask=inside, other=0.0).to(tl.float32)
    result = gate * tl.sigmoid(gate) * value
    tl.store(out + row * size + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def gate_back_kernel(both, d_out, d_both, rows, size, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """The gradients of both halves, written where the halves stand."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    at = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)[None, :]
    inside = (row < rows) & (at < size)
    place = row * 2 * size + at
    gate = tl.load(both + place, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(both + place + size, mask=inside, other=0.0).to(tl.float32)
    given = tl.load(d_out + row * size + at, mask=inside, other=0.0).to(tl.float32)
    opened = tl.sigmoid(gate)
    d_gate = given * value * opened * (1.0 + gate * (1.0 - opened))
    d_value = given * gate * opened
    tl.store(d_both + place, d_gate.to(d_both.dtype.element_ty), mask=inside)
    tl.store(d_both + place + size, d_value.to(d_both.dtype.element_ty), mask=inside)


@triton.jit
def round_kernel(x, out, rows, size, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Every row in whole multiples of its largest number / 127, halves to the even one."""
    _, _, inside, place = rows_of(rows, size, ROWS, WIDTH)
    values = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    step = tl.div_rn(tl.max(tl.abs(values), 1), 127.0)
    step = tl.maximum(step, 1e-12)[:, None]
    # 1.5 * 2**23: beside it float32 has no room for fractions, and rounds them as torch.round does.
    whole = tl.div_rn(values, step) + 12582912.0 - 12582912.0
    tl.store(out + place, (whole * step).to(out.dtype.element_ty), mask=inside)
