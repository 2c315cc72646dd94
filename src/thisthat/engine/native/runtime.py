"""The kernels behind the flat engine: packed weights mapped into memory, a pass as one call.

Knows the kernels' structures, field by field; nothing of rows, prefixes or the store.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.flat_pass import FlatPass
from thisthat.engine.llama_shape import LlamaShape
from thisthat.engine.native.library import Library
from thisthat.engine.native.pack import HAS_LOUD, span_of, tensor_bytes
from thisthat.engine.native.product import PARTS, Matrix
from thisthat.engine.row_reader import KeptTokens, Passed
from thisthat.engine.rows import Hidden
from thisthat.errors import CheckpointError

_Pointer = ctypes.c_void_p
_Number = ctypes.c_int32
_BLOCK = 32
"""Tokens whose keys stand together; some variants have shorter blocks."""
_PART_SECONDS = 0.02
"""What a pass that is read in parts computes before others may go: less than a short row takes."""
_MATRICES = ("projections", "out", "gate_up", "down")


class _Step(ctypes.Structure):
    _fields_: ClassVar = [
        ("before", _Pointer),
        ("after", _Pointer),
        ("biases", _Pointer),
        ("common", _Pointer),
        *((name, Matrix) for name in _MATRICES),
    ]


class _Model(ctypes.Structure):
    _fields_: ClassVar = [
        *(
            (name, _Number)
            for name in (
                "steps",
                "width",
                "inner",
                "heads",
                "shared_heads",
                "head_width",
                "labels",
            )
        ),
        ("epsilon", ctypes.c_float),
        *(
            (name, _Pointer)
            for name in ("embedding", "norm", "label_rows", "cosines", "sines", "step")
        ),
    ]


class _Kept(ctypes.Structure):
    _fields_: ClassVar = [("keys", _Pointer), ("values", _Pointer), ("tokens", _Number)]


class _Pass(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, _Number) for name in ("tokens", "places", "slots", "segments", "terms", "keep")),
        *(
            (name, _Pointer)
            for name in (
                "ids",
                "positions",
                "since",
                "until",
                "slot",
                "place",
                "kept",
                "keys",
                "values",
                "logits",
                "taken",
                "hidden",
                "unfit",
            )
        ),
    ]


Segment = tuple[NDArray[np.uint16], NDArray[np.uint16], int]
"""Keys, values and their number of tokens, as one pass left them, in the kernels' sixteen bits."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A pass as the kernels want it, with all that it points to."""

    asked: _Pass
    points_to: tuple[Any, ...]
    keys: NDArray[np.uint16]
    values: NDArray[np.uint16]
    logits: NDArray[np.float32]
    hidden: Hidden
    unfit: NDArray[np.int32]


class NativeRuntime:
    """Passes by the kernels of ``library`` over the weights that ``index`` describes."""

    trees_apart = True

    def __init__(
        self,
        library: Library,
        index: Path,
        weights: Path,
        shape: LlamaShape,
        inner: int,
        labels: int,
        *,
        terms: int,
        threads: int,
    ) -> None:
        """``terms`` are the eight-bit terms of an activation, 1 or 2.

        Raises CheckpointError when the kernels cannot start here or do not fit the weights.
        """
        self._shape, self._labels, self._terms = shape, labels, terms
        self._threads, self._variant = threads, library.variant
        self._kernels = library.load()
        self._kernels.open_engine.restype = _Pointer
        self._kernels.open_engine.argtypes = [_Pointer, ctypes.c_int]
        self._kernels.close_engine.argtypes = [_Pointer]
        self._kernels.run.argtypes = [_Pointer, _Pointer, _Pointer, ctypes.c_int, ctypes.c_int]
        self._kernels.parts_of.argtypes = [_Pointer, _Pointer]
        self._kernels.memory_of.restype = ctypes.c_size_t
        self._kernels.memory_of.argtypes = [_Pointer, _Pointer]
        self._token_seconds = 0.0
        self._data = np.memmap(weights, np.uint8, mode="r")
        self._index: Mapping[str, int] = json.loads(index.read_bytes())
        self._sizes = tensor_bytes(shape, inner, labels)
        wide = shape.heads * shape.head_width
        self._inputs = dict(zip(_MATRICES, (shape.width, wide, shape.width, inner), strict=True))
        self._model = self._described(inner)
        self._engine = self._kernels.open_engine(ctypes.byref(self._model), threads)
        if not self._engine:
            raise CheckpointError("the kernels cannot start: no memory, threads or tiles for them")
        self.nothing = KeptTokens((), 0, 0)

    @property
    def description(self) -> str:
        """One line for people: runtime, device, threads, numeric form."""
        threads = "1 thread" if self._threads == 1 else f"{self._threads} threads"
        return f"native kernels ({self._variant}), cpu, {threads}, int8"

    def read(
        self, flat: FlatPass, kept: KeptTokens, keep: bool, layers: Sequence[int] = ()
    ) -> Passed:
        """Logits at the slots and, if asked for, what to continue from and hidden states.

        Raises MemoryError when the pass does not fit, CheckpointError when numbers of the model
        are too large for the kernels: halves end at 65,504.
        """
        prepared = self._prepare(flat, kept, keep, layers)
        self._run(prepared.asked, None, 0, self._parts_of(prepared.asked))
        return self._passed(prepared, kept)

    def read_in_parts(
        self, flat: FlatPass, kept: KeptTokens, keep: bool, layers: Sequence[int] = ()
    ) -> Generator[None, None, Passed]:
        """Like ``read``, to the last bit; other passes may be read wherever it yields."""
        prepared = self._prepare(flat, kept, keep, layers)
        asked, tokens = prepared.asked, len(flat.tokens)
        parts, done, seconds = self._parts_of(asked), 0, 0.0
        # As many at once as fill the time at the last pass's pace; the first pass feels its way.
        expected = tokens * self._token_seconds
        some = max(1, int(parts * _PART_SECONDS / expected)) if expected else 1
        alone = 0 if some >= parts else self._kernels.memory_of(self._engine, ctypes.byref(asked))
        memory = _aligned(alone)
        while True:
            started = time.perf_counter()
            until = min(done + some, parts)
            self._run(asked, memory.ctypes.data if alone else None, done, until)
            took = time.perf_counter() - started
            some = max(1, min(2 * some, int((until - done) * _PART_SECONDS / max(took, 1e-9))))
            done, seconds = until, seconds + took
            if done == parts:
                self._token_seconds = seconds / tokens
                return self._passed(prepared, kept)
            yield

    def _parts_of(self, asked: _Pass) -> int:
        return int(self._kernels.parts_of(self._engine, ctypes.byref(asked)))

    def _run(self, asked: _Pass, memory: int | None, start: int, end: int) -> None:
        if self._kernels.run(self._engine, ctypes.byref(asked), memory, start, end):
            raise MemoryError(f"no memory for a pass of {asked.tokens} tokens")

    def _prepare(
        self, flat: FlatPass, kept: KeptTokens, keep: bool, layers: Sequence[int]
    ) -> _Prepared:
        shape, tokens = self._shape, len(flat.tokens)
        place = _places(flat)
        places = int(place[-1]) + 1
        assert not keep or places == tokens, "what is kept has no gaps"
        steps = len(shape.order) if keep else 2
        size = (steps, shape.shared_heads, -(-places // _BLOCK) * _BLOCK, shape.head_width)
        keys, values = np.zeros(size, np.uint16), np.zeros(size, np.uint16)
        logits = np.zeros((len(flat.slots), self._labels), np.float32)
        hidden = np.empty((len(layers), tokens, shape.width), np.float32)
        unfit = np.zeros(1, np.int32)
        taken = np.full(len(shape.order), -1, np.int32)
        taken[np.array(layers, np.int64) - 1] = np.arange(len(layers))
        lists = [
            np.ascontiguousarray(given, np.int32)
            for given in (flat.tokens, flat.positions, flat.since, flat.until, flat.slots, place)
        ]
        before = (_Kept * len(kept.tensors))(
            *(_Kept(k.ctypes.data, v.ctypes.data, count) for k, v, count in kept.tensors)
        )
        asked = _Pass(
            tokens,
            places,
            len(flat.slots),
            len(kept.tensors),
            self._terms,
            int(keep),
            *(given.ctypes.data for given in lists),
            ctypes.addressof(before),
            keys.ctypes.data,
            values.ctypes.data,
            logits.ctypes.data,
            taken.ctypes.data,
            hidden.ctypes.data,
            unfit.ctypes.data,
        )
        return _Prepared(asked, (*lists, before, taken), keys, values, logits, hidden, unfit)

    def _passed(self, prepared: _Prepared, kept: KeptTokens) -> Passed:
        if prepared.unfit[0] or not np.isfinite(prepared.logits).all():
            raise CheckpointError(
                f"its numbers do not fit the {self._variant} kernels; engine='onnx' can read it"
            )
        if not prepared.asked.keep:
            return Passed(prepared.logits, None, prepared.hidden)
        tokens = prepared.asked.tokens
        segment: Segment = (prepared.keys, prepared.values, tokens)
        held = kept.bytes + prepared.keys.nbytes + prepared.values.nbytes
        after = KeptTokens((*kept.tensors, segment), kept.tokens + tokens, held)
        return Passed(prepared.logits, after, prepared.hidden)

    def close(self) -> None:
        """Stop the threads and let go of the weights."""
        if self._engine:
            self._kernels.close_engine(self._engine)
            self._engine = None

    def _described(self, inner: int) -> _Model:
        shape = self._shape
        layers = {layer: self._layer(layer) for layer in set(shape.order)}
        # Held here, because the kernels only point to it.
        self._steps = (_Step * len(shape.order))(*(layers[layer] for layer in shape.order))
        return _Model(
            len(shape.order),
            shape.width,
            inner,
            shape.heads,
            shape.shared_heads,
            shape.head_width,
            self._labels,
            shape.epsilon,
            *(self._at(n) for n in ("embedding", "norm", "label_rows", "cosines", "sines")),
            ctypes.addressof(self._steps),
        )

    def _layer(self, layer: int) -> _Step:
        matrices = [self._matrix(f"{layer}.{name}", name) for name in _MATRICES]
        names = ["before", "after", *(("biases", "common") if self._shape.biased else ())]
        held = {name: self._at(f"{layer}.{name}") for name in names}
        return _Step(**held, **dict(zip(_MATRICES, matrices, strict=True)))

    def _matrix(self, start: str, name: str) -> Matrix:
        has_loud = name in HAS_LOUD
        places = [self._at(start), self._at(f"{start}.steps")]
        held = PARTS if has_loud else PARTS[:1]
        parts = [self._at(f"{start}.{part}") for part in held] + [None] * (len(PARTS) - len(held))
        return Matrix(*places, *parts, span_of(name, self._inputs[name]))

    def _at(self, name: str) -> int:
        start = self._index.get(name)
        if not isinstance(start, int) or not 0 <= start <= len(self._data) - self._sizes[name]:
            raise CheckpointError(f"the packed weights have no whole {name}; delete their folder")
        return int(self._data.ctypes.data) + start


def _aligned(size: int) -> NDArray[np.uint8]:
    """So many bytes, from a multiple of 64 on."""
    found = np.empty(size + 64, np.uint8)
    start = -found.ctypes.data % 64
    return found[start : start + size]


def _places(flat: FlatPass) -> NDArray[np.int64]:
    """Where the keys of each token stand.

    Every trunk and branch begins a block, so that what a row answers does not depend on the rows
    and branches beside it, to the last bit.
    """
    lengths = np.diff(flat.starts, append=len(flat.tokens))
    rooms = -(-lengths // _BLOCK) * _BLOCK
    shifts = np.cumsum(rooms) - rooms - flat.starts
    found: NDArray[np.int64] = np.arange(len(flat.tokens)) + np.repeat(shifts, lengths)
    return found
