"""Makes the delta file of a trained model: the finest steps that fit, or products of a rank."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from thisthat.checkpoint.delta import (
    DOUBLINGS,
    FORMAT,
    LARGEST,
    NUMBERS,
    ROWS,
    SCALES,
    Storage,
    TensorEntry,
)
from thisthat.checkpoint.factors import factor_stream, nearest_factors
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.safetensors_file import safetensors_bytes
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.files import write_atomically

DEFAULT_TARGET_BYTES = 75_000_000
_EMBEDDING, _UNEMBEDDING = "model.embed_tokens.weight", "lm_head.weight"
_SAMPLE = 1 << 16
_ATTEMPTS, _CLOSE = 6, 0.98
_FINEST, _COARSEST = 2.0**-7, 2.0**3  # Steps, as multiples of a tensor's root mean square.


@dataclass(frozen=True, slots=True)
class TensorReport:
    """One tensor of a delta: how it is stored, its bytes, and |stored - true| / |true|.

    ``rank`` is that of a product.
    """

    name: str
    shape: tuple[int, ...]
    storage: Storage
    bytes: int
    relative_error: float
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class DeltaReport:
    """The result of making a delta; ``relative_error`` is over all tensors together."""

    bytes: int
    bits_per_weight: float
    relative_error: float
    tensors: tuple[TensorReport, ...]


@dataclass(frozen=True, slots=True)
class _Packed:
    entry: TensorEntry
    arrays: dict[str, NDArray[Any]]
    squared_error: float
    squared_size: float

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())


def make_delta(
    base: Weights,
    trained: Weights,
    path: Path,
    *,
    base_sha256: str,
    bits: float | None = None,
    target_bytes: int | None = None,
    rank: int | None = None,
) -> DeltaReport:
    """Writes ``trained - base`` to ``path``, at most ``target_bytes`` long or ``bits`` per weight.

    Without either the limit is 75 MB. With ``rank`` every matrix of differences becomes the nearest
    product of at most that rank. Raises CheckpointError naming a tensor that is missing, misshapen
    or not finite, InvalidInputError when the size cannot be met; an old file survives.
    """
    if bits is not None and target_bytes is not None:
        raise InvalidInputError("target_bytes", "give either bits or target_bytes, not both")
    if bits is not None and rank is not None:
        raise InvalidInputError("rank", "give either bits or rank, not both")
    _check_names(base, trained)
    weights = sum(tensor.size for tensor in base.values())
    if bits is not None:
        if not 0.1 <= bits <= 8:
            raise InvalidInputError("bits", f"is {bits}; it must lie in [0.1, 8]")
        target_bytes = math.ceil(bits * weights / 8)
    limit = DEFAULT_TARGET_BYTES if target_bytes is None else target_bytes
    if rank is None:
        differences = {name: _difference(name, base, trained) for name in base}
        packed, content = _pack_within(differences, limit, base_sha256)
    else:
        packed, content = _pack_products(base, trained, rank, limit, base_sha256)

    def write(file: BinaryIO) -> None:
        file.write(content)

    write_atomically(path, write)
    return _report(packed, len(content), weights)


def _check_names(base: Weights, trained: Weights) -> None:
    extra = set(trained) - set(base)
    tied = extra == {_UNEMBEDDING} and np.array_equal(trained[_UNEMBEDDING], trained[_EMBEDDING])
    if extra and not tied:
        raise CheckpointError(f"trained model: tensor {min(extra)} is missing from the base")
    for name in base:
        if name not in trained:
            raise CheckpointError(f"trained model: tensor {name} is missing")


def _difference(name: str, base: Weights, trained: Weights) -> NDArray[np.float32]:
    before, after = base[name], trained[name]
    if after.shape != before.shape:
        raise CheckpointError(
            f"trained model: tensor {name} has shape {after.shape}, the base {before.shape}"
        )
    difference = np.subtract(after, before, dtype=np.float32)
    if not np.isfinite(difference).all():
        raise CheckpointError(f"trained model: tensor {name} holds a number that is not finite")
    return difference


def _squared_size(difference: NDArray[np.float32]) -> float:
    flat = difference.reshape(-1)
    return float(np.dot(flat, flat))


def _root_mean_square(difference: NDArray[np.float32]) -> float:
    return math.sqrt(_squared_size(difference) / difference.size)


def _coarseness_for(differences: Mapping[str, NDArray[np.float32]], limit: int) -> float:
    """The smallest step (in root mean squares) whose size, estimated from samples, fits."""
    samples = []
    fixed = 300
    for name, difference in differences.items():
        fixed += 200 + len(name)
        size = _root_mean_square(difference)
        if size == 0:
            continue
        if difference.ndim < 2:
            fixed += difference.nbytes
            continue
        rows = difference.reshape(-1, difference.shape[-1])
        changed = rows[rows.any(axis=1)]
        fixed += 5 * len(changed)
        taken = changed.reshape(-1)[:: max(1, changed.size // _SAMPLE)]
        samples.append((taken / size, changed.size))
    low, high = math.log2(_FINEST), math.log2(_COARSEST)
    for _ in range(12):
        middle = (low + high) / 2
        estimate = fixed + sum(_entropy(taken, 2**middle) * n / 8 for taken, n in samples)
        low, high = (middle, high) if estimate > limit else (low, middle)
    return float(2**high)


def _entropy(values: NDArray[np.float32], step: float) -> float:
    numbers = np.clip(np.rint(values / step), -LARGEST, LARGEST).astype(np.int64) + LARGEST
    shares = np.bincount(numbers, minlength=2 * LARGEST + 1) / numbers.size
    shares = shares[shares > 0]
    return float(-(shares * np.log2(shares)).sum())


def _pack_within(
    differences: Mapping[str, NDArray[np.float32]], limit: int, base_sha256: str
) -> tuple[dict[str, _Packed], bytes]:
    """The packing with the finest step that fits; its size is just below the limit."""
    coarseness = _coarseness_for(differences, limit)
    weights = sum(difference.size for difference in differences.values())
    best: tuple[dict[str, _Packed], bytes] | None = None
    for _ in range(_ATTEMPTS):
        packed = _pack_all(differences, coarseness)
        content = _serialised(packed, base_sha256)
        if len(content) <= limit and (best is None or len(content) > len(best[1])):
            best = packed, content
        if best is not None and (len(best[1]) > _CLOSE * limit or coarseness == _FINEST):
            break
        # Halving the step costs every weight about one more bit.
        surplus_bits = 8 * (len(content) - (1 + _CLOSE) / 2 * limit) / weights
        coarseness = min(_COARSEST, max(_FINEST, coarseness * 2**surplus_bits))
    if best is None:
        raise InvalidInputError(
            "target_bytes", f"is {limit}; this delta takes at least {len(content)} bytes"
        )
    return best


def _pack_all(
    differences: Mapping[str, NDArray[np.float32]], coarseness: float
) -> dict[str, _Packed]:
    with ThreadPoolExecutor() as pool:
        done = pool.map(lambda difference: _pack(difference, coarseness), differences.values())
        return dict(zip(differences, done, strict=True))


def _pack_products(
    base: Weights, trained: Weights, rank: int, limit: int, base_sha256: str
) -> tuple[dict[str, _Packed], bytes]:
    """One difference after another, for all of them would need as much memory as the base."""
    if rank < 1:
        raise InvalidInputError("rank", f"is {rank}; it must be at least 1")
    packed = {name: _pack_product(_difference(name, base, trained), rank) for name in base}
    content = _serialised(packed, base_sha256)
    if len(content) > limit:
        raise InvalidInputError(
            "rank", f"is {rank}; this delta takes {len(content)} bytes, {limit} are allowed"
        )
    return packed, content


def _pack_product(difference: NDArray[np.float32], rank: int) -> _Packed:
    if difference.ndim < 2 or not difference.any():
        return _pack_plainly(difference)
    table = difference.reshape(-1, difference.shape[-1])
    factors = nearest_factors(table, rank)
    if not factors.rank:  # Smaller than any scale.
        return _pack_plainly(difference)
    error = (table - factors.product(len(table))).reshape(-1)
    arrays: dict[str, NDArray[Any]] = {
        NUMBERS: np.frombuffer(factor_stream(factors), np.uint8),
        SCALES: factors.scales,
    }
    entry = TensorEntry(difference.shape, "product", rank=factors.rank)
    return _Packed(entry, arrays, float(np.dot(error, error)), _squared_size(difference))


def _pack_plainly(difference: NDArray[np.float32]) -> _Packed:
    """Nothing where nothing changed, else the numbers themselves."""
    if not difference.any():
        return _Packed(TensorEntry(difference.shape, "zero"), {}, 0.0, 0.0)
    entry = TensorEntry(difference.shape, "exact")
    return _Packed(entry, {NUMBERS: difference}, 0.0, _squared_size(difference))


def _pack(difference: NDArray[np.float32], coarseness: float) -> _Packed:
    step = float(np.float32(_root_mean_square(difference) * coarseness))
    if difference.ndim < 2 or step == 0:
        return _pack_plainly(difference)
    table = difference.reshape(-1, difference.shape[-1])
    rows = np.flatnonzero(table.any(axis=1))
    changed = table[rows]
    largest = np.abs(changed).max(axis=1) / step
    doublings = np.maximum(0, np.ceil(np.log2(np.maximum(largest, 1) / LARGEST))).astype(np.uint8)
    steps = np.ldexp(np.float32(step), doublings.astype(np.int32)).astype(np.float32)[:, None]
    numbers = np.clip(np.rint(changed / steps), -LARGEST, LARGEST).astype(np.int8)
    error = (changed - numbers * steps).reshape(-1)
    coder = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_RLE)
    stream = coder.compress(numbers.tobytes()) + coder.flush()
    arrays: dict[str, NDArray[Any]] = {
        NUMBERS: np.frombuffer(stream, np.uint8),
        ROWS: rows.astype(np.int32),
        DOUBLINGS: doublings,
    }
    entry = TensorEntry(difference.shape, "steps", step)
    return _Packed(entry, arrays, float(np.dot(error, error)), _squared_size(difference))


def _serialised(packed: Mapping[str, _Packed], base_sha256: str) -> bytes:
    listed = {
        name: {"shape": list(tensor.entry.shape), "storage": tensor.entry.storage}
        | ({"step": tensor.entry.step} if tensor.entry.step else {})
        | ({"rank": tensor.entry.rank} if tensor.entry.rank else {})
        for name, tensor in packed.items()
    }
    metadata = {
        "format": FORMAT,
        "version": "2" if any(tensor.entry.rank for tensor in packed.values()) else "1",
        "base_sha256": base_sha256,
        "tensors": json.dumps(listed),
    }
    arrays = {
        f"{name}.{part}": np.ascontiguousarray(array)
        for name, tensor in packed.items()
        for part, array in tensor.arrays.items()
    }
    return safetensors_bytes(arrays, metadata)


def _report(packed: Mapping[str, _Packed], size: int, weights: int) -> DeltaReport:
    tensors = tuple(
        TensorReport(
            name,
            tensor.entry.shape,
            tensor.entry.storage,
            tensor.bytes,
            _ratio(tensor.squared_error, tensor.squared_size),
            tensor.entry.rank,
        )
        for name, tensor in packed.items()
    )
    error = sum(tensor.squared_error for tensor in packed.values())
    total = sum(tensor.squared_size for tensor in packed.values())
    return DeltaReport(size, 8 * size / weights, _ratio(error, total), tensors)


def _ratio(squared_error: float, squared_size: float) -> float:
    return math.sqrt(squared_error / squared_size) if squared_size else 0.0
