"""The engine for a CPU with a C compiler: llama-type models on native kernels.

Ties together kernels, packed weights and the flat engine. Where something is missing it says so,
and the onnx engine takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thisthat.cpus import usable_cores
from thisthat.engine.flat_engine import PREFIX_CACHE_BYTES, FlatEngine
from thisthat.engine.llama_shape import LlamaShape, read_shape, supports
from thisthat.engine.native.compiler import CannotCompileError, library_here, variants_here
from thisthat.engine.native.library import Library
from thisthat.engine.native.pack import LEVELS, inner_size, obstacle, write_packed
from thisthat.engine.native.runtime import NativeRuntime
from thisthat.engine.runtime_form import WEIGHTS_FILE, open_form
from thisthat.errors import CheckpointError, InvalidInputError

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint

PASS_TOKENS = 1024
"""Tokens of one pass. The kernels take them in smaller parts; longer passes only hold memory."""

_BUILDER = 4
"""Raised when packed weights change, so that kept forms are built again."""

_INDEX_FILE = "index.json"


def why_not_native(checkpoint: Checkpoint) -> str | None:
    """Why this checkpoint cannot run on the native kernels here; None when it can."""
    if not supports(checkpoint.config):
        return "it is no plain llama-type model"
    found = obstacle(read_shape(checkpoint.config), inner_size(checkpoint.config))
    if found is not None:
        return found
    try:
        library_here()
    except CannotCompileError as error:
        return str(error)
    return None


def why_not_faster(checkpoint: Checkpoint) -> str | None:
    """Why the native kernels are not known to be faster here than onnxruntime; None: they are.

    They are where the processor has dot products of bytes.
    """
    # Asked first, so that nothing is compiled where it would not be used.
    if not {"amx", "vnni", "avxvnni", "neon"} & set(variants_here()):
        return "this processor has no dot products of bytes that its kernels know"
    reason = why_not_native(checkpoint)
    if reason is None and not library_here().multiplies_bytes:
        return "its kernels that multiply bytes could not be compiled, or gave wrong numbers"
    return reason


class NativeEngine(FlatEngine):
    """Rows in, logits at the slots out, by kernels compiled for this processor."""

    def __init__(
        self,
        library: Library,
        index: Path,
        shape: LlamaShape,
        inner: int,
        labels: int,
        *,
        terms: int = 2,
        threads: int | None = None,
        prefix_cache_bytes: int = PREFIX_CACHE_BYTES,
        pass_tokens: int = PASS_TOKENS,
    ) -> None:
        """Serve packed weights; ``from_checkpoint`` has them packed.

        ``terms`` are the eight-bit terms of an activation: with 2 products round nothing off that
        matters. ``threads`` None is one per usable core; ``prefix_cache_bytes`` 0 reads every
        prefix anew with its row.
        """
        if threads is not None and threads < 1:
            raise InvalidInputError("threads", f"{threads}, but must be at least 1")
        self.rounds = library.multiplies_bytes and terms == 1
        self.seven_bits = library.levels < LEVELS
        opened = partial(
            NativeRuntime,
            library,
            index,
            index.with_name(WEIGHTS_FILE),
            shape,
            inner,
            labels,
            terms=terms,
            threads=threads or usable_cores(),
        )
        super().__init__(
            opened, shape, labels, prefix_cache_bytes=prefix_cache_bytes, pass_tokens=pass_tokens
        )

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: Checkpoint,
        label_ids: Sequence[int],
        *,
        threads: int | None = None,
        prefix_cache_bytes: int = PREFIX_CACHE_BYTES,
        finer: bool = False,
    ) -> NativeEngine:
        """Serve an opened checkpoint; its weights are packed on first use and kept.

        A ``finer`` engine does not use that the model was trained to bear rounded activations.
        Raises CheckpointError where ``why_not_native`` gives a reason.
        """
        reason = why_not_native(checkpoint)
        if reason is not None:
            raise CheckpointError(f"{checkpoint.card.name} cannot run on native kernels: {reason}")
        library = library_here()
        shape = read_shape(checkpoint.config, checkpoint.loop)
        key = {
            "native": _BUILDER,
            "identity": checkpoint.fingerprint,
            "order": library.order,
            "labels": tuple(label_ids),
            "shape": asdict(shape),
        }
        index = open_form(
            key,
            lambda data, _: write_packed(
                checkpoint.weights(), shape, label_ids, library.order, data
            ),
            index=_INDEX_FILE,
        )
        one_term = checkpoint.has_byte_activations and library.doubling_costs and not finer
        return cls(
            library,
            index,
            shape,
            inner_size(checkpoint.config),
            len(label_ids),
            terms=1 if one_term else 2,
            threads=threads,
            prefix_cache_bytes=prefix_cache_bytes,
        )
