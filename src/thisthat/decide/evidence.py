"""Which parts of a state an answer rests on: leave each part out and see how far the answer moves.

All states with a part missing are read in one batched pass in which neighbours share what they
begin with, unless states are open; the whole state is read as always, so looking for evidence never
moves an answer.
Leaving out one part at a time does not see facts that are stated twice: one covers for the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thisthat.decide.spans import spans_of
from thisthat.errors import InvalidInputError
from thisthat.prompt.sharing import share
from thisthat.questions import Decision, Support, Usage

if TYPE_CHECKING:
    from thisthat.decide.decider import Decider, Job
    from thisthat.decide.options import DecideOptions
    from thisthat.engine.rows import Row, RowResult
    from thisthat.questions import Question, Text


class Explanation:
    """What has to be read to explain a decision, and the decision once it was.

    ``job`` is the decision itself; ``rows`` are the states with a part missing. Whoever has the
    engine runs both, in pieces if need be, and hands the results to ``decision``.
    """

    def __init__(
        self, decider: Decider, state: Text, questions: Mapping[str, Question], way: DecideOptions
    ) -> None:
        """Check and tokenise.

        Raises what ``decide`` raises, and InvalidInputError for a state that had to be cut: without
        a part, other text would take its place.
        """

        def prepared(each: Text) -> Job:
            return decider.prepare(
                each,
                questions,
                layout=way.layout,
                packing=way.packing,
                keep=way.keep,
                order=way.order,
            )

        self._decider = decider
        self.job = prepared(state)
        if self.job.rendered.cut is not None:
            raise InvalidInputError(
                "explain",
                f"the state has {self.job.rendered.cut.state_tokens} tokens and was cut to "
                f"{self.job.rendered.cut.kept_tokens}; only a whole state can be explained",
            )
        self._spans = spans_of(state)
        self._others = [prepared(span.without) for span in self._spans]
        self._shared = share([row for job in self._others for row in job.rendered.rows])
        self.rows = self._shared.rows

    @property
    def tokens(self) -> int:
        """All tokens of the decision and its explanation."""
        return self.job.rendered.tokens + self._shared.tokens

    def pieces(self, tokens: int) -> Iterator[list[Row]]:
        """``rows`` in order, so many tokens at a time, at least one row."""
        piece: list[Row] = []
        size = 0
        for row in self.rows:
            if piece and size + row.fresh_tokens > tokens:
                yield piece
                piece, size = [], 0
            piece.append(row)
            size += row.fresh_tokens
        if piece:
            yield piece

    def decision(self, whole: Decision, results: Sequence[RowResult], seconds: float) -> Decision:
        """``whole`` with its evidence: the results of ``rows``, which took so many seconds.

        ``usage`` and ``seconds`` are of everything; ``usage.extra_tokens`` is what looking for
        evidence added.
        """
        separate = iter(self._shared.apart(results))
        without = [
            self._decider.read(job, [next(separate) for _ in job.rendered.rows], 0.0)
            for job in self._others
        ]
        usage = Usage(
            input_tokens=whole.usage.input_tokens + self._shared.tokens,
            cached_tokens=sum(each.usage.cached_tokens for each in (whole, *without)),
            extra_tokens=whole.usage.extra_tokens + self._shared.tokens,
        )
        prepared = sum(job.seconds for job in self._others)
        return replace(
            whole,
            usage=usage,
            seconds=whole.seconds + prepared + seconds,
            evidence={name: self._ranked(name, whole, without) for name in whole.answers},
        )

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


def explained(
    decider: Decider, state: Text, questions: Mapping[str, Question], way: DecideOptions
) -> Decision:
    """The decision about a state, with its evidence; the answers are those of ``decide``.

    Raises what ``decide`` raises.
    """
    explanation = Explanation(decider, state, questions, way)
    [(_, whole)] = decider.run([explanation.job])
    started = time.perf_counter()
    results = decider.engine.run(explanation.rows) if explanation.rows else []
    return explanation.decision(whole, results, time.perf_counter() - started)
