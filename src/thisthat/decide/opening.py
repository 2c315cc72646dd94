"""Opening: a checkpoint and an engine that suits it and the machine, made into a decider."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from thisthat.decide.decider import Decider
from thisthat.decide.processor import Reading
from thisthat.engine.select import EngineName, open_engine
from thisthat.errors import CheckpointError
from thisthat.prompt.builder import ChatFrame, PromptBuilder
from thisthat.questions import Source

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint
    from thisthat.decide.heads import Heads
    from thisthat.engine.protocol import Engine


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

    ``ref`` is "default", "large", a folder, a GGUF file or a Hub id; ``lam`` in [0, 1] scales the
    checkpoint's delta. ``engine`` "auto" picks torch on a GPU; on a CPU it picks native if the
    model and the processor support it and there is a C compiler, else onnx if the architecture
    allows it. ``form`` is the numeric form of native ("int8") and onnx ("float32", "block8" or
    "int8"); ``device`` and ``dtype`` are torch's; ``dtype`` "float8" is bfloat16 with matrix
    products in eight bits, on CUDA. Raises CheckpointError, FetchError, MissingExtraError or
    InvalidInputError.
    """
    from thisthat.checkpoint import open_checkpoint

    checkpoint = open_checkpoint(ref, lam)
    builder = builder_of(checkpoint)
    opened = open_engine(
        checkpoint,
        builder.label_ids,
        engine=engine,
        form=form,
        device=device,
        dtype=dtype,
        threads=threads,
    )
    return decider_on(opened, checkpoint, builder)


def decider_on(engine: Engine, checkpoint: Checkpoint, builder: PromptBuilder) -> Decider:
    """The decider of a checkpoint on an engine that holds its weights, with its builder.

    A layer of heads changes neither the weights nor the prompt, so it may share its parent's engine
    and builder. Raises CheckpointError where the engine cannot feed the heads.
    """
    card = checkpoint.in_force
    reading = Reading(
        layout=card.layout,
        layouts=card.layouts,
        path_tokens=min(card.limits.row_tokens, engine.longest),
        state_tokens=card.limits.state_tokens,
        temperatures=card.temperatures,
    )
    source = Source(
        card.name, card.version, checkpoint.lam, checkpoint.weights_sha256, checkpoint.released
    )
    heads = _heads(checkpoint, engine) if checkpoint.heads else None
    return Decider(builder, engine, reading, source, checkpoint.decode, heads=heads)


def _heads(checkpoint: Checkpoint, engine: Engine) -> Heads:
    """The checkpoint's heads. Raises CheckpointError where the engine cannot feed them."""
    from thisthat.decide.heads import Heads, read_heads

    stack = tuple((lam, read_heads(path)) for path, lam in checkpoint.heads)
    deepest = max(
        (max(h.layers, default=0) for _, heads in stack for h in heads.values()), default=0
    )
    if deepest > engine.capabilities.layers:
        raise CheckpointError(
            f"{checkpoint.card.name}: its heads read hidden states of layer {deepest}, but "
            f"{engine.description} gives those of layers up to {engine.capabilities.layers}"
        )
    return Heads(stack, checkpoint.decode)


def builder_of(checkpoint: Checkpoint) -> PromptBuilder:
    """The builder of a checkpoint's prompts."""
    return PromptBuilder(
        checkpoint.encode, checkpoint.prompt, _chat_frame(checkpoint), checkpoint.encode_many
    )


def _chat_frame(checkpoint: Checkpoint) -> ChatFrame | None:
    if not checkpoint.prompt.chat or checkpoint.chat_template is None:
        return None
    from thisthat.prompt.chat import chat_frame

    template, encode = checkpoint.chat_template, checkpoint.encode_template
    return chat_frame(template, encode, checkpoint.special_tokens)
