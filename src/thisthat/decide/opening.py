"""Opening: a checkpoint and an engine that fits it and the machine, made into a decider."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from thisthat.decide.decider import Decider, Reading
from thisthat.engine.rows import Engine
from thisthat.errors import CheckpointError, InvalidInputError, MissingExtraError
from thisthat.prompt.builder import ChatFrame, PromptBuilder
from thisthat.questions import Source

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint

EngineName: TypeAlias = Literal["auto", "native", "onnx", "torch"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)


def default_form(checkpoint: Checkpoint) -> str:
    """The fastest numeric form that answers as float32 does, as far as is known beforehand."""
    return "int8" if checkpoint.has_byte_weights else "float32"


def open_decider(
    ref: str | Path = "default",
    *,
    lam: float | None = None,
    engine: EngineName = "auto",
    form: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    threads: int | None = None,
) -> Decider:
    """Open a checkpoint and an engine for it.

    ``ref`` is "default", a folder, a GGUF file or a Hub id; ``lam`` in [0, 1] scales the
    checkpoint's delta. ``engine`` "auto" takes torch on a GPU; on a CPU it takes native where the
    model and the processor suit it and there is a C compiler, else onnx where the architecture
    allows it.
    ``form`` is the numeric form of native ("int8") and onnx ("float32", "block8" or "int8");
    ``device`` and ``dtype`` are torch's; ``dtype`` "float8" is bfloat16 with matrix products in
    eight bits, on CUDA. Raises CheckpointError, FetchError, MissingExtraError or InvalidInputError.
    """
    from thisthat.checkpoint import open_checkpoint

    checkpoint = open_checkpoint(ref, lam)
    builder = builder_of(checkpoint)
    opened = _open_engine(checkpoint, builder, engine, form, device, dtype, threads)
    card = checkpoint.card
    reading = Reading(
        layout=card.layout,
        layouts=card.layouts,
        path_tokens=min(card.limits.row_tokens, opened.longest),
        state_tokens=card.limits.state_tokens,
        temperatures=card.temperatures,
    )
    source = Source(
        card.name, card.version, checkpoint.lam, checkpoint.weights_sha256, checkpoint.released
    )
    return Decider(builder, opened, reading, source, checkpoint.decode)


def builder_of(checkpoint: Checkpoint) -> PromptBuilder:
    """The builder of a checkpoint's prompts."""
    return PromptBuilder(
        checkpoint.encode, checkpoint.prompt, _chat_frame(checkpoint), checkpoint.encode_many
    )


def _chat_frame(checkpoint: Checkpoint) -> ChatFrame | None:
    if not checkpoint.prompt.chat or checkpoint.chat_template is None:
        return None
    from thisthat.prompt.chat import chat_frame

    return chat_frame(checkpoint.chat_template, checkpoint.encode_template)


def _open_engine(
    checkpoint: Checkpoint,
    builder: PromptBuilder,
    engine: EngineName,
    form: str | None,
    device: str,
    dtype: str,
    threads: int | None,
) -> Engine:
    if engine not in ENGINES:
        raise InvalidInputError("engine", f"{engine!r} is none of {', '.join(ENGINES)}")
    if engine == "auto":
        engine = _fitting_engine(checkpoint, device, form or default_form(checkpoint))
    if engine in ("native", "onnx") and dtype != "auto":
        raise InvalidInputError("dtype", f"{dtype!r} is for the torch engine; {engine} takes form")
    if engine == "native":
        if form not in (None, "int8"):
            raise InvalidInputError("form", f"{form!r}, but the native engine knows int8 alone")
        return _open_native(checkpoint, builder.label_ids, threads)
    if engine == "onnx":
        return _open_onnx(checkpoint, builder.label_ids, form or default_form(checkpoint), threads)
    if form is not None:
        raise InvalidInputError("form", f"{form!r} is for a CPU engine; torch takes dtype")
    try:
        from thisthat.engine.torch.engine import TorchEngine
    except ImportError as error:
        raise MissingExtraError(f"the checkpoint {checkpoint.card.name}", "torch") from error
    on_torch = TorchEngine.from_checkpoint(
        checkpoint, builder.label_ids, device=device, dtype=dtype
    )
    if builder.form.open_state and not on_torch.opens_trunks:
        raise CheckpointError(
            f"{checkpoint.card.name}: prompt.open_state is true, but a "
            f"{checkpoint.config['model_type']} model cannot let tokens see later ones"
        )
    return on_torch


def _open_native(checkpoint: Checkpoint, label_ids: Sequence[int], threads: int | None) -> Engine:
    """The native engine; where it rounds activations coarsely, with a finer one for close calls."""
    from thisthat.engine.native.engine import NativeEngine
    from thisthat.engine.second_reading import CLOSE_IN_SPANS, SecondReading

    open_one = partial(NativeEngine.from_checkpoint, checkpoint, label_ids, threads=threads)
    opened = open_one()
    if not opened.rounds:
        return opened
    return SecondReading(opened, partial(open_one, finer=True), CLOSE_IN_SPANS)


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


def _fitting_engine(checkpoint: Checkpoint, device: str, form: str) -> EngineName:
    from thisthat.engine.llama_shape import supports

    wants_torch = device not in ("auto", "cpu") or (device == "auto" and _has_nvidia_gpu())
    if wants_torch and find_spec("torch") is not None:
        return "torch"
    if form == "int8":
        from thisthat.engine.native.engine import why_not_faster

        if why_not_faster(checkpoint) is None:
            return "native"
    return "onnx" if supports(checkpoint.config) else "torch"


def _has_nvidia_gpu() -> bool:
    # Importing torch to ask takes seconds; the driver's own marks do not.
    return Path("/proc/driver/nvidia/version").exists() or "CUDA_VISIBLE_DEVICES" in os.environ
