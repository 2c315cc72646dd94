"""Reads one safetensors file with numpy alone, any floating type to float32; and its bytes.

Checks every offset before using it.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thisthat.checkpoint.shapes import check_name
from thisthat.errors import CheckpointError

_TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
}
_FLOATING = {"F64", "F32", "F16", "BF16"}
_LARGEST_HEADER = 100_000_000


@dataclass(frozen=True, slots=True)
class _Place:
    kind: str
    shape: tuple[int, ...]
    start: int
    end: int


def safetensors_bytes(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """The content of a file with these tensors: the same bytes for the same tensors."""
    from safetensors.numpy import save

    content = save(dict(tensors), dict(metadata))
    data = 8 + struct.unpack("<Q", content[:8])[0]
    # The package writes metadata in another order every time, which would be another hash.
    header = json.dumps(json.loads(content[8:data]), sort_keys=True, separators=(",", ":"))
    padded = header.encode().ljust(-(-len(header) // 8) * 8)
    return b"".join([struct.pack("<Q", len(padded)), padded, content[data:]])


class SafetensorsFile:
    """An open safetensors file; tensors are read on demand.

    Raises CheckpointError for a file that is missing, damaged or cut short, naming the tensor.
    """

    def __init__(self, path: Path, *, checked_names: bool = True) -> None:
        self.path = path
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                start = file.read(8)
                length = struct.unpack("<Q", start)[0] if len(start) == 8 else _LARGEST_HEADER
                if length > min(size - 8, _LARGEST_HEADER):
                    raise CheckpointError(f"{path}: is damaged or cut short (header)")
                header = json.loads(file.read(length).decode("utf-8"))
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be read ({error.strerror})") from error
        except ValueError as error:
            raise CheckpointError(f"{path}: is not a safetensors file ({error})") from error
        if not isinstance(header, dict):
            raise CheckpointError(f"{path}: is not a safetensors file (header)")
        metadata = header.pop("__metadata__", None) or {}
        self.metadata: dict[str, str] = {str(key): str(value) for key, value in metadata.items()}
        self._data = 8 + length
        self._places: dict[str, _Place] = {}
        for name, entry in header.items():
            if checked_names:
                check_name(name, str(path))
            self._places[name] = self._place(name, entry, size)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor by name."""
        return {name: place.shape for name, place in self._places.items()}

    def stored(self, name: str) -> NDArray[Any]:
        """A read-only view of the tensor as it is stored (BF16 as unsigned 16-bit numbers)."""
        if name not in self._places:
            raise CheckpointError(f"{self.path}: tensor {name} is missing")
        place = self._places[name]
        if place.start == place.end:
            return np.empty(place.shape, _TYPES[place.kind])
        return np.memmap(self.path, _TYPES[place.kind], "r", self._data + place.start, place.shape)

    def float32(self, name: str) -> NDArray[np.float32]:
        """The tensor in float32; CheckpointError if it is not of a floating type."""
        stored = self.stored(name)
        kind = self._places[name].kind
        if kind not in _FLOATING:
            raise CheckpointError(
                f"{self.path}: tensor {name} has type {kind}, not a floating type"
            )
        if kind == "BF16":
            return (np.asarray(stored).astype(np.uint32) << 16).view(np.float32)
        return np.array(stored, dtype=np.float32)

    def _place(self, name: str, entry: Any, size: int) -> _Place:
        try:
            place = _Place(
                kind=str(entry["dtype"]),
                shape=tuple(int(length) for length in entry["shape"]),
                start=int(entry["data_offsets"][0]),
                end=int(entry["data_offsets"][1]),
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise CheckpointError(f"{self.path}: tensor {name}: damaged entry") from error
        if place.kind not in _TYPES:
            raise CheckpointError(f"{self.path}: tensor {name}: type {place.kind} cannot be read")
        needed = math.prod(place.shape) * _TYPES[place.kind].itemsize
        if min(place.shape, default=0) < 0 or place.start < 0 or place.end - place.start != needed:
            raise CheckpointError(f"{self.path}: tensor {name}: its shape does not fit its bytes")
        if self._data + place.end > size:
            raise CheckpointError(
                f"{self.path}: is cut short: tensor {name} ends at byte {self._data + place.end}, "
                f"the file at {size}"
            )
        return place
