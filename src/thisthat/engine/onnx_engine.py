"""The engine for a CPU without torch: llama models on onnxruntime.

A row's tree is laid out flat, without padding, and answered in one pass of a few hundred tokens;
longer rows are read in parts, each continuing the keys and values of the one before; an open block
is never cut. Rows never share a pass: eight-bit rounding would carry a neighbour's last bits into
an answer's second digit, and a pass of several short rows takes longer than the rows one by one.
Knows nothing of text, temperatures or where weights come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thisthat.cores import usable_cores
from thisthat.engine.check_rows import check_rows
from thisthat.engine.denormals import flush_denormals
from thisthat.engine.flat_pass import Tree, lay_flat, pack, split_evenly
from thisthat.engine.llama_form import Source, check_form, describe_form, open_llama_form
from thisthat.engine.llama_shape import LlamaShape, read_shape, supports
from thisthat.engine.open_trunk import blocks
from thisthat.engine.prefix_cache import PrefixCache
from thisthat.engine.rows import Branch, Logits, Row, RowResult, Slot, Tokens
from thisthat.engine.statistics import EngineStatistics
from thisthat.errors import InvalidInputError

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint

__all__ = ["OnnxEngine", "supports"]

PREFIX_CACHE_BYTES = 128 << 20

PASS_TOKENS = 256
"""Tokens of one pass: enough to fill the arithmetic, few enough to keep attention small."""


@dataclass(frozen=True, slots=True)
class KeptTokens:
    """Keys and values, step by step, of tokens already read."""

    tensors: tuple[Any, ...]
    tokens: int
    bytes: int


class OnnxEngine:
    """Rows in, logits at the slots out. ``run`` may be called from several threads.

    What a row answers does not depend on the rows that are run with it (``rows_apart``).
    """

    rows_apart = True

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
        for name, value in (("threads", threads), ("pass_tokens", pass_tokens)):
            if value is not None and value < 1:
                raise InvalidInputError(name, f"{value}, but must be at least 1")
        self._shape = shape
        self._labels = labels
        self._form = form
        self._threads = threads or usable_cores()
        self._pass_tokens = pass_tokens
        self._keeps_prefixes = prefix_cache_bytes > 0
        self._prefixes: PrefixCache[KeptTokens] = PrefixCache(
            prefix_cache_bytes, lambda kept: kept.bytes
        )
        self._passes = self._computed_tokens = self._reused_tokens = 0
        # One thread does all arithmetic, in its own floating-point mode; callers wait in line.
        self._worker = ThreadPoolExecutor(1, "thisthat-onnx", initializer=flush_denormals)
        # Opening a session sets that mode too, for the thread that opens it.
        opening = self._worker.submit(_open_session, graph, self._threads, arena)
        self._session: Any = opening.result()
        self._kept_names = [output.name for output in self._session.get_outputs()[1:]]
        self._nothing = self._no_tokens()

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
        int8 does not use that the model was trained to bear rounded activations; it is for rare
        use and keeps little memory. Raises
        InvalidInputError for another form, CheckpointError for a model that is not a plain llama
        or a form that cannot be written.
        """
        chosen = check_form(form)
        shape = read_shape(checkpoint.config, checkpoint.loop)
        source = Source(
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

    @property
    def description(self) -> str:
        """One line for people: runtime, device, numeric form."""
        import onnxruntime

        threads = "1 thread" if self._threads == 1 else f"{self._threads} threads"
        return f"onnxruntime {onnxruntime.__version__}, cpu, {threads}, {self._form}"

    @property
    def longest(self) -> int:
        """The most tokens on one path from the first prefix token to a branch's end."""
        return self._shape.longest

    @property
    def statistics(self) -> EngineStatistics:
        """What has been computed and what was saved, since the engine was opened."""
        return EngineStatistics(
            passes=self._passes,
            computed_tokens=self._computed_tokens,
            padding_tokens=0,
            reused_tokens=self._reused_tokens,
            prefixes=self._prefixes.statistics,
        )

    def close(self) -> None:
        """Give back the memory of weights and kept prefixes; the engine cannot run afterwards."""
        self._worker.shutdown()
        self._prefixes.clear()
        self._session = None

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        """Answer all rows, in the caller's order.

        Raises InvalidInputError for a row the model cannot read.
        """
        check_rows(
            rows, vocabulary=self._shape.vocabulary, longest=self.longest, labels=self._labels
        )
        groups: dict[Tokens, dict[int, Row]] = {}
        results = [RowResult((), 0)] * len(rows)
        for number, row in enumerate(rows):
            asked = self._to_be_read(row)
            if asked.branches:
                groups.setdefault(asked.prefix, {})[number] = asked
        for prefix, members in groups.items():
            answers = self._worker.submit(self._answer_group, prefix, list(members.values()))
            for number, answer in zip(members, answers.result(), strict=True):
                results[number] = answer
        return results

    def _answer_group(self, prefix: Tokens, rows: Sequence[Row]) -> list[RowResult]:
        """Rows of one prefix; where it has to be computed, the first row pays for it.

        Where no prefix is kept, each row pays for its own.
        """
        if not self._keeps_prefixes:
            return [
                RowResult(tuple(self._answer([row], self._read(self._nothing, prefix))[0]), 0)
                for row in rows
            ]
        kept, saved = self._read_prefix(prefix)
        results = []
        for row in rows:
            (answer,) = self._answer([row], kept)
            results.append(RowResult(tuple(answer), saved))
            self._reused_tokens += saved
            saved = len(prefix)
        return results

    def _to_be_read(self, row: Row) -> Row:
        """The row without branches that answer nothing, and without a prefix if none is kept.

        Before an open trunk a prefix stays: it is causal and would be open as part of the trunk.
        """
        row = replace(row, branches=tuple(branch for branch in row.branches if branch.slots))
        if self._keeps_prefixes or row.opened:
            return row
        return replace(row, prefix=(), trunk=row.prefix + row.trunk)

    def _read_prefix(self, prefix: Tokens) -> tuple[KeptTokens, int]:
        """The keys and values of ``prefix``, and how many of its tokens were not computed."""
        if not prefix:
            return self._nothing, 0
        kept = self._prefixes.get(prefix)
        if kept is not None:
            return kept, len(prefix)
        kept = self._read(self._nothing, prefix)
        self._prefixes.put(prefix, kept)
        return kept, 0

    def _answer(self, rows: Sequence[Row], kept: KeptTokens) -> list[list[Logits]]:
        """Rows that continue the same tokens: short ones together, long ones in parts."""
        answers: list[list[Logits]] = []
        for group in pack([row.fresh_tokens for row in rows], self._pass_tokens):
            members = [rows[index] for index in group]
            if len(members) == 1 and members[0].fresh_tokens > self._pass_tokens:
                answers.append(self._answer_long(members[0], kept))
            else:
                answers += self._answer_short(members, kept)
        return answers

    def _answer_short(self, rows: Sequence[Row], kept: KeptTokens) -> list[list[Logits]]:
        logits, _ = self._pass([Tree(row.trunk, row.branches, row.opened) for row in rows], kept)
        answers: list[list[Logits]] = []
        taken = 0
        for row in rows:
            slots = [slot for branch in row.branches for slot in branch.slots]
            answers.append(
                [logits[taken + number, : slot.options] for number, slot in enumerate(slots)]
            )
            taken += len(slots)
        return answers

    def _answer_long(self, row: Row, kept: KeptTokens) -> list[Logits]:
        if row.opened:
            for start, end in blocks(row.opened):
                kept = self._read_part(kept, Tree(row.trunk[start:end], (), end - start))
            rest = replace(row, trunk=row.trunk[row.opened :], opened=0)
            return self._answer([rest], kept)[0]
        if len(row.branches) == 1:
            branch = row.branches[0]
            shift = len(row.trunk)
            slots = tuple(Slot(slot.at + shift, slot.options) for slot in branch.slots)
            return self._answer_path(Branch(row.trunk + branch.tokens, slots), kept)
        kept = self._read(kept, row.trunk)
        alone = [Row((), (), (branch,)) for branch in row.branches]
        return list(chain.from_iterable(self._answer(alone, kept)))

    def _answer_path(self, path: Branch, kept: KeptTokens) -> list[Logits]:
        """A path longer than a pass, its slots answered part by part."""
        answers: list[Logits] = []
        start = 0
        for size in split_evenly(len(path.tokens), self._pass_tokens):
            end = start + size
            slots = tuple(
                Slot(slot.at - start, slot.options) for slot in path.slots if start <= slot.at < end
            )
            part = Branch(path.tokens[start:end], slots)
            last = end > path.slots[-1].at
            logits, after = self._pass([Tree((), (part,))], kept, keep=not last)
            answers += [row[: slot.options] for row, slot in zip(logits, slots, strict=True)]
            if after is None:
                break
            kept, start = after, end
        return answers

    def _read(self, kept: KeptTokens, tokens: Tokens) -> KeptTokens:
        """The keys and values after reading ``tokens`` as well, each seeing those before it."""
        if not tokens:
            return kept
        start = 0
        for size in split_evenly(len(tokens), self._pass_tokens):
            kept = self._read_part(kept, Tree(tokens[start : start + size], ()))
            start += size
        return kept

    def _read_part(self, kept: KeptTokens, part: Tree) -> KeptTokens:
        _, after = self._pass([part], kept, keep=True)
        assert after is not None
        return after

    def _pass(
        self, trees: Sequence[Tree], kept: KeptTokens, keep: bool = False
    ) -> tuple[Logits, KeptTokens | None]:
        """One pass of the model: logits at the slots and, if asked for, what to continue from."""
        import onnxruntime

        flat = lay_flat(trees, kept.tokens)
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
        wanted = ["logits", *self._kept_names] if keep else ["logits"]
        logits, *tensors = self._session.run_with_ort_values(wanted, feeds)
        self._passes += 1
        self._computed_tokens += len(flat.tokens)
        after = None
        if keep:
            tokens = kept.tokens + len(flat.tokens)
            after = KeptTokens(tuple(tensors), tokens, tokens * self._bytes_per_token())
        return logits.numpy()[: flat.slots.size], after

    def _bytes_per_token(self) -> int:
        return 4 * len(self._kept_names) * self._shape.shared_heads * self._shape.head_width

    def _no_tokens(self) -> KeptTokens:
        import onnxruntime

        size = (1, self._shape.shared_heads, 0, self._shape.head_width)
        empty = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(size, np.float32))
        return KeptTokens((empty,) * len(self._kept_names), 0, 0)


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
