"""Is the part of the state that an answer rests on the one that decides?

The generated branch families know which words of a state decide; `explain=True` ranks the parts
of the state without knowing them. Two things can decide: a fact of the case, and the rule that is
applied to it where the state holds that too. A hit is a first-ranked part that holds one of them,
or lies within one; facts are counted alone as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from thisthat.errors import StateTooLongError
from thisthat.items import metrics
from thisthat.items.item import Item
from thisthat.questions import Support
from thisthat_lab.bench.measure import Context, Findings, fair_subset
from thisthat_lab.bench.measurements.questions.branch import branch_items
from thisthat_lab.bench.result import Bar, Group, Line
from thisthat_lab.bench.systems.replies import Reply, from_probabilities, unanswered

PER_FAMILY = 10
# One explanation reads a state dozens of times, seconds on a CPU: one item of every other family.
QUICK_PER_FAMILY, QUICK_STEP = 1, 2
LEAST_HITS = 0.8


@dataclass(frozen=True)
class _Found:
    item: Item
    reply: Reply
    facts: Sequence[bool]
    rules: Sequence[bool]
    extra: float

    @property
    def hits(self) -> list[bool]:
        """By rank, whether a part holds a deciding fact or the rule."""
        return [fact or rule for fact, rule in zip(self.facts, self.rules, strict=True)]

    @property
    def right(self) -> bool:
        return self.reply.chosen == self.item.answer


def run(context: Context) -> Findings:
    """Explain decisions of every family that knows its deciding facts."""
    knowing = [item for item in branch_items(context) if item.facts.get("deciding")]
    quick = context.setting.quick
    items = fair_subset(knowing, QUICK_PER_FAMILY if quick else PER_FAMILY)
    items = items[::QUICK_STEP] if quick else items
    found: list[_Found] = []
    replies: list[Reply] = []
    with context.progress("evidence", len(items)) as advance:
        for item in items:
            reply, one = _explain(context, item)
            replies.append(reply)
            found += [one] if one else []
            advance(1)
    trained = _line(
        "trained families", [one.hits for one in found if one.item.split != "heldout_task"]
    )
    facts = [one.facts for one in found]
    bare = [one.facts for one in found if not any(one.rules)]
    lines = [
        _line("the first-ranked part holds a deciding fact or its rule", [o.hits for o in found]),
        Line("a part taken at random does", _by_chance([one.hits for one in found])),
        _line("where the answer was right", [one.hits for one in found if one.right]),
        trained,
        _line("held-out families", [one.hits for one in found if one.item.split == "heldout_task"]),
        _line("the first-ranked part holds a deciding fact", facts),
        Line("a part taken at random holds one", _by_chance(facts)),
        _line("the same where no rule stands in the state", bare),
        Line("and a part taken at random there", _by_chance(bare)),
        Line(
            "tokens read, times those of the decision",
            _mean([one.extra for one in found]),
            unit="number",
        ),
    ]
    label = "first-ranked part decides, trained families"
    bars = [Bar(label, trained.value, LEAST_HITS, True, "share")]
    return Findings(lines, items, replies, _groups(found), bars=bars)


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
    facts = [holds(part, item.facts["deciding"]) for part in parts]
    rules = [holds(part, item.facts.get("rule", ())) for part in parts]
    usage = decision.usage
    times = usage.input_tokens / (usage.input_tokens - usage.extra_tokens)
    return reply, _Found(item, reply, facts, rules, times)


def _line(label: str, ranked: Sequence[Sequence[bool]]) -> Line:
    if not ranked:
        return Line(label, None)
    return Line.of(label, metrics.wilson(sum(hits[0] for hits in ranked), len(ranked)))


def _by_chance(ranked: Sequence[Sequence[bool]]) -> float | None:
    return _mean([sum(hits) / len(hits) for hits in ranked])


def _groups(found: Sequence[_Found]) -> list[Group]:
    families: dict[str, list[_Found]] = defaultdict(list)
    for one in found:
        families[one.item.family].append(one)
    groups = []
    for family, part in sorted(families.items()):
        hits = sum(one.hits[0] for one in part)
        interval = metrics.wilson(hits, len(part))
        chance = sum(sum(one.hits) / len(one.hits) for one in part) / len(part)
        groups.append(
            Group("family", family, len(part), hits, 0, interval.low, interval.high, chance)
        )
    return groups


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
