"""One product of the kernels by itself, to be proven and to be timed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.native.library import Library
from thisthat.engine.native.pack import packed_parts, span_of

Floats = NDArray[np.float32]

_LINE = 64


PARTS = ("sums", "loud", "loud_weights", "loud_sums")


class Matrix(ctypes.Structure):
    """Weights as the kernels have them, see rows.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("weights", "steps", *PARTS)),
        ("span", ctypes.c_int32),
    )


class Product:
    """Whole weights [outputs, inputs] with a step per output, packed for ``library``."""

    def __init__(
        self,
        library: Library,
        whole: NDArray[np.int8],
        steps: Floats,
        loud: Sequence[int] = (),
        name: str = "out",
    ) -> None:
        """``loud`` are the inputs to be carried apart, LOUD of them or none; spans are those of
        the product called ``name``.
        """
        self._multiply = library.load().multiply_alone
        self._multiply.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int] * 4 + [ctypes.c_void_p]
        self._shape = whole.shape
        span = span_of(name, whole.shape[1])
        parts = {".steps": steps, **packed_parts(whole, library.order, span, loud)}
        # Held here, because the kernels only point to them.
        self._parts = {name: _as_in_a_form(part) for name, part in parts.items()}
        places = (self._parts.get(name) for name in ("", ".steps", *(f".{name}" for name in PARTS)))
        self._matrix = Matrix(
            *(None if part is None else part.ctypes.data for part in places),
            span,
        )

    def __call__(self, values: Floats, terms: int, out: Floats | None = None) -> Floats:
        """``values`` [rows, inputs] times the weights, with so many eight-bit terms a value.

        ``out`` [rows, outputs] takes the result if given. Raises MemoryError.
        """
        outputs, inputs = self._shape
        out = np.empty((len(values), outputs), np.float32) if out is None else out
        sizes = len(values), inputs, outputs, terms
        where = ctypes.byref(self._matrix), values.ctypes.data
        if self._multiply(*where, *sizes, out.ctypes.data):
            raise MemoryError(f"no memory for a product of {len(values)} rows")
        return out


def _as_in_a_form(part: NDArray[Any]) -> NDArray[Any]:
    """A copy that begins where a register fits a line of the cache, as kept weights do."""
    room = np.empty(part.nbytes + _LINE, np.uint8)
    start = -room.ctypes.data % _LINE
    copy = room[start : start + part.nbytes].view(part.dtype).reshape(part.shape)
    copy[...] = part
    return copy
