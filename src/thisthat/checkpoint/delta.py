"""A trained model as its difference from the base: theta(lambda) = theta_0 + lambda * delta.

The file is a safetensors file. A tensor of two or more dimensions is stored as whole numbers from
-127 to 127, multiples of one step per tensor, in a zlib stream whose Huffman codes make the
frequent small numbers short: the step, not a fixed number of bits, sets size and error. Unchanged
rows are left out, a row with a number too large for a byte has its step doubled as often as needed,
and tensors of one dimension are stored exactly. Or such a tensor is stored as a product of two thin
factors, which is what low-rank adapters learn; files with products have version 2, which readers of
version 1 refuse. Independent of cards and of where the base comes from.
"""

from __future__ import annotations

import json
import math
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thisthat.checkpoint.factors import Factors, factor_numbers
from thisthat.checkpoint.fields import Fields
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.safetensors_file import SafetensorsFile, safetensors_bytes
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.files import write_atomically

FORMAT = "thisthat-delta"
LARGEST = 127
NUMBERS, ROWS, DOUBLINGS, SCALES = "numbers", "rows", "doublings", "scales"
_MOST_NUMBERS = 1 << 40  # So that the lengths of streams can be counted.

Storage: TypeAlias = Literal["zero", "exact", "steps", "product"]
_STORAGES: dict[str, tuple[Storage, ...]] = {
    "1": ("zero", "exact", "steps"),
    "2": ("zero", "exact", "steps", "product"),
}


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """How a file stores one tensor; ``step`` belongs to steps and ``rank`` to a product."""

    shape: tuple[int, ...]
    storage: Storage
    step: float = 0.0
    rank: int | None = None


class Delta:
    """An opened delta file; tensors are decoded on demand.

    Raises CheckpointError for a damaged file or one of another format, naming the tensor.
    """

    def __init__(self, path: Path) -> None:
        self._file = SafetensorsFile(path)
        metadata = self._file.metadata
        self.version = metadata.get("version", "")
        if metadata.get("format") != FORMAT or self.version not in _STORAGES:
            known = " or ".join(_STORAGES)
            raise CheckpointError(f"{path}: is not a delta of format {FORMAT} {known}")
        self.path = path
        try:
            listed = json.loads(metadata["tensors"])
            self.base_sha256 = metadata["base_sha256"]
            named = listed.items()
        except (KeyError, ValueError, AttributeError) as error:
            raise CheckpointError(f"{path}: the list of tensors is damaged ({error})") from error
        self.entries = {name: self._entry(name, entry) for name, entry in named}

    def check_base(self, sha256: str) -> None:
        """Raises CheckpointError when the delta was made from another base."""
        if sha256 != self.base_sha256:
            raise CheckpointError(
                f"{self.path}: was made for the base with sha256 {self.base_sha256}, "
                f"not for {sha256}"
            )

    def tensor(self, name: str) -> NDArray[np.float32] | None:
        """The difference of one tensor in float32, or None where it is zero.

        It is as large as the file says: ``check_fits`` comes first.
        """
        entry = self.entries[name]
        if entry.storage == "zero":
            return None
        if entry.storage == "exact":
            values = self._file.float32(f"{name}.{NUMBERS}")
            self._expect(values.shape == entry.shape, name, "its shape differs from the list")
            self._expect(
                bool(np.isfinite(values).all()), name, "it holds a number that is not finite"
            )
            return values
        if entry.rank is not None:
            return self._multiplied(name, entry, entry.rank)
        return self._decoded(name, entry)

    def stored_bytes(self, name: str) -> int:
        """The bytes a tensor takes in the file."""
        return sum(
            math.prod(shape) * self._file.stored(part).itemsize
            for part, shape in self._file.shapes().items()
            if part.rsplit(".", 1)[0] == name
        )

    def _decoded(self, name: str, entry: TensorEntry) -> NDArray[np.float32]:
        width = entry.shape[-1]
        rows = self._file.stored(f"{name}.{ROWS}")
        doublings = self._file.stored(f"{name}.{DOUBLINGS}")
        height = math.prod(entry.shape[:-1])
        inside = bool(rows.size == 0 or (rows.min() >= 0 and rows.max() < height))
        self._expect(inside and rows.size <= height, name, "a row number is out of range")
        self._expect(doublings.shape == rows.shape, name, "it has rows without a step")
        stream = self._decompressed(name, rows.size * width)
        numbers = np.frombuffer(stream, np.int8).reshape(rows.size, width)
        with np.errstate(over="ignore"):
            steps = np.ldexp(np.float32(entry.step), doublings.astype(np.int32))
            finite = bool(np.isfinite(steps * LARGEST).all())
        self._expect(finite, name, "a step is not finite")
        if rows.size == height:
            return np.multiply(numbers, steps[:, None], dtype=np.float32).reshape(entry.shape)
        values = np.zeros((height, width), np.float32)
        values[rows] = np.multiply(numbers, steps[:, None], dtype=np.float32)
        return values.reshape(entry.shape)

    def _multiplied(self, name: str, entry: TensorEntry, rank: int) -> NDArray[np.float32]:
        height, width = math.prod(entry.shape[:-1]), entry.shape[-1]
        scales = self._file.float32(f"{name}.{SCALES}")
        self._expect(scales.shape == (rank,), name, f"it has not {rank} scales")
        content = self._decompressed(name, 2 * rank * (height + width))
        with np.errstate(over="ignore", invalid="ignore"):
            values = Factors(factor_numbers(content, rank), scales).product(height)
        self._expect(bool(np.isfinite(values).all()), name, "its product is not finite")
        return values.reshape(entry.shape)

    def _decompressed(self, name: str, size: int) -> bytes:
        """The stream of a tensor's numbers, which are ``size`` bytes."""
        try:
            # The bound keeps a forged stream from exhausting memory.
            content = zlib.decompressobj().decompress(
                self._file.stored(f"{name}.{NUMBERS}").tobytes(), size + 1
            )
        except zlib.error as error:
            raise CheckpointError(f"{self.path}: tensor {name}: is damaged ({error})") from error
        self._expect(len(content) == size, name, "it has too few or too many numbers")
        return content

    def _entry(self, name: str, value: object) -> TensorEntry:
        fields = Fields(value, f"{self.path.name}: tensor {name}")
        storage = fields.one_of("storage", _STORAGES[self.version])
        step = fields.number("step", 0.0)
        rank = fields.whole("rank", 1) if storage == "product" else None
        shape = fields.free_list("shape")
        fields.finish()
        sound = all(isinstance(length, int) and length > 0 for length in shape) and shape
        sound = sound and math.prod(shape) <= _MOST_NUMBERS
        self._expect(bool(sound), name, f"the shape {shape} is not possible")
        self._expect(storage != "steps" or (step > 0 and len(shape) > 1), name, "it has no step")
        if rank is not None:
            most = min(math.prod(shape[:-1]), shape[-1]) if len(shape) > 1 else 0
            self._expect(rank <= most, name, f"the rank {rank} is larger than {most}")
        return TensorEntry(tuple(shape), storage, step, rank)

    def _expect(self, condition: bool, name: str, problem: str) -> None:
        if not condition:
            raise CheckpointError(f"{self.path}: tensor {name}: {problem}")


def apply_delta(base: Weights, delta: Delta, lam: float) -> Weights:
    """base + lam * delta. At lam 0 the result is ``base`` itself, untouched.

    Else ``base`` is emptied on the way, so that the memory need not hold both; no tensor changes.
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
        "format": f"{FORMAT} {delta.version}",
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
                "rank": entry.rank,
                "bytes": delta.stored_bytes(name),
            }
            for name, entry in delta.entries.items()
        ],
    }
