"""Rows cut into passes: short ones together, long ones in parts that continue one another.

Says before every pass that it is about to begin, so that others can go first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from thisthat.engine.bidirectional import blocks
from thisthat.engine.features import RowAnswer, layers_of, picked
from thisthat.engine.flat_pass import FlatPass, lay_flat, pack, split_evenly
from thisthat.engine.rows import Branch, Hidden, Logits, Row, Tokens, by_row


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

    def read_in_parts(
        self, flat: FlatPass, kept: KeptTokens, keep: bool, layers: Sequence[int] = ()
    ) -> Generator[None, None, Passed]:
        """Like ``read``, to the last bit; yields where other passes may be read meanwhile."""

    def close(self) -> None:
        """Give back the memory of weights."""


class RowReader:
    """Reads rows by ``read_pass``, at most ``pass_tokens`` at a time; ``before_pass`` may raise."""

    def __init__(
        self,
        read_pass: Callable[[FlatPass, KeptTokens, bool, Sequence[int]], Passed],
        pass_tokens: int,
        before_pass: Callable[[], None] = lambda: None,
    ) -> None:
        self._read_pass = read_pass
        self._pass_tokens = pass_tokens
        self._before_pass = before_pass

    def answer(self, rows: Sequence[Row], kept: KeptTokens) -> list[RowAnswer]:
        """Rows that continue the same tokens: short ones together, long ones in parts."""
        answers: list[RowAnswer] = []
        for group in pack([row.fresh_tokens for row in rows], self._pass_tokens):
            members = [rows[index] for index in group]
            if members[0].fresh_tokens > self._pass_tokens:
                answers.append(self._answer_long(members[0], kept))
            else:
                answers += self._answer_short(members, kept)
        return answers

    def _answer_short(self, rows: Sequence[Row], kept: KeptTokens) -> list[RowAnswer]:
        layers = layers_of(rows)
        passed, flat = self._pass(rows, kept, layers=layers)
        answers = [RowAnswer(own) for own in by_row(passed.logits, rows)]
        taken = first = 0
        for row, answer in zip(rows, answers, strict=True):
            if row.layers:
                hidden = picked(passed.hidden, layers, row)
                answer.trunk = [hidden[:, first : first + len(row.trunk)]]
                answer.slots = [hidden[:, at] for at in flat.slots[taken : taken + row.slots]]
            taken, first = taken + row.slots, first + row.fresh_tokens
        return answers

    def _answer_long(self, row: Row, kept: KeptTokens) -> RowAnswer:
        answer = RowAnswer()
        if row.opened:
            for start, end in blocks(row.opened):
                part = Row((), row.trunk[start:end], (), end - start, layers=row.layers)
                kept, hidden = self._read_part(kept, part)
                answer.trunk.append(hidden)
            rest = replace(row, trunk=row.trunk[row.opened :], opened=0)
            answer.add(self.answer([rest], kept)[0])
            return answer
        if len(row.branches) == 1:
            return self._answer_path(row.branches[0].after(row.trunk), kept, row.layers)
        kept, answer.trunk = self.read(kept, row.trunk, row.layers)
        alone = [Row((), (), (branch,), layers=row.layers) for branch in row.branches]
        for each in self.answer(alone, kept):
            answer.add(each)
        return answer

    def _answer_path(self, path: Branch, kept: KeptTokens, layers: tuple[int, ...]) -> RowAnswer:
        """A path longer than a pass, its slots answered part by part.

        What it gives as its trunk goes on to the last slot.
        """
        answer = RowAnswer()
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

    def read(
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
        self._before_pass()
        flat = lay_flat(rows, kept.tokens)
        return self._read_pass(flat, kept, keep, layers), flat
