"""Does the answer change when the same options stand in another order?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from thisthat.errors import StateTooLongError
from thisthat.items import metrics
from thisthat.items.item import Item
from thisthat.questions import Choice
from thisthat.rng import Rng
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings, fair_subset
from thisthat_lab.bench.measurements.questions.branch import branch_items
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.systems.opening import EngineSystem
from thisthat_lab.bench.systems.replies import Reply
from thisthat_lab.bench.timing.texts import state_of

QUESTIONS = 600
QUICK_QUESTIONS = 60
ORDERS = 3
AVERAGED = 200
TIMED = 15
TIMED_TOKENS = 200
TIMED_CHOICE = Choice(
    {
        "billing": "a charge, an invoice or a refund",
        "shipping": "a parcel that is late, lost or broken",
        "account": "logging in, passwords, personal data",
        "other": "anything else",
    },
    "Which queue should take this ticket?",
)
MOST_TIMES = 1.6
CAVEATS = (
    "Choices only: the order of a boolean's and a score's options is part of the question.",
    f"Each question is asked in its declared order and in {ORDERS} others, drawn once.",
    f"Averaged answers: at most {AVERAGED} questions, in the declared order and in one other.",
)


def run(context: Context) -> Findings:
    """Ask choices in several orders; report flips and how far distributions move."""
    _ = context.system  # One that cannot be opened is said before questions are drawn.
    choices = [item for item in branch_items(context) if item.kind == "choice"]
    most = QUICK_QUESTIONS if context.setting.quick else QUESTIONS
    families = len({item.family for item in choices})
    spread = fair_subset(choices, -(-most // families))
    items = sorted(spread, key=lambda item: item.fingerprint)[:most]
    orders = [_orders(item, context.seed) for item in items]
    asked = [
        _reordered(item, order) for item, mine in zip(items, orders, strict=True) for order in mine
    ]
    replies = context.ask("order", asked)
    flips, distances, groups = [], [], []
    for number, (item, mine) in enumerate(zip(items, orders, strict=True)):
        said = replies[number * len(mine) : (number + 1) * len(mine)]
        chosen = [_original(reply, order) for reply, order in zip(said, mine, strict=True)]
        for other in range(1, len(mine)):
            flips.append(float(chosen[other] != chosen[0]))
            distances.append(_distance(said[0], said[other], mine[0], mine[other]))
            groups.append(item.fingerprint)
    moved = [value for value in distances if value is not None]
    lines = [
        Line.of("answers that flip with the order", metrics.bootstrap_mean(flips, groups)),
        Line("distance the distribution moves (total variation)", _mean(moved), unit="score"),
        scoring.accuracy_line(asked, replies, None, "accuracy over all orders"),
    ]
    first = [reply for number, reply in enumerate(replies) if number % (ORDERS + 1) == 0]
    lines.append(scoring.accuracy_line(items, first, None, "accuracy in the declared order"))
    lines += _averaged_lines(context, items[:AVERAGED], orders[:AVERAGED])
    times = _time_of_averages(context)
    label = (
        f"time of an averaged answer, times that of one order (4 options, {TIMED_TOKENS} tokens)"
    )
    if times is not None:
        lines.append(Line(label, times, unit="ratio"))
    return Findings(
        lines,
        asked,
        replies,
        scoring.grouped(
            asked, replies, "place of the right option", lambda i: i.answer + 1, order=int
        ),
        bars=[] if times is None else [Bar(label, times, MOST_TIMES, False, "ratio")],
        caveats=CAVEATS,
    )


def _averaged_lines(
    context: Context, items: Sequence[Item], orders: Sequence[Sequence[Sequence[int]]]
) -> list[Line]:
    """The same flips when every answer is an average over orders; one of our engines only."""
    if not isinstance(context.system, EngineSystem):
        return []
    decider = context.system.decider
    flips, hits, times = [], [], []
    with context.progress("order averaged", len(items)) as advance:
        for item, (_, other, *_) in zip(items, orders, strict=True):
            turned = _reordered(item, other).as_question()
            try:
                here = decider.decide(item.state, {"q": item.as_question()}, order="average")
                there = decider.decide(item.state, {"q": turned}, order="average")
            except StateTooLongError:
                continue
            finally:
                advance(1)
            flips.append(here["q"].best_name != there["q"].best_name)
            hits.append(here["q"].best_name == item.options[item.answer][0])
            usage = here.usage
            times.append(usage.input_tokens / (usage.input_tokens - usage.extra_tokens))
    return [
        Line.of("flips of averaged answers", metrics.wilson(sum(flips), len(flips))),
        Line.of("accuracy of averaged answers", metrics.wilson(sum(hits), len(hits))),
        Line("tokens of an averaged answer, times those of one order", _mean(times), unit="number"),
    ]


def _time_of_averages(context: Context) -> float | None:
    """The median, over states, of the time of an averaged answer over that of one order."""
    if not isinstance(context.system, EngineSystem):
        return None
    decider = context.system.decider
    rng = Rng("order", context.seed)
    ratios: list[float] = []
    for _ in range(TIMED + 1):
        state = state_of(decider, rng, TIMED_TOKENS)
        start = time.perf_counter()
        decider.ask(state, TIMED_CHOICE)
        between = time.perf_counter()
        decider.ask(state, TIMED_CHOICE, order="average")
        ratios.append((time.perf_counter() - between) / (between - start))
    return median(ratios[1:])  # the first call warms up


def _orders(item: Item, seed: int) -> list[tuple[int, ...]]:
    places = tuple(range(len(item.options)))
    rng = Rng(seed, item.fingerprint)
    return [places, *(tuple(rng.shuffled(places)) for _ in range(ORDERS))]


def _reordered(item: Item, order: Sequence[int]) -> Item:
    return replace(
        item,
        options=tuple(item.options[place] for place in order),
        answer=list(order).index(item.answer),
        target=None,
    )


def _original(reply: Reply, order: Sequence[int]) -> int:
    return metrics.UNANSWERED if reply.chosen is None else order[reply.chosen]


def _distance(one: Reply, two: Reply, first: Sequence[int], second: Sequence[int]) -> float | None:
    if one.probabilities is None or two.probabilities is None:
        return None
    here = dict(zip(first, one.probabilities, strict=True))
    there = dict(zip(second, two.probabilities, strict=True))
    return sum(abs(here[place] - there[place]) for place in here) / 2


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
