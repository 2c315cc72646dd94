"""The runtime form of a llama checkpoint in one of three numeric forms, built if not yet kept.

Ties together linear forms, graph and store; knows nothing of rows or sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.int8_probe import weight_limit
from thisthat.engine.llama_shape import LlamaShape
from thisthat.engine.runtime_form import open_form
from thisthat.errors import InvalidInputError

Form: TypeAlias = Literal["int8", "block8", "float32"]

_BUILDER = 4
"""Raised when graphs change, so that kept forms are built again."""


@dataclass(frozen=True)
class Source:
    """Where a form comes from. Weights are asked for only when it has to be built.

    ``identity`` differs whenever the weights do. ``byte_activations`` says that the model was
    trained with activations of eight bits, so that the int8 form may use nothing finer.
    """

    identity: str
    shape: LlamaShape
    label_ids: tuple[int, ...]
    weights: Callable[[], dict[str, NDArray[np.float32]]]
    byte_activations: bool = False


def check_form(name: str) -> Form:
    """``name`` as a form; raises InvalidInputError when there is none of that name."""
    for form in get_args(Form):
        if form == name:
            return form  # type: ignore[no-any-return]
    raise InvalidInputError("form", f"{name!r} is none of {', '.join(get_args(Form))}")


def open_llama_form(source: Source, form: Form, folder: Path | None = None) -> Path:
    """The graph file of ``source`` in this form, from ``folder`` (by default the store).

    Raises CheckpointError when a tensor is missing or the form cannot be written.
    """
    limit = weight_limit() if form == "int8" else None
    key = {
        "builder": _BUILDER,
        "identity": source.identity,
        "form": form,
        "weight_limit": limit,
        "byte_activations": source.byte_activations,
        "labels": source.label_ids,
        "shape": asdict(source.shape),
    }
    return open_form(key, lambda data, name: _build(source, form, limit, data, name), folder)


def _build(source: Source, form: Form, limit: int | None, data: BinaryIO, name: str) -> bytes:
    # These import onnx, which a kept form does not need and a quick start cannot afford.
    from thisthat.engine import linear_forms
    from thisthat.engine.onnx_graph import build_graph

    linear: linear_forms.LinearForm
    if limit is not None:
        linear = linear_forms.Int8Linear(limit, source.byte_activations)
    elif form == "block8":
        linear = linear_forms.Block8Linear()
    else:
        linear = linear_forms.Float32Linear()
    return build_graph(source.weights(), source.shape, source.label_ids, linear, data, name)
