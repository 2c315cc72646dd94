"""Norms, gates and products of single tokens as Triton kernels.

A token's result does not depend on the tokens beside it. Sums are in float32.
"""

# Triton's language is compiled, not run: Python's type rules do not apply to it.
# mypy: ignore-errors
# ruff: noqa: N803

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def rows_of(rows, size, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """A program's rows, the columns of one, which of these numbers exist, and where they stand."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, WIDTH)
    inside = (row < rows)[:, None] & (at < size)[None, :]
    return row, at, inside, row.to(tl.int64)[:, None] * size + at[None, :]


@triton.jit
def reciprocal_rms(values, size, epsilon):
    """1 / the root of the mean square of each row."""
    return tl.rsqrt(tl.sum(values * values, 1) / size + epsilon)


@triton.jit
def norm_kernel(
    hidden,
    added,
    weight,
    total,
    normed,
    scales,
    rows,
    size,
    epsilon,
    ADDED: tl.constexpr,
    SCALES: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """total = hidden + added as it is stored, normed = total / rms(total) * weight.

    Without ADDED the total is ``hidden`` and is not written. With SCALES ``scales`` gets each row's
    reciprocal RMS, for a backward pass.
    """
    row, at, inside, place = rows_of(rows, size, ROWS, WIDTH)
    values = tl.load(hidden + place, mask=inside, other=0.0)
    if ADDED:
        more = tl.load(added + place, mask=inside, other=0.0)
        values = (values.to(tl.float32) + more.to(tl.float32)).to(total.dtype.element_ty)
        tl.store(total + place, values, mask=inside)
    values = values.to(tl.float32)
    scale = reciprocal_rms(values, size, epsilon)
    weights = tl.load(weight + at, mask=at < size, other=0.0).to(tl.float32)
    result = values * scale[:, None] * weights[None, :]
    tl.store(normed + place, result.to(normed.dtype.element_ty), mask=inside)
    if SCALES:
        tl.store(scales + row, scale, mask=row < rows)


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
    row, at, inside, place = rows_of(rows, size, ROWS, WIDTH)
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
    row, at, inside, place = rows_of(rows, size, ROWS, WIDTH)
    values = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    if ADDED:
        values += tl.load(added + place, mask=inside, other=0.0).to(tl.float32)
        total = values.to(x.dtype.element_ty)
        tl.store(x + place, total, mask=inside)
        values = total.to(tl.float32)
    scale = reciprocal_rms(values, size, epsilon)
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
