"""The flow of an engine that reads flat passes: a row's tree laid out without padding, on a CPU.

A tree of a few hundred tokens is answered in one pass; longer rows are read in parts, each
continuing what is kept of the one before; an open block is never cut. Rows share a pass only where
the runtime answers each to the last bit as if alone: eight-bit rounding would carry a neighbour's
last bits into an answer's second digit. Prefixes are read once and kept. A runtime computes passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Protocol

from thisthat.engine.bidirectional import blocks
from thisthat.engine.check_rows import check_rows
from thisthat.engine.denormals import flush_denormals
from thisthat.engine.features import Answer, features_of, layers_of, picked
from thisthat.engine.flat_pass import FlatPass, lay_flat, pack, split_evenly
from thisthat.engine.llama_shape import LlamaShape
from thisthat.engine.prefix_cache import PrefixCache
from thisthat.engine.protocol import Capabilities, Engine
from thisthat.engine.rows import (
    Branch,
    Hidden,
    Logits,
    Row,
    RowResult,
    Tokens,
    by_row,
    with_prefix_in_trunk,
)
from thisthat.engine.statistics import EngineStatistics
from thisthat.errors import InvalidInputError

PREFIX_CACHE_BYTES = 128 << 20

PASS_TOKENS = 256
"""Tokens of one pass: enough to fill the arithmetic, few enough to keep attention small."""


@dataclass(frozen=True, slots=True)
class KeptTokens:
    """Keys and values of tokens already read, as the runtime that read them holds them."""

    tensors: tuple[Any, ...]
    tokens: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Passed:
    """What a pass gives: logits at the slots, what to continue from, hidden states.

    ``hidden`` [layers, tokens, width] has all tokens of the pass after each layer asked for.
    """

    logits: Logits
    after: KeptTokens | None
    hidden: Hidden


class Runtime(Protocol):
    """What computes a pass. It is used by one thread, the one that opened it."""

    @property
    def description(self) -> str:
        """One line for people: runtime, device, threads, numeric form."""

    @property
    def nothing(self) -> KeptTokens:
        """What is kept before the first token."""

    @property
    def trees_apart(self) -> bool:
        """Whether a tree's numbers are the same, to the last bit, with other trees in the pass."""

    def read(
        self, flat: FlatPass, kept: KeptTokens, keep: bool, layers: Sequence[int] = ()
    ) -> Passed:
        """Logits at the slots and, if asked for, what to continue from and hidden states."""

    def close(self) -> None:
        """Give back the memory of weights."""


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
        # One thread does all arithmetic, in its own floating-point mode; callers wait in line.
        self._worker = ThreadPoolExecutor(1, "thisthat-engine", initializer=flush_denormals)
        # Opening a runtime may set that mode too, for the thread that opens it.
        self._runtime = self._worker.submit(open_runtime).result()
        shares = self._runtime.trees_apart and self._keeps_prefixes
        self.capabilities = Capabilities(
            rows_apart=True,
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
        """Give back the memory of weights and kept prefixes; the engine cannot run afterwards."""
        self._worker.submit(self._runtime.close).result()
        self._worker.shutdown()
        self._prefixes.clear()

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        """Answer all rows, in the caller's order.

        Raises InvalidInputError for a row the model cannot read.
        """
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
            answers = self._worker.submit(self._answer_group, prefix, list(members.values()))
            for number, answer in zip(members, answers.result(), strict=True):
                results[number] = answer
        return results

    def _answer_group(self, prefix: Tokens, rows: Sequence[Row]) -> list[RowResult]:
        """Rows of one prefix; where it has to be computed, the first row pays for it.

        Where no prefix is kept, each row pays for its own.
        """
        if not self._keeps_prefixes:
            read = (self._read(self._runtime.nothing, prefix)[0] for _ in rows)
            return [
                _result(row, self._answer([row], kept)[0], 0)
                for row, kept in zip(rows, read, strict=True)
            ]
        kept, saved = self._read_prefix(prefix)
        together = [rows] if self._runtime.trees_apart else [[row] for row in rows]
        results = []
        answers = chain.from_iterable(self._answer(some, kept) for some in together)
        for row, answer in zip(rows, answers, strict=True):
            results.append(_result(row, answer, saved))
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

    def _read_prefix(self, prefix: Tokens) -> tuple[KeptTokens, int]:
        """The keys and values of ``prefix``, and how many of its tokens were not computed."""
        if not prefix:
            return self._runtime.nothing, 0
        kept = self._prefixes.get(prefix)
        if kept is not None:
            return kept, len(prefix)
        kept, _ = self._read(self._runtime.nothing, prefix)
        self._prefixes.put(prefix, kept)
        return kept, 0

    def _answer(self, rows: Sequence[Row], kept: KeptTokens) -> list[Answer]:
        """Rows that continue the same tokens: short ones together, long ones in parts."""
        answers: list[Answer] = []
        for group in pack([row.fresh_tokens for row in rows], self._pass_tokens):
            members = [rows[index] for index in group]
            if members[0].fresh_tokens > self._pass_tokens:
                answers.append(self._answer_long(members[0], kept))
            else:
                answers += self._answer_short(members, kept)
        return answers

    def _answer_short(self, rows: Sequence[Row], kept: KeptTokens) -> list[Answer]:
        layers = layers_of(rows)
        passed, flat = self._pass(rows, kept, layers=layers)
        answers = [Answer(own) for own in by_row(passed.logits, rows)]
        taken = first = 0
        for row, answer in zip(rows, answers, strict=True):
            if row.layers:
                hidden = picked(passed.hidden, layers, row)
                answer.trunk = [hidden[:, first : first + len(row.trunk)]]
                answer.slots = [hidden[:, at] for at in flat.slots[taken : taken + row.slots]]
            taken, first = taken + row.slots, first + row.fresh_tokens
        return answers

    def _answer_long(self, row: Row, kept: KeptTokens) -> Answer:
        answer = Answer()
        if row.opened:
            for start, end in blocks(row.opened):
                part = Row((), row.trunk[start:end], (), end - start, layers=row.layers)
                kept, hidden = self._read_part(kept, part)
                answer.trunk.append(hidden)
            rest = replace(row, trunk=row.trunk[row.opened :], opened=0)
            answer.add(self._answer([rest], kept)[0])
            return answer
        if len(row.branches) == 1:
            return self._answer_path(row.branches[0].after(row.trunk), kept, row.layers)
        kept, answer.trunk = self._read(kept, row.trunk, row.layers)
        alone = [Row((), (), (branch,), layers=row.layers) for branch in row.branches]
        for each in self._answer(alone, kept):
            answer.add(each)
        return answer

    def _answer_path(self, path: Branch, kept: KeptTokens, layers: tuple[int, ...]) -> Answer:
        """A path longer than a pass, its slots answered part by part.

        What it gives as its trunk goes on to the last slot.
        """
        answer = Answer()
        start = 0
        for size in split_evenly(len(path.tokens), self._pass_tokens):
            end = start + size
            part = Row((), (), (path.part(start, end),))
            last = end > path.slots[-1].at
            passed, flat = self._pass([part], kept, keep=not last, layers=layers)
            answer.logits += part.cut_to_options(passed.logits)
            answer.trunk.append(passed.hidden)
            answer.slots += [passed.hidden[:, at] for at in flat.slots]
            if passed.after is None:
                break
            kept, start = passed.after, end
        return answer

    def _read(
        self, kept: KeptTokens, tokens: Tokens, layers: tuple[int, ...] = ()
    ) -> tuple[KeptTokens, list[Hidden]]:
        """The keys and values after reading ``tokens`` as well, each seeing those before it."""
        found: list[Hidden] = []
        start = 0
        for size in split_evenly(len(tokens), self._pass_tokens) if tokens else ():
            part = Row((), tokens[start : start + size], (), layers=layers)
            kept, hidden = self._read_part(kept, part)
            found.append(hidden)
            start += size
        return kept, found

    def _read_part(self, kept: KeptTokens, part: Row) -> tuple[KeptTokens, Hidden]:
        passed, _ = self._pass([part], kept, keep=True, layers=part.layers)
        assert passed.after is not None
        return passed.after, passed.hidden

    def _pass(
        self,
        rows: Sequence[Row],
        kept: KeptTokens,
        keep: bool = False,
        layers: tuple[int, ...] = (),
    ) -> tuple[Passed, FlatPass]:
        """One pass of the model, and how its tokens were laid out."""
        flat = lay_flat(rows, kept.tokens)
        self._passes += 1
        self._computed_tokens += len(flat.tokens)
        return self._runtime.read(flat, kept, keep, layers), flat


def _result(row: Row, answer: Answer, cached: int) -> RowResult:
    return RowResult(tuple(answer.logits), cached, features_of(row, answer))
