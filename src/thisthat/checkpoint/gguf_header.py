"""The header of a GGUF file: its settings and where each tensor lies.

The ``gguf`` package reads the same header, but takes seconds for a vocabulary of 49,152 tokens;
this takes milliseconds at every start.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thisthat.errors import CheckpointError

_MAGIC = b"GGUF"
_DEFAULT_ALIGNMENT = 32
_STRING, _ARRAY = 8, 9
_LENGTH = struct.Struct("<Q").unpack_from
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """A tensor in the file: its shape (outermost first), storage type number and first byte."""

    name: str
    shape: tuple[int, ...]
    storage: int
    start: int


@dataclass(frozen=True, slots=True)
class Header:
    """Settings by key, tensors in file order, and the file's size in bytes."""

    settings: dict[str, Any]
    tensors: tuple[TensorPlace, ...]
    size: int


def read_header(path: Path) -> Header:
    """The header of ``path``. Raises CheckpointError for a file missing, cut short or not GGUF."""
    try:
        with path.open("rb") as file:
            if file.read(4) != _MAGIC:
                raise CheckpointError(f"{path}: is not a GGUF file")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return _Reader(content).header()
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror})") from error
    except (struct.error, IndexError, UnicodeDecodeError, OverflowError, RecursionError) as error:
        raise CheckpointError(f"{path}: is damaged or cut short (header: {error})") from error
    except _UnknownPartError as error:
        raise CheckpointError(f"{path}: {error}") from error


class _UnknownPartError(Exception):
    pass


class _Reader:
    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self._at = len(_MAGIC)

    def header(self) -> Header:
        version = self._scalar("I")
        if version not in (2, 3):
            raise _UnknownPartError(f"GGUF version {version} is not known (2 and 3 are)")
        tensor_count, setting_count = self._scalar("Q"), self._scalar("Q")
        settings: dict[str, Any] = {}
        for _ in range(setting_count):
            key = self._string()
            settings[key] = self._value(self._scalar("I"))
        listed = [self._tensor() for _ in range(tensor_count)]
        alignment = settings.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise _UnknownPartError(f"general.alignment is {alignment!r}")
        data = -(-self._at // alignment) * alignment
        tensors = tuple(
            TensorPlace(name, shape, storage, data + offset)
            for name, shape, storage, offset in listed
        )
        return Header(settings, tensors, len(self._content))

    def _scalar(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self._content, self._at)
        self._at += struct.calcsize("<" + code)
        return value

    def _string(self) -> str:
        (text,) = self._strings(1)
        return text

    def _strings(self, count: int) -> list[str]:
        # One loop without calls: a vocabulary and its merges are a hundred thousand texts.
        content, size, at, length_at = self._content, len(self._content), self._at, _LENGTH
        texts = []
        for _ in range(count):
            (length,) = length_at(content, at)
            at += 8
            end = at + length
            if end > size:
                raise IndexError("a text runs past the end of the file")
            texts.append(content[at:end].decode("utf-8"))
            at = end
        self._at = at
        return texts

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._scalar(self._code(kind))
        inner, count = self._scalar("I"), self._scalar("Q")
        if inner == _STRING:
            return self._strings(count)
        if inner == _ARRAY:
            return [self._value(inner) for _ in range(count)]
        layout = f"<{count}{self._code(inner)}"
        values = list(struct.unpack_from(layout, self._content, self._at))
        self._at += struct.calcsize(layout)
        return values

    def _tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self._string()
        dimensions = [self._scalar("Q") for _ in range(self._scalar("I"))]
        return name, tuple(reversed(dimensions)), self._scalar("I"), self._scalar("Q")

    @staticmethod
    def _code(kind: int) -> str:
        if kind not in _SCALARS:
            raise _UnknownPartError(f"value type {kind} is not known")
        return _SCALARS[kind]
