"""The runtime form of a llama checkpoint in one of three numeric forms, built if not yet kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.llama_shape import LlamaShape
from thisthat.engine.onnx.int8_probe import (
    SMALL_ACTIVATIONS,
    SMALL_WEIGHTS,
    ProbeLimits,
    safe_limits,
)
from thisthat.engine.runtime_form import open_form
from thisthat.errors import InvalidInputError

Form: TypeAlias = Literal["int8", "block8", "float32"]

_BUILDER = 8
"""Raised when graphs change, so that kept forms are built again."""


@dataclass(frozen=True)
class FormSource:
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
    if name not in get_args(Form):
        raise InvalidInputError("form", f"{name!r} is none of {', '.join(get_args(Form))}")
    return name  # type: ignore[return-value]


def describe_form(source: FormSource, form: Form) -> str:
    """The form's name, and what this processor makes of it."""
    limits = _limits_of(source, form)
    if limits == SMALL_WEIGHTS:
        return f"{form} (seven-bit weights: no byte dot products here)"
    if limits == SMALL_ACTIVATIONS:
        return f"{form} (seven-bit terms: no byte dot products here)"
    return form


def open_llama_form(source: FormSource, form: Form, folder: Path | None = None) -> Path:
    """The graph file of ``source`` in this form, from ``folder`` (by default the store).

    Raises CheckpointError when a tensor is missing or the form cannot be written.
    """
    limits = _limits_of(source, form)
    key = {
        "builder": _BUILDER,
        "identity": source.identity,
        "form": form,
        "limits": None if limits is None else asdict(limits),
        "byte_activations": source.byte_activations,
        "labels": source.label_ids,
        "shape": asdict(source.shape),
    }
    return open_form(key, lambda data, name: _build(source, form, limits, data, name), folder)


def _limits_of(source: FormSource, form: Form) -> ProbeLimits | None:
    return safe_limits(source.byte_activations) if form == "int8" else None


def _build(
    source: FormSource, form: Form, limits: ProbeLimits | None, data: BinaryIO, name: str
) -> bytes:
    # These import onnx, which a kept form does not need and a quick start cannot afford.
    from thisthat.engine.onnx import linear_forms
    from thisthat.engine.onnx.graph import build_graph

    linear: linear_forms.LinearForm
    if limits is not None:
        linear = linear_forms.Int8Linear(limits, source.byte_activations)
    elif form == "block8":
        linear = linear_forms.Block8Linear()
    else:
        linear = linear_forms.Float32Linear()
    return build_graph(source.weights(), source.shape, source.label_ids, linear, data, name)
