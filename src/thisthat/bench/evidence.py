"""Is the part of the state that an answer rests on the one that holds the deciding fact?

The generated branch families know which words of a state decide; `explain=True` ranks the parts
of the state without knowing them. A hit is a first-ranked part that holds a deciding fact, or
lies within one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from thisthat.bench import metrics
from thisthat.bench.branch import branch_items
from thisthat.bench.measure import Context, Findings, Measurement, fair_subset
from thisthat.bench.replies import Reply, from_probabilities, unanswered
from thisthat.bench.result import Group, Line
from thisthat.errors import StateTooLongError
from thisthat.questions import Support
from thisthat.suites.item import Item

# One explanation reads a state dozens of times: seconds on a CPU.
PER_FAMILY, QUICK_PER_FAMILY = 10, 1
CAVEATS = (
    "States that fall into a single part are left out: there is nothing to rank.",
    "One part is left out at a time, so facts that stand in a state twice cannot be seen.",
)


@dataclass(frozen=True)
class _Found:
    item: Item
    reply: Reply
    hit: bool
    by_chance: float
    extra: float

    @property
    def right(self) -> bool:
        return self.reply.chosen == self.item.answer


def run(context: Context) -> Findings:
    """Explain decisions of every family that knows its deciding facts."""
    knowing = [item for item in branch_items(context) if item.facts.get("deciding")]
    items = fair_subset(knowing, QUICK_PER_FAMILY if context.setting.quick else PER_FAMILY)
    found: list[_Found] = []
    replies: list[Reply] = []
    with context.progress("evidence", len(items)) as advance:
        for item in items:
            reply, one = _explain(context, item)
            replies.append(reply)
            found += [one] if one else []
            advance(1)
    lines = [
        _line("the first-ranked part holds a deciding fact", found),
        Line("a part taken at random does", _mean([one.by_chance for one in found])),
        _line("where the answer was right", [one for one in found if one.right]),
        _line("trained families", [one for one in found if one.item.split != "heldout_task"]),
        _line("held-out families", [one for one in found if one.item.split == "heldout_task"]),
        Line(
            "tokens read, times those of the decision",
            _mean([one.extra for one in found]),
            unit="number",
        ),
    ]
    return Findings(lines, items, replies, _groups(found), caveats=CAVEATS)


def holds(support: Support, deciding: Sequence[str]) -> bool:
    """Does a part hold one of the deciding texts, or lie within one?"""
    text = " ".join(support.text.split())
    facts = [" ".join(fact.split()) for fact in deciding]
    return any(fact in text or text in fact for fact in facts)


def _explain(context: Context, item: Item) -> tuple[Reply, _Found | None]:
    decider = context.engine.decider
    try:
        decision = decider.decide(item.state, {"q": item.as_question()}, explain=True)
    except StateTooLongError:
        return unanswered("too long"), None
    reply = from_probabilities(tuple(decision["q"].probabilities.values()))
    parts = (decision.evidence or {})["q"]
    if len(parts) < 2:
        return reply, None
    hits = [holds(part, item.facts["deciding"]) for part in parts]
    usage = decision.usage
    times = usage.input_tokens / (usage.input_tokens - usage.extra_tokens)
    return reply, _Found(item, reply, hits[0], sum(hits) / len(hits), times)


def _line(label: str, found: Sequence[_Found]) -> Line:
    if not found:
        return Line(label, None)
    return Line.of(label, metrics.wilson(sum(one.hit for one in found), len(found)))


def _groups(found: Sequence[_Found]) -> list[Group]:
    families: dict[str, list[_Found]] = defaultdict(list)
    for one in found:
        families[one.item.family].append(one)
    groups = []
    for family, part in sorted(families.items()):
        hits = sum(one.hit for one in part)
        interval = metrics.wilson(hits, len(part))
        chance = sum(one.by_chance for one in part) / len(part)
        groups.append(
            Group("family", family, len(part), hits, 0, interval.low, interval.high, chance)
        )
    return groups


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


MEASUREMENT = Measurement("evidence", "Evidence against known facts", run, engines_only=True)
