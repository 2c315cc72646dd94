"""Collects the nodes and tensors of an ONNX graph; large tensors go straight to one data file."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, BinaryIO

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

CONTRIB = "com.microsoft"
_OPSET = 23
_IR_VERSION = 10
_LARGE = 4096
_PAGE = 4096


class GraphWriter:
    """One graph in the making. ``data`` receives the large tensors as they are added."""

    def __init__(self, data: BinaryIO, location: str) -> None:
        self._data = data
        self._location = location
        self._written = 0
        self._nodes: list[Any] = []
        self._tensors: list[Any] = []
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._names = 0

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output and return the output's name; "" is an absent input."""
        return self.nodes(kind, inputs, [self.name(kind)], **attributes)[0]

    def nodes(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any
    ) -> list[str]:
        """Add a node with several or already named outputs; "" is an output nobody needs."""
        names = list(outputs)
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def name(self, kind: str) -> str:
        """A name that nothing else in the graph has."""
        self._names += 1
        return f"{kind.lower()}_{self._names}"

    def constant(self, values: Any, dtype: Any = None) -> str:
        """A tensor with these values; equal tensors are stored once."""
        array = np.ascontiguousarray(values, dtype=dtype).reshape(np.shape(values))
        digest = blake2b(_as_bytes(array)).digest()
        key = (array.dtype.str, array.shape, digest)
        if key not in self._known:
            name = self._known[key] = self.name("constant")
            large = array.nbytes >= _LARGE
            self._tensors.append(
                self._outside(array, name) if large else numpy_helper.from_array(array, name)
            )
        return self._known[key]

    def model(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> bytes:
        """The finished graph, serialised; its large tensors are in the data file."""
        graph = helper.make_graph(self._nodes, "thisthat", inputs, outputs, self._tensors)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(CONTRIB, 1)],
            ir_version=_IR_VERSION,
        )
        serialised: bytes = model.SerializeToString()
        return serialised

    def _outside(self, array: NDArray[Any], name: str) -> Any:
        padding = -self._written % _PAGE
        self._data.write(b"\0" * padding)
        start = self._written + padding
        self._data.write(_as_bytes(array))
        self._written = start + array.nbytes
        tensor = TensorProto(
            name=name,
            data_type=helper.np_dtype_to_tensor_dtype(array.dtype),
            dims=array.shape,
            data_location=TensorProto.EXTERNAL,
        )
        place = {"location": self._location, "offset": start, "length": array.nbytes}
        for key, value in place.items():
            tensor.external_data.append(onnx.StringStringEntryProto(key=key, value=str(value)))
        return tensor


def _as_bytes(array: NDArray[Any]) -> memoryview:
    """The array's memory, in C order, without a copy."""
    return array.reshape(-1).view(np.uint8).data
