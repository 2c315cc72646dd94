"""Which parts of a state an answer rests on: leave each part out and see how far the answer moves.

All states with a part missing are read in one batched pass in which neighbours share what they
begin with; the whole state is read as always, so looking for evidence never moves an answer.
Leaving out one part at a time does not see facts that are stated twice: one covers for the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thisthat.calibrate.spans import Span, spans_of
from thisthat.questions import Decision, Support, Usage

if TYPE_CHECKING:
    from thisthat.calibrate.order import Order
    from thisthat.decider import Decider
    from thisthat.prompt.format import Keep, Layout, Packing
    from thisthat.questions import Question, Text


def explained(
    decider: Decider,
    state: Text,
    questions: Mapping[str, Question],
    *,
    layout: Layout | None = None,
    packing: Packing = "apart",
    keep: Keep | None = None,
    order: Order = "as-given",
) -> Decision:
    """The decision about a state, with its evidence.

    The answers are those of ``decide``; ``usage`` and ``seconds`` are of the whole pass, and
    ``usage.extra_tokens`` is what looking for evidence added. Raises what ``decide`` raises.
    """
    spans = spans_of(state)
    job, *others = [
        decider.prepare(each, questions, layout=layout, packing=packing, keep=keep, order=order)
        for each in [state, *(span.without for span in spans)]
    ]
    [(_, whole)] = decider.run([job])
    without, tokens = decider.run_sharing(others)
    usage = Usage(
        input_tokens=whole.usage.input_tokens + tokens,
        cached_tokens=sum(each.usage.cached_tokens for each in (whole, *without)),
        extra_tokens=whole.usage.extra_tokens + tokens,
    )
    return replace(
        whole,
        usage=usage,
        seconds=sum(each.seconds for each in (whole, *without)),
        evidence={name: _ranked(name, whole, spans, without) for name in whole.answers},
    )


def _ranked(
    name: str, whole: Decision, spans: Sequence[Span], without: Sequence[Decision]
) -> tuple[Support, ...]:
    best = whole[name].best_name
    sure = whole[name].probabilities[best]
    parts = [
        Support(
            where=span.where,
            text=span.text,
            fall=sure - decision[name].probabilities[best],
            best_without=decision[name].best_name,
        )
        for span, decision in zip(spans, without, strict=True)
    ]
    return tuple(sorted(parts, key=lambda part: -part.fall))
