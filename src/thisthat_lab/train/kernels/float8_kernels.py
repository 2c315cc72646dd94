"""What a feed-forward part in eight-bit floats needs between its products, as Triton kernels.

Numbers are scaled, rounded to the eight-bit type of the tensor they are written to and kept within
its range, whose end is MOST; what is no number stays none. Every kernel reads each of its inputs
once and computes in float32.
"""

# Triton's language is compiled, not run: Python's type rules do not apply to it.
# mypy: ignore-errors
# ruff: noqa: N803

from __future__ import annotations

import triton
import triton.language as tl

from thisthat.engine.cuda.token_kernels import reciprocal_rms, rows_of


@triton.jit
def within(values, MOST: tl.constexpr):
    """The values, none of them beyond MOST."""
    return tl.clamp(values, -MOST, MOST, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def power_below(value):
    """The largest power of two that is not above a positive value."""
    return tl.exp2(tl.floor(tl.log2(value)))


@triton.jit
def transpose_kernel(x, out, rows, size, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """out = x transposed, in bytes."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    inside = (row < rows)[:, None] & (at < size)[None, :]
    given = tl.load(x + row.to(tl.int64)[:, None] * size + at[None, :], mask=inside, other=0)
    tl.store(out + at.to(tl.int64)[None, :] * rows + row[:, None], given, mask=inside)


@triton.jit
def weight_kernel(weight, largest, out, inverse, count, MOST: tl.constexpr, TILE: tl.constexpr):
    """A matrix under the scale that ``largest`` allows; ``inverse`` gets what undoes it."""
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    values = tl.load(weight + at, mask=at < count, other=0.0).to(tl.float32)
    scale = power_below(MOST / tl.maximum(tl.load(largest).to(tl.float32), 1e-30))
    scaled = within(values * scale, MOST).to(out.dtype.element_ty)
    tl.store(out + at, scaled, mask=at < count)
    if tl.program_id(0) == 0:
        tl.store(inverse, 1.0 / scale)


@triton.jit
def norm_kernel(
    hidden,
    added,
    weight,
    total,
    out,
    scales,
    inverse,
    rows,
    size,
    epsilon,
    MOST: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """total = hidden + added as it is stored, and its RMS norm under a scale.

    No number of a normed row is larger than the root of its size times its largest weight, which
    gives one scale for all rows; ``inverse`` gets what undoes it.
    """
    row, at, inside, place = rows_of(rows, size, ROWS, WIDTH)
    values = tl.load(hidden + place, mask=inside, other=0.0).to(tl.float32)
    more = tl.load(added + place, mask=inside, other=0.0).to(tl.float32)
    summed = (values + more).to(total.dtype.element_ty)
    tl.store(total + place, summed, mask=inside)
    values = summed.to(tl.float32)
    rms = reciprocal_rms(values, size, epsilon)
    tl.store(scales + row, rms, mask=row < rows)
    weights = tl.load(weight + at, mask=at < size, other=0.0).to(tl.float32)
    most = tl.maximum(tl.max(tl.abs(weights)), 1e-30) * tl.sqrt(size.to(tl.float32))
    scale = power_below(MOST / most)
    normed = values * rms[:, None] * (weights * scale)[None, :]
    tl.store(out + place, within(normed, MOST).to(out.dtype.element_ty), mask=inside)
    if tl.program_id(0) == 0:
        tl.store(inverse, 1.0 / scale)


@triton.jit
def gate_kernel(
    both,
    out,
    scaled_out,
    inverses,
    rows,
    size,
    MOST: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """silu(first half of both) * second half: as it is, and with a scale for every row."""
    row, at, inside, place = rows_of(rows, size, ROWS, WIDTH)
    given = row.to(tl.int64)[:, None] * (2 * size) + at[None, :]
    gate = tl.load(both + given, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(both + given + size, mask=inside, other=0.0).to(tl.float32)
    result = gate * tl.sigmoid(gate) * value
    tl.store(out + place, result.to(out.dtype.element_ty), mask=inside)
    inverse = tl.maximum(tl.max(tl.abs(result), 1), 1e-30) / MOST
    scaled = within(result / inverse[:, None], MOST)
    tl.store(scaled_out + place, scaled.to(scaled_out.dtype.element_ty), mask=inside)
    tl.store(inverses + row, inverse, mask=row < rows)


@triton.jit
def rows_kernel(
    x,
    out,
    inverses,
    largest,
    rows,
    size,
    MOST: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Rows with a scale for each; ``largest``, given as 0, gets the largest number of all."""
    row, _, inside, place = rows_of(rows, size, ROWS, WIDTH)
    values = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    most = tl.max(tl.abs(values), 1)
    tl.atomic_max(largest, tl.max(most))
    inverse = tl.maximum(most, 1e-30) / MOST
    scaled = within(values / inverse[:, None], MOST)
    tl.store(out + place, scaled.to(out.dtype.element_ty), mask=inside)
    tl.store(inverses + row, inverse, mask=row < rows)


@triton.jit
def gate_back_kernel(
    both,
    d_out,
    largest,
    d_both,
    inverse,
    rows,
    size,
    MOST: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The gradients of both halves, written where the halves stand, under one scale.

    It puts 16 where the ``largest`` gradient of the product behind stands: room for numbers some
    thousand times as large, and a million times as small before they lose bits. ``inverse`` gets
    what undoes it.
    """
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    at = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)[None, :]
    inside = (row < rows) & (at < size)
    place = row * 2 * size + at
    gate = tl.load(both + place, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(both + place + size, mask=inside, other=0.0).to(tl.float32)
    given = tl.load(d_out + row * size + at, mask=inside, other=0.0).to(tl.float32)
    scale = power_below(16.0 / tl.maximum(tl.load(largest), 1e-30))
    given *= scale
    opened = tl.sigmoid(gate)
    kind = d_both.dtype.element_ty
    d_gate = given * value * opened * (1.0 + gate * (1.0 - opened))
    tl.store(d_both + place, within(d_gate, MOST).to(kind), mask=inside)
    tl.store(d_both + place + size, within(given * gate * opened, MOST).to(kind), mask=inside)
    if (tl.program_id(0) == 0) & (tl.program_id(1) == 0):
        tl.store(inverse, 1.0 / scale)
