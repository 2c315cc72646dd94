"""A trained model as its difference from the base: theta(lambda) = theta_0 + lambda * delta.

The file is a safetensors file. A tensor of two or more dimensions is stored as whole numbers from
-127 to 127, multiples of one step per tensor, in a zlib stream whose Huffman codes make the
frequent small numbers short: the step, not a fixed number of bits, sets size and error. Unchanged
rows are left out, a row with a number too large for a byte has its step doubled as often as needed,
and tensors of one dimension are stored exactly. Independent of cards and of where the base comes
from.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thisthat.checkpoint.fields import Fields
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.safetensors_file import SafetensorsFile, safetensors_bytes
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.files import write_atomically

DEFAULT_TARGET_BYTES = 75_000_000
_FORMAT, _VERSION = "thisthat-delta", "1"
_LARGEST = 127
_EMBEDDING, _UNEMBEDDING = "model.embed_tokens.weight", "lm_head.weight"
_NUMBERS, _ROWS, _DOUBLINGS = "numbers", "rows", "doublings"
_SAMPLE = 1 << 16
_ATTEMPTS, _CLOSE = 6, 0.98
_FINEST, _COARSEST = 2.0**-7, 2.0**3  # Steps, as multiples of a tensor's root mean square.

Storage: TypeAlias = Literal["zero", "exact", "steps"]
_STORAGES: tuple[Storage, ...] = ("zero", "exact", "steps")


@dataclass(frozen=True, slots=True)
class TensorReport:
    """One tensor of a delta: how it is stored, its bytes, and |stored - true| / |true|."""

    name: str
    shape: tuple[int, ...]
    storage: Storage
    bytes: int
    relative_error: float


@dataclass(frozen=True, slots=True)
class DeltaReport:
    """The result of making a delta; ``relative_error`` is over all tensors together."""

    bytes: int
    bits_per_weight: float
    relative_error: float
    tensors: tuple[TensorReport, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    shape: tuple[int, ...]
    storage: Storage
    step: float


@dataclass(frozen=True, slots=True)
class _Packed:
    entry: _Entry
    arrays: dict[str, NDArray[Any]]
    squared_error: float
    squared_size: float

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())


class Delta:
    """An opened delta file; tensors are decoded on demand.

    Raises CheckpointError for a damaged file or one of another format, naming the tensor.
    """

    def __init__(self, path: Path) -> None:
        self._file = SafetensorsFile(path)
        metadata = self._file.metadata
        if metadata.get("format") != _FORMAT or metadata.get("version") != _VERSION:
            raise CheckpointError(f"{path}: is not a delta of format {_FORMAT} {_VERSION}")
        try:
            listed = json.loads(metadata["tensors"])
            self.base_sha256 = metadata["base_sha256"]
            named = listed.items()
        except (KeyError, ValueError, AttributeError) as error:
            raise CheckpointError(f"{path}: the list of tensors is damaged ({error})") from error
        self.path = path
        self.entries = {name: self._entry(name, entry) for name, entry in named}

    def check_base(self, sha256: str) -> None:
        """Raises CheckpointError when the delta was made from another base."""
        if sha256 != self.base_sha256:
            raise CheckpointError(
                f"{self.path}: was made for the base with sha256 {self.base_sha256}, "
                f"not for {sha256}"
            )

    def tensor(self, name: str) -> NDArray[np.float32] | None:
        """The difference of one tensor in float32, or None where it is zero."""
        entry = self.entries[name]
        if entry.storage == "zero":
            return None
        if entry.storage == "exact":
            values = self._file.float32(f"{name}.{_NUMBERS}")
            self._expect(values.shape == entry.shape, name, "its shape differs from the list")
            self._expect(
                bool(np.isfinite(values).all()), name, "it holds a number that is not finite"
            )
            return values
        return self._decoded(name, entry)

    def stored_bytes(self, name: str) -> int:
        """The bytes a tensor takes in the file."""
        return sum(
            math.prod(shape) * self._file.stored(part).itemsize
            for part, shape in self._file.shapes().items()
            if part.rsplit(".", 1)[0] == name
        )

    def _decoded(self, name: str, entry: _Entry) -> NDArray[np.float32]:
        width = entry.shape[-1]
        rows = self._file.stored(f"{name}.{_ROWS}")
        doublings = self._file.stored(f"{name}.{_DOUBLINGS}")
        height = math.prod(entry.shape[:-1])
        inside = bool(rows.size == 0 or (rows.min() >= 0 and rows.max() < height))
        self._expect(inside and rows.size <= height, name, "a row number is out of range")
        self._expect(doublings.shape == rows.shape, name, "it has rows without a step")
        count = rows.size * width
        try:
            # The bound keeps a forged stream from exhausting memory.
            stream = zlib.decompressobj().decompress(
                self._file.stored(f"{name}.{_NUMBERS}").tobytes(), count + 1
            )
        except zlib.error as error:
            raise CheckpointError(f"{self.path}: tensor {name}: is damaged ({error})") from error
        self._expect(len(stream) == count, name, "it has too few or too many numbers")
        numbers = np.frombuffer(stream, np.int8).reshape(rows.size, width)
        with np.errstate(over="ignore"):
            steps = np.ldexp(np.float32(entry.step), doublings.astype(np.int32))
            finite = bool(np.isfinite(steps * _LARGEST).all())
        self._expect(finite, name, "a step is not finite")
        if rows.size == height:
            return np.multiply(numbers, steps[:, None], dtype=np.float32).reshape(entry.shape)
        values = np.zeros((height, width), np.float32)
        values[rows] = np.multiply(numbers, steps[:, None], dtype=np.float32)
        return values.reshape(entry.shape)

    def _entry(self, name: str, value: object) -> _Entry:
        fields = Fields(value, f"{self.path.name}: tensor {name}")
        storage = fields.one_of("storage", _STORAGES)
        step = fields.number("step", 0.0)
        shape = fields.free_list("shape")
        fields.finish()
        sound = all(isinstance(length, int) and length > 0 for length in shape) and shape
        self._expect(bool(sound), name, f"the shape {shape} is not possible")
        self._expect(storage != "steps" or (step > 0 and len(shape) > 1), name, "it has no step")
        return _Entry(tuple(shape), storage, step)

    def _expect(self, condition: bool, name: str, problem: str) -> None:
        if not condition:
            raise CheckpointError(f"{self.path}: tensor {name}: {problem}")


def apply_delta(base: Weights, delta: Delta, lam: float) -> Weights:
    """base + lam * delta. At lam 0 the result is ``base`` itself, untouched.

    Else ``base`` is emptied on the way, so that the memory need not hold both; no tensor is changed.
    Raises InvalidInputError for a lam outside [0, 1], CheckpointError naming a tensor that the base
    lacks or has in another shape.
    """
    check_lambda(lam)
    check_fits(base, delta)
    if lam == 0:
        return base

    def moved(name: str) -> NDArray[np.float32]:
        difference, before = delta.tensor(name), base.pop(name)
        if difference is None:
            return before
        if lam != 1:
            difference *= np.float32(lam)
        difference += before
        return difference

    names = list(base)
    with ThreadPoolExecutor() as pool:  # zlib and numpy release the interpreter lock.
        return dict(zip(names, pool.map(moved, names), strict=True))


def check_fits(base: Weights, delta: Delta) -> None:
    """Raises CheckpointError naming a tensor that only one of them has, or in another shape."""
    for name, entry in delta.entries.items():
        if name not in base:
            raise CheckpointError(f"{delta.path}: tensor {name} is missing from the base")
        if base[name].shape != entry.shape:
            raise CheckpointError(
                f"{delta.path}: tensor {name} has shape {entry.shape}, the base {base[name].shape}"
            )
    unlisted = sorted(set(base) - set(delta.entries))
    if unlisted:
        raise CheckpointError(f"{delta.path}: tensor {unlisted[0]} is missing from the delta")


def check_lambda(lam: float) -> None:
    """Raises InvalidInputError for a lambda outside [0, 1]."""
    if isinstance(lam, bool) or not isinstance(lam, Real) or not 0 <= lam <= 1:
        raise InvalidInputError("lambda", f"is {lam}; it must lie in [0, 1]")


def make_delta(
    base: Weights,
    trained: Weights,
    path: Path,
    *,
    base_sha256: str,
    bits: float | None = None,
    target_bytes: int | None = None,
) -> DeltaReport:
    """Writes ``trained - base`` to ``path``, at most ``target_bytes`` long or ``bits`` per weight.

    Without either the limit is 75 MB. Raises CheckpointError naming a tensor that is missing,
    misshapen or not finite, InvalidInputError when the size cannot be met; an old file survives.
    """
    if bits is not None and target_bytes is not None:
        raise InvalidInputError("target_bytes", "give either bits or target_bytes, not both")
    differences = _differences(base, trained)
    weights = sum(difference.size for difference in differences.values())
    if bits is not None:
        if not 0.1 <= bits <= 8:
            raise InvalidInputError("bits", f"is {bits}; it must lie in [0.1, 8]")
        target_bytes = math.ceil(bits * weights / 8)
    limit = DEFAULT_TARGET_BYTES if target_bytes is None else target_bytes
    packed, content = _pack_within(differences, limit, base_sha256)

    def write(file: BinaryIO) -> None:
        file.write(content)

    write_atomically(path, write)
    return _report(packed, len(content), weights)


def rebase_delta(source: Path, path: Path, base_sha256: str) -> None:
    """Write the delta in ``source`` to ``path`` as one for another base; its numbers stay."""
    from safetensors.numpy import load

    metadata = {**SafetensorsFile(source).metadata, "base_sha256": base_sha256}
    write_atomically(path, safetensors_bytes(load(source.read_bytes()), metadata))


def inspect_delta(path: Path) -> dict[str, Any]:
    """A delta file's own description: base, size, bits per weight, each tensor's storage."""
    delta = Delta(path)
    weights = sum(math.prod(entry.shape) for entry in delta.entries.values())
    size = path.stat().st_size
    return {
        "format": f"{_FORMAT} {_VERSION}",
        "base_sha256": delta.base_sha256,
        "bytes": size,
        "weights": weights,
        "bits_per_weight": 8 * size / weights,
        "tensors": [
            {
                "name": name,
                "shape": list(entry.shape),
                "storage": entry.storage,
                "step": entry.step,
                "bytes": delta.stored_bytes(name),
            }
            for name, entry in delta.entries.items()
        ],
    }


def _differences(base: Weights, trained: Weights) -> Weights:
    extra = set(trained) - set(base)
    tied = extra == {_UNEMBEDDING} and np.array_equal(trained[_UNEMBEDDING], trained[_EMBEDDING])
    if extra and not tied:
        raise CheckpointError(f"trained model: tensor {min(extra)} is missing from the base")
    differences: Weights = {}
    for name, before in base.items():
        if name not in trained:
            raise CheckpointError(f"trained model: tensor {name} is missing")
        after = trained[name]
        if after.shape != before.shape:
            raise CheckpointError(
                f"trained model: tensor {name} has shape {after.shape}, the base {before.shape}"
            )
        difference = np.subtract(after, before, dtype=np.float32)
        if not np.isfinite(difference).all():
            raise CheckpointError(f"trained model: tensor {name} holds a number that is not finite")
        differences[name] = difference
    return differences


def _root_mean_square(difference: NDArray[np.float32]) -> float:
    flat = difference.reshape(-1)
    return math.sqrt(float(np.dot(flat, flat)) / flat.size)


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
    numbers = np.clip(np.rint(values / step), -_LARGEST, _LARGEST).astype(np.int64) + _LARGEST
    shares = np.bincount(numbers, minlength=2 * _LARGEST + 1) / numbers.size
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


def _pack(difference: NDArray[np.float32], coarseness: float) -> _Packed:
    size = _root_mean_square(difference)
    squared_size = size * size * difference.size
    if not difference.any():
        return _Packed(_Entry(difference.shape, "zero", 0.0), {}, 0.0, 0.0)
    step = float(np.float32(size * coarseness))
    if difference.ndim < 2 or step == 0:
        entry = _Entry(difference.shape, "exact", 0.0)
        return _Packed(entry, {_NUMBERS: difference}, 0.0, squared_size)
    table = difference.reshape(-1, difference.shape[-1])
    rows = np.flatnonzero(table.any(axis=1))
    changed = table[rows]
    largest = np.abs(changed).max(axis=1) / step
    doublings = np.maximum(0, np.ceil(np.log2(np.maximum(largest, 1) / _LARGEST))).astype(np.uint8)
    steps = np.ldexp(np.float32(step), doublings.astype(np.int32)).astype(np.float32)[:, None]
    numbers = np.clip(np.rint(changed / steps), -_LARGEST, _LARGEST).astype(np.int8)
    error = (changed - numbers * steps).reshape(-1)
    coder = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_RLE)
    stream = coder.compress(numbers.tobytes()) + coder.flush()
    arrays: dict[str, NDArray[Any]] = {
        _NUMBERS: np.frombuffer(stream, np.uint8),
        _ROWS: rows.astype(np.int32),
        _DOUBLINGS: doublings,
    }
    squared_error = float(np.dot(error, error))
    return _Packed(_Entry(difference.shape, "steps", step), arrays, squared_error, squared_size)


def _serialised(packed: Mapping[str, _Packed], base_sha256: str) -> bytes:
    listed = {
        name: {"shape": list(tensor.entry.shape), "storage": tensor.entry.storage}
        | ({"step": tensor.entry.step} if tensor.entry.step else {})
        for name, tensor in packed.items()
    }
    metadata = {
        "format": _FORMAT,
        "version": _VERSION,
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
        )
        for name, tensor in packed.items()
    )
    error = sum(tensor.squared_error for tensor in packed.values())
    total = sum(tensor.squared_size for tensor in packed.values())
    return DeltaReport(size, 8 * size / weights, _ratio(error, total), tensors)


def _ratio(squared_error: float, squared_size: float) -> float:
    return math.sqrt(squared_error / squared_size) if squared_size else 0.0
