"""The flow of an engine that reads flat passes: a row's tree laid out without padding, on a CPU.

A tree of a few hundred tokens is answered in one pass; longer rows are read in parts, each
continuing what is kept of the one before; an open block is never cut. Rows share a pass only where
the runtime answers each to the last bit as if alone: eight-bit rounding would carry a neighbour's
last bits into an answer's second digit. Prefixes are read once and kept. A runtime computes passes;
several callers take turns, pass by pass, and within a long pass where the runtime can stop there.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain
from threading import Lock

from thisthat.engine.abandoned import call_soon, start_caller
from thisthat.engine.check_rows import check_rows
from thisthat.engine.denormals import flush_denormals
from thisthat.engine.features import RowAnswer, features_of
from thisthat.engine.flat_pass import FlatPass
from thisthat.engine.llama_shape import LlamaShape
from thisthat.engine.prefix_cache import PrefixCache
from thisthat.engine.protocol import Capabilities, Engine
from thisthat.engine.row_reader import KeptTokens, Passed, RowReader, Runtime
from thisthat.engine.rows import Row, RowResult, Tokens, with_prefix_in_trunk
from thisthat.engine.statistics import EngineStatistics
from thisthat.errors import InvalidInputError

PREFIX_CACHE_BYTES = 128 << 20

PASS_TOKENS = 256
"""Tokens of one pass: enough to fill the arithmetic, few enough to keep attention small."""


class FlatEngine(Engine):
    """Rows in, logits at the slots out. ``run`` may be called from several threads.

    What a row answers does not depend on the rows that are run with it.
    """

    def __init__(
        self,
        open_runtime: Callable[[], Runtime],
        shape: LlamaShape,
        labels: int,
        *,
        prefix_cache_bytes: int = PREFIX_CACHE_BYTES,
        pass_tokens: int = PASS_TOKENS,
    ) -> None:
        """Serve what ``open_runtime`` opens.

        ``prefix_cache_bytes`` 0 reads every prefix anew with its row.
        """
        if pass_tokens < 1:
            raise InvalidInputError("pass_tokens", f"{pass_tokens}, but must be at least 1")
        self._shape = shape
        self._labels = labels
        self._pass_tokens = pass_tokens
        self._keeps_prefixes = prefix_cache_bytes > 0
        self._prefixes: PrefixCache[KeptTokens] = PrefixCache(
            prefix_cache_bytes, lambda kept: kept.bytes
        )
        self._passes = self._computed_tokens = self._reused_tokens = 0
        self._counting = Lock()
        # One thread does all arithmetic, in its own floating-point mode; callers wait in line.
        self._worker = ThreadPoolExecutor(1, "thisthat-engine", initializer=flush_denormals)
        # Opening a runtime may set that mode too, for the thread that opens it.
        self._runtime = self._worker.submit(open_runtime).result()
        # A server that has switched checkpoints drops an engine once its last job is done.
        start_caller()
        close = partial(_close, self._worker, self._runtime)
        self._closing = weakref.finalize(self, call_soon, close)
        self._closing.atexit = False
        shares = self._runtime.trees_apart and self._keeps_prefixes
        self.capabilities = Capabilities(
            rows_apart=True,
            pauses=True,
            tokens_together=pass_tokens if shares else 0,
            bidirectional=True,
            layers=len(shape.order) - 1,
        )

    @property
    def description(self) -> str:
        """One line for people: runtime, device, numeric form."""
        return self._runtime.description

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
        """Give back the memory of weights and kept prefixes; the engine cannot run afterwards.

        An engine that nobody holds any more does so by itself.
        """
        if self._closing.detach() is not None:
            _close(self._worker, self._runtime).result()
        self._prefixes.clear()

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        """Answer all rows, in the caller's order.

        Raises InvalidInputError for a row the model cannot read.
        """
        return self._run(rows, RowReader(self._read_pass, self._pass_tokens))

    def run_in_passes(
        self, rows: Sequence[Row], before_pass: Callable[[], None]
    ) -> list[RowResult]:
        """See Engine. A pass is read in parts where the runtime can, and changes no bit by it."""

        def read_pass(
            flat: FlatPass, kept: KeptTokens, keep: bool, layers: Sequence[int]
        ) -> Passed:
            parts = self._runtime.read_in_parts(flat, kept, keep, layers)
            self._count_pass(flat)
            while (passed := self._worker.submit(_read_on, parts).result()) is None:
                before_pass()
            return passed

        reader = RowReader(read_pass, self._pass_tokens, before_pass)
        return self._run(rows, reader)

    def _run(self, rows: Sequence[Row], reader: RowReader) -> list[RowResult]:
        check_rows(
            rows,
            vocabulary=self._shape.vocabulary,
            longest=self.longest,
            labels=self._labels,
            layers=self.capabilities.layers,
        )
        groups: dict[Tokens, dict[int, Row]] = {}
        results = [RowResult((), 0)] * len(rows)
        for number, row in enumerate(rows):
            asked = self._to_be_read(row)
            if asked.branches:
                groups.setdefault(asked.prefix, {})[number] = asked
        for prefix, members in groups.items():
            answers = self._answer_group(reader, prefix, list(members.values()))
            for number, answer in zip(members, answers, strict=True):
                results[number] = answer
        return results

    def _answer_group(
        self, reader: RowReader, prefix: Tokens, rows: Sequence[Row]
    ) -> list[RowResult]:
        """Rows of one prefix; where it has to be computed, the first row pays for it.

        Where no prefix is kept, each row pays for its own.
        """
        if not self._keeps_prefixes:
            read = (reader.read(self._runtime.nothing, prefix)[0] for _ in rows)
            return [
                _result(row, reader.answer([row], kept)[0], 0)
                for row, kept in zip(rows, read, strict=True)
            ]
        kept, saved = self._read_prefix(reader, prefix)
        together = [rows] if self._runtime.trees_apart else [[row] for row in rows]
        results = []
        answers = chain.from_iterable(reader.answer(some, kept) for some in together)
        for row, answer in zip(rows, answers, strict=True):
            results.append(_result(row, answer, saved))
            with self._counting:
                self._reused_tokens += saved
            saved = len(prefix)
        return results

    def _to_be_read(self, row: Row) -> Row:
        """The row without branches that answer nothing, and without a prefix if none is kept.

        Before an open trunk a prefix stays: it is causal and would be open as part of the trunk.
        """
        row = row.answering
        if self._keeps_prefixes or row.opened:
            return row
        return with_prefix_in_trunk(row)

    def _read_prefix(self, reader: RowReader, prefix: Tokens) -> tuple[KeptTokens, int]:
        """The keys and values of ``prefix``, and how many of its tokens were not computed."""
        if not prefix:
            return self._runtime.nothing, 0
        kept = self._prefixes.get(prefix)
        if kept is not None:
            return kept, len(prefix)
        kept, _ = reader.read(self._runtime.nothing, prefix)
        self._prefixes.put(prefix, kept)
        return kept, 0

    def _read_pass(
        self, flat: FlatPass, kept: KeptTokens, keep: bool, layers: Sequence[int]
    ) -> Passed:
        return self._worker.submit(self._read_now, flat, kept, keep, layers).result()

    def _read_now(
        self, flat: FlatPass, kept: KeptTokens, keep: bool, layers: Sequence[int]
    ) -> Passed:
        self._count_pass(flat)
        return self._runtime.read(flat, kept, keep, layers)

    def _count_pass(self, flat: FlatPass) -> None:
        with self._counting:
            self._passes += 1
            self._computed_tokens += len(flat.tokens)


def _read_on(parts: Generator[None, None, Passed]) -> Passed | None:
    """What a pass gives, or None where it stands after its next part."""
    try:
        next(parts)
    except StopIteration as end:
        passed: Passed = end.value
        return passed
    return None


def _close(worker: ThreadPoolExecutor, runtime: Runtime) -> Future[None]:
    """Give the memory back, in the runtime's thread; this may be that thread, so do not wait."""
    closed = worker.submit(runtime.close)
    worker.shutdown(wait=False)
    return closed


def _result(row: Row, answer: RowAnswer, cached: int) -> RowResult:
    return RowResult(tuple(answer.logits), cached, features_of(row, answer))
