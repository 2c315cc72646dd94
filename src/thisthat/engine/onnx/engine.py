"""The engine for a CPU without torch or a compiler: llama-type models on onnxruntime."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thisthat.cpus import usable_cores
from thisthat.engine.flat_engine import PASS_TOKENS, PREFIX_CACHE_BYTES, FlatEngine
from thisthat.engine.flat_pass import FlatPass
from thisthat.engine.llama_shape import LlamaShape, read_shape, supports
from thisthat.engine.onnx.llama_form import FormSource, check_form, describe_form, open_llama_form
from thisthat.engine.row_reader import KeptTokens, Passed
from thisthat.errors import InvalidInputError

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint

__all__ = ["OnnxEngine", "supports"]


class OnnxEngine(FlatEngine):
    """Rows in, logits at the slots out, by onnxruntime."""

    def __init__(
        self,
        graph: Path,
        shape: LlamaShape,
        labels: int,
        *,
        form: str = "float32",
        threads: int | None = None,
        prefix_cache_bytes: int = PREFIX_CACHE_BYTES,
        pass_tokens: int = PASS_TOKENS,
        arena: bool = True,
    ) -> None:
        """Serve a built graph; ``from_checkpoint`` has one built.

        ``threads`` None is one per usable core. ``prefix_cache_bytes`` 0 reads every prefix anew
        with its row. Without an ``arena`` a pass is a little slower, and keeps no memory.
        """
        if threads is not None and threads < 1:
            raise InvalidInputError("threads", f"{threads}, but must be at least 1")
        super().__init__(
            partial(_OnnxRuntime, graph, shape, form, threads or usable_cores(), arena),
            shape,
            labels,
            prefix_cache_bytes=prefix_cache_bytes,
            pass_tokens=pass_tokens,
        )

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: Checkpoint,
        label_ids: Sequence[int],
        *,
        form: str = "int8",
        threads: int | None = None,
        prefix_cache_bytes: int = PREFIX_CACHE_BYTES,
        finer: bool = False,
    ) -> OnnxEngine:
        """Serve an opened checkpoint; its runtime form is built on first use and kept.

        ``form`` is "int8" (fast), "block8" (closer to float32, slower) or "float32"; a ``finer``
        int8 rounds activations less, even if the model was trained with rounded ones; it is for
        rare use and keeps little memory. Raises InvalidInputError for another form, CheckpointError
        for a model of another type or a form that cannot be written.
        """
        chosen = check_form(form)
        shape = read_shape(checkpoint.config, checkpoint.loop)
        source = FormSource(
            identity=checkpoint.fingerprint,
            shape=shape,
            label_ids=tuple(label_ids),
            weights=checkpoint.weights,
            byte_activations=checkpoint.has_byte_activations and not finer,
        )
        return cls(
            open_llama_form(source, chosen),
            shape,
            len(label_ids),
            form=describe_form(source, chosen),
            threads=threads,
            prefix_cache_bytes=prefix_cache_bytes,
            arena=not finer,
        )


class _OnnxRuntime:
    # A row's products may be cut into other parts beside other rows.
    trees_apart = False

    def __init__(
        self, graph: Path, shape: LlamaShape, form: str, threads: int, arena: bool
    ) -> None:
        import onnxruntime

        self._form = form
        self._threads = threads
        self._session: Any = _open_session(graph, threads, arena)
        self._width = shape.width
        self._kept_names = [
            output.name
            for output in self._session.get_outputs()
            if output.name.startswith(("key_", "value_"))
        ]
        self._bytes_per_token = 4 * len(self._kept_names) * shape.shared_heads * shape.head_width
        size = (1, shape.shared_heads, 0, shape.head_width)
        empty = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(size, np.float32))
        self.nothing = KeptTokens((empty,) * len(self._kept_names), 0, 0)

    @property
    def description(self) -> str:
        import onnxruntime

        threads = "1 thread" if self._threads == 1 else f"{self._threads} threads"
        return f"onnxruntime {onnxruntime.__version__}, cpu, {threads}, {self._form}"

    def read_in_parts(
        self, flat: FlatPass, kept: KeptTokens, keep: bool, layers: Sequence[int] = ()
    ) -> Generator[None, None, Passed]:
        # A session's run cannot stop on the way.
        yield from ()
        return self.read(flat, kept, keep, layers)

    def read(
        self, flat: FlatPass, kept: KeptTokens, keep: bool, layers: Sequence[int] = ()
    ) -> Passed:
        import onnxruntime

        # The graph reads at least one slot; without any, the first token stands in.
        slots = flat.slots if flat.slots.size else np.zeros(1, np.int64)
        inputs = {"tokens": flat.tokens, "positions": flat.positions}
        inputs |= {"since": flat.since, "until": flat.until, "slots": slots}
        feeds = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in inputs.items()
        }
        feeds |= {
            f"past_{name}": tensor
            for name, tensor in zip(self._kept_names, kept.tensors, strict=True)
        }
        kept_names = self._kept_names if keep else []
        wanted = ["logits", *(f"after_{layer}" for layer in layers), *kept_names]
        logits, *tensors = self._session.run_with_ort_values(wanted, feeds)
        hidden = np.empty((len(layers), len(flat.tokens), self._width), np.float32)
        for place in range(len(layers)):
            hidden[place] = tensors[place].numpy()
        after = None
        if keep:
            tokens = kept.tokens + len(flat.tokens)
            after = KeptTokens(
                tuple(tensors[len(layers) :]), tokens, tokens * self._bytes_per_token
            )
        return Passed(logits.numpy()[: flat.slots.size], after, hidden)

    def close(self) -> None:
        self._session = None


def _open_session(graph: Path, threads: int, arena: bool) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # The graph is written in its final, fused shape; searching it for more only delays the start.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # The same mode as the worker thread's, for the threads that help it.
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    # Planning which buffers to share takes seconds where lengths are unknown, and saves nothing.
    options.enable_mem_reuse = False
    options.enable_cpu_mem_arena = arena
    # Spinning threads take 5 % off a short pass on an idle machine, and many times as long where
    # other programs want the cores too.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
