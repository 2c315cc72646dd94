"""Which engine runs a checkpoint on this machine, and opening it. See docs/engines.md."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from thisthat.cpus import usable_cores
from thisthat.engine.protocol import Engine
from thisthat.engine.speed import Candidate, open_fastest
from thisthat.errors import CheckpointError, InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint

EngineName: TypeAlias = Literal["auto", "native", "onnx", "torch"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)


def default_form(checkpoint: Checkpoint) -> str:
    """The fastest numeric form that answers as float32 does, as far as is known beforehand."""
    return "int8" if checkpoint.has_byte_weights else "float32"


def open_engine(
    checkpoint: Checkpoint,
    label_ids: Sequence[int],
    *,
    engine: EngineName,
    form: str | None,
    device: str,
    dtype: str,
    threads: int | None,
) -> Engine:
    """The engine of that name, or the one that fits, for a checkpoint with these labels.

    Raises CheckpointError, MissingExtraError or InvalidInputError.
    """
    if engine not in ENGINES:
        raise InvalidInputError("engine", f"{engine!r} is none of {', '.join(ENGINES)}")
    if engine == "auto":
        engine = _fitting_engine(checkpoint, device, form or default_form(checkpoint))
        if threads is None and dtype == "auto" and form in (None, "int8"):
            candidates = _candidates(checkpoint, label_ids, engine)
            if len(candidates) > 1:
                return open_fastest(checkpoint, candidates)
    if engine in ("native", "onnx") and dtype != "auto":
        raise InvalidInputError("dtype", f"{dtype!r} is for the torch engine; {engine} takes form")
    if engine == "native":
        if form not in (None, "int8"):
            raise InvalidInputError("form", f"{form!r}, but the native engine knows int8 alone")
        return _open_native(checkpoint, label_ids, threads)
    if engine == "onnx":
        return _open_onnx(checkpoint, label_ids, form or default_form(checkpoint), threads)
    if form is not None:
        raise InvalidInputError("form", f"{form!r} is for a CPU engine; torch takes dtype")
    try:
        from thisthat.engine.torch.engine import TorchEngine
    except ImportError as error:
        raise MissingExtraError(f"the checkpoint {checkpoint.card.name}", "torch") from error
    on_torch = TorchEngine.from_checkpoint(checkpoint, label_ids, device=device, dtype=dtype)
    if checkpoint.prompt.open_state and not on_torch.capabilities.bidirectional:
        raise CheckpointError(
            f"{checkpoint.card.name}: prompt.open_state is true, but a "
            f"{checkpoint.config['model_type']} model cannot let tokens see later ones"
        )
    return on_torch


def _open_native(checkpoint: Checkpoint, label_ids: Sequence[int], threads: int | None) -> Engine:
    """The native engine; where it rounds activations coarsely, with a finer one for close calls."""
    from thisthat.engine.native.engine import NativeEngine
    from thisthat.engine.second_reading import (
        CLOSE_IN_SEVEN_BIT_SPANS,
        CLOSE_IN_SPANS,
        SecondReading,
    )

    open_one = partial(NativeEngine.from_checkpoint, checkpoint, label_ids, threads=threads)
    opened = open_one()
    if not opened.rounds:
        return opened
    close = CLOSE_IN_SEVEN_BIT_SPANS if opened.seven_bits else CLOSE_IN_SPANS
    return SecondReading(opened, partial(open_one, finer=True), close)


def _open_onnx(
    checkpoint: Checkpoint, label_ids: Sequence[int], form: str, threads: int | None
) -> Engine:
    """The onnx engine; where it rounds activations coarsely, with a finer one for close calls."""
    from thisthat.engine.onnx.engine import OnnxEngine

    open_one = partial(
        OnnxEngine.from_checkpoint, checkpoint, label_ids, form=form, threads=threads
    )
    if form != "int8" or not checkpoint.has_byte_activations:
        return open_one()
    from thisthat.engine.onnx.int8_probe import multiplies_exactly
    from thisthat.engine.second_reading import CLOSE, CLOSE_IN_SEVEN, SecondReading

    close = CLOSE if multiplies_exactly() else CLOSE_IN_SEVEN
    return SecondReading(open_one(), partial(open_one, finer=True), close)


def _candidates(
    checkpoint: Checkpoint, label_ids: Sequence[int], engine: EngineName
) -> dict[Candidate, Callable[[], Engine]]:
    """What may read the checkpoint fastest, the likeliest first; nothing where that is known."""
    if engine not in ("native", "onnx") or default_form(checkpoint) != "int8":
        return {}
    cores = usable_cores()
    found: dict[Candidate, Callable[[], Engine]] = {}
    if engine == "native" or why_not_timed(checkpoint) is None:
        for threads in sorted({cores, max(1, cores // 2)}, reverse=True):
            found[Candidate("native", threads)] = partial(
                _open_native, checkpoint, label_ids, threads
            )
    if engine == "onnx":
        found[Candidate("onnx", cores)] = partial(_open_onnx, checkpoint, label_ids, "int8", cores)
    return found


def why_not_timed(checkpoint: Checkpoint) -> str | None:
    """Why the native engine is not even timed on this machine; None where it is, or is faster."""
    from thisthat.engine.native.compiler import variants_here
    from thisthat.engine.native.engine import why_not_faster, why_not_native

    # Without dot products of bytes, whether it is faster than onnxruntime has to be measured.
    return why_not_native(checkpoint) if "avx2" in variants_here() else why_not_faster(checkpoint)


def _fitting_engine(checkpoint: Checkpoint, device: str, form: str) -> EngineName:
    from thisthat.engine.llama_shape import supports

    wants_torch = device not in ("auto", "cpu") or (device == "auto" and has_nvidia_gpu())
    if wants_torch and find_spec("torch") is not None:
        return "torch"
    if form == "int8":
        from thisthat.engine.native.engine import why_not_faster

        if why_not_faster(checkpoint) is None:
            return "native"
    return "onnx" if supports(checkpoint.config) else "torch"


def has_nvidia_gpu() -> bool:
    """Whether the system shows a GPU of NVIDIA, or a variable speaks of one."""
    # Importing torch to ask takes seconds; the driver's own marks do not.
    return Path("/proc/driver/nvidia/version").exists() or "CUDA_VISIBLE_DEVICES" in os.environ
