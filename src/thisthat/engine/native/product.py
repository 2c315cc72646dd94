"""One product of the kernels by itself, to be proven and to be timed."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.native.library import Library
from thisthat.engine.native.pack import packed, span_sums

Floats = NDArray[np.float32]


class Matrix(ctypes.Structure):
    """Weights as the kernels have them, see rows.h."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("weights", "steps", "sums"))


class Product:
    """Whole weights [outputs, inputs] with a step per output, packed for ``library``."""

    def __init__(self, library: Library, whole: NDArray[np.int8], steps: Floats) -> None:
        self._multiply = library.load().multiply_alone
        self._multiply.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int] * 4 + [ctypes.c_void_p]
        self._shape = whole.shape
        parts = packed(whole, library.order), steps, span_sums(whole)
        # Held here, because the kernels only point to them.
        self._parts = [np.ascontiguousarray(part) for part in parts]
        self._matrix = Matrix(*(part.ctypes.data for part in self._parts))

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
