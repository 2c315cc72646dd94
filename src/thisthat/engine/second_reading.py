"""Close calls are read twice: a fast engine answers, a finer one decides where it hesitates.

The rounding of a fast form moves logits by a few hundredths. That can change the best option only
where two options are nearly as likely, so only those slots are asked again, of an engine that
rounds finer. What a slot answers depends on its own row alone, as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import TypeAlias

import numpy as np

from thisthat.engine.protocol import Engine
from thisthat.engine.rows import Branch, Logits, Row, RowResult
from thisthat.engine.statistics import EngineStatistics

CLOSE = 0.05
"""A lead, in logits, below which the best option may not survive rounding to eight bits."""

CLOSE_IN_SPANS = 0.07
"""The same where activations have a step for every span of inputs, and loud inputs and slots have
two terms, as on the native engine. A lead of the default 0.6.0 moves by 0.063 on average."""

CLOSE_IN_SEVEN_BIT_SPANS = 0.15
"""The same where those activations have seven bits."""

CLOSE_IN_SEVEN = 0.2
"""The same where weights have seven bits, which move logits further than activations alone."""

FLAT = 0.1
"""If no option is as likely as this, there is no close call to settle: a finer reading would only
name another of many options that are all unlikely."""

_RunRows: TypeAlias = Callable[[Engine, Sequence[Row]], list[RowResult]]


class SecondReading(Engine):
    """Rows in, logits at the slots out, as ``fast`` gives them except for close calls.

    The finer engine is opened when it is first needed, or by ``open_all``.
    """

    def __init__(
        self, fast: Engine, open_finer: Callable[[], Engine], close: float = CLOSE
    ) -> None:
        self._fast = fast
        self._open_finer = open_finer
        self._close = close
        self._finer: Engine | None = None
        self._lock = Lock()
        self._second_readings = 0
        self.capabilities = fast.capabilities

    @property
    def description(self) -> str:
        """One line for people: that of the fast engine, and what else is done."""
        return f"{self._fast.description}, close calls read twice"

    @property
    def longest(self) -> int:
        """The most tokens on one path from the first prefix token to a branch's end."""
        return self._fast.longest

    @property
    def statistics(self) -> EngineStatistics | None:
        """Counts of both engines together; kept prefixes are those of the fast one."""
        fast = self._fast.statistics
        finer = None if self._finer is None else self._finer.statistics
        if fast is None or finer is None:
            return fast
        counts = ("passes", "computed_tokens", "padding_tokens", "reused_tokens")
        both = {name: getattr(fast, name) + getattr(finer, name) for name in counts}
        return replace(fast, **both, second_readings=self._second_readings)

    def open_all(self) -> None:
        """Open the finer engine now, so that no call has to wait for it."""
        self._opened()

    def close(self) -> None:
        """Give back the memory of both engines."""
        self._fast.close()
        with self._lock:
            if self._finer is not None:
                self._finer.close()

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        """Answer all rows, in the caller's order; raises what the fast engine raises."""
        return self._run(rows, lambda engine, some: engine.run(some))

    def run_in_passes(
        self, rows: Sequence[Row], before_pass: Callable[[], None]
    ) -> list[RowResult]:
        """See Engine."""
        return self._run(rows, lambda engine, some: engine.run_in_passes(some, before_pass))

    def _run(self, rows: Sequence[Row], run: _RunRows) -> list[RowResult]:
        results = run(self._fast, rows)
        again = [
            (number, row)
            for number, result in enumerate(results)
            if (row := self._unsure(rows[number], result)) is not None
        ]
        if again:
            answers = run(self._opened(), [row for _, row in again])
            with self._lock:
                self._second_readings += sum(len(answer.logits) for answer in answers)
            for (number, _), answer in zip(again, answers, strict=True):
                results[number] = self._merged(results[number], answer)
        return results

    def _unsure(self, row: Row, result: RowResult) -> Row | None:
        """The row with nothing but its close calls; None when it has none."""
        logits = iter(result.logits)
        branches: list[Branch] = []
        for branch in row.branches:
            slots = tuple(slot for slot in branch.slots if self._is_close(next(logits)))
            if slots:
                branches.append(Branch(branch.tokens[: slots[-1].at + 1], slots))
        return replace(row, branches=tuple(branches), layers=()) if branches else None

    def _merged(self, first: RowResult, second: RowResult) -> RowResult:
        """The first reading with its close calls decided by the second."""
        finer = iter(second.logits)
        merged = [next(finer) if self._is_close(logits) else logits for logits in first.logits]
        return replace(first, logits=tuple(merged))

    def _is_close(self, logits: Logits) -> bool:
        if len(logits) < 2:
            return False
        runner_up, best = np.partition(logits, -2)[-2:]
        if best - runner_up >= self._close:
            return False
        return bool(np.exp(logits - best).sum() * FLAT <= 1)

    def _opened(self) -> Engine:
        with self._lock:
            if self._finer is None:
                self._finer = self._open_finer()
            return self._finer
