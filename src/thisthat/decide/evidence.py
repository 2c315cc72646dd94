"""Which parts of a state an answer rests on: leave each part out and see how the answer moves.

All states with a part missing are read in one batched pass in which neighbours share their
beginnings, unless states are open; the whole state is read as always, so explaining never moves an
answer. Leaving out one part at a time misses facts that are stated twice: one covers for the other.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from thisthat.decide.budget import within_budget
from thisthat.decide.job import Job, JobResult
from thisthat.decide.options import DecideOptions
from thisthat.decide.processor import Processor
from thisthat.decide.spans import spans_of
from thisthat.errors import InvalidInputError
from thisthat.prompt.builder import Rendered
from thisthat.prompt.sharing import share
from thisthat.questions import Decision, Question, Support, Text, Usage


class Explained:
    """The procedure that explains: a job for the decision, then jobs for the states less a part."""

    take_tokenises: ClassVar[bool] = False
    counted = "with its explanation"

    def __init__(
        self,
        processor: Processor,
        state: Text,
        questions: Mapping[str, Question],
        options: DecideOptions,
        piece_tokens: int | None = None,
    ) -> None:
        """Check and tokenise; states less a part run ``piece_tokens`` at a time, or all at once.

        Raises what ``decide`` raises, and InvalidInputError for a state that had to be cut: other
        text would take the place of the missing part.
        """
        self.questions = questions
        self._processor = processor
        whole = processor.job(state, questions, options)
        if whole.rendered.cut is not None:
            raise InvalidInputError(
                "explain",
                f"the state has {whole.rendered.cut.state_tokens} tokens and was cut to "
                f"{whole.rendered.cut.kept_tokens}; only a whole state can be explained",
            )
        self._spans = spans_of(state)
        self._others = [processor.job(span.without, questions, options) for span in self._spans]
        self._shared = share([row for job in self._others for row in job.rendered.rows])
        self._whole = whole
        most = math.inf if piece_tokens is None else piece_tokens
        pieces = within_budget(self._shared.rows, lambda row: row.fresh_tokens, most)
        alone = (Rendered(tuple(rows), (), None) for rows in pieces)
        self._jobs = deque([whole, *(Job({}, rows, whole.layout, 0.0, ()) for rows in alone)])
        self._results: list[JobResult] = []

    @property
    def tokens(self) -> int:
        """All tokens of the decision and its explanation."""
        return self._whole.rendered.tokens + self._shared.tokens

    def next_job(self) -> Job | None:
        """See Procedure."""
        return self._jobs[0] if self._jobs else None

    def take(self, result: JobResult) -> None:
        """See Procedure."""
        self._jobs.popleft()
        self._results.append(result)

    @cached_property
    def decision(self) -> Decision:
        """The decision with its evidence.

        ``usage`` and ``seconds`` cover everything; ``usage.extra_tokens`` is what explaining added.
        """
        first, *pieces = self._results
        whole = self._processor.decision(self._whole, first)
        separate = iter(self._shared.apart([row for piece in pieces for row in piece.rows]))
        without = [
            self._processor.decision(job, JobResult([next(separate) for _ in job.rendered.rows], 0))
            for job in self._others
        ]
        usage = Usage(
            input_tokens=whole.usage.input_tokens + self._shared.tokens,
            cached_tokens=sum(each.usage.cached_tokens for each in (whole, *without)),
            extra_tokens=whole.usage.extra_tokens + self._shared.tokens,
        )
        seconds = whole.seconds + sum(each.seconds for each in without)
        seconds += sum(piece.seconds for piece in pieces)
        evidence = {name: self._ranked(name, whole, without) for name in whole.answers}
        return replace(whole, usage=usage, seconds=seconds, evidence=evidence)

    def _ranked(
        self, name: str, whole: Decision, without: Sequence[Decision]
    ) -> tuple[Support, ...]:
        best = whole[name].best_name
        sure = whole[name].probabilities
        parts = []
        for span, decision in zip(self._spans, without, strict=True):
            left = decision[name].probabilities
            parts.append(
                Support(
                    where=span.where,
                    text=span.text,
                    moved=sum(max(0.0, sure[option] - left[option]) for option in sure),
                    fall=sure[best] - left[best],
                    best_without=decision[name].best_name,
                )
            )
        return tuple(sorted(parts, key=lambda part: -part.moved))
