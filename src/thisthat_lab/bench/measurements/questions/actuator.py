"""Does the probability mean anything? A noisy actuator, where the true one is computed.

The labels are single attempts; q, the exact probability of a collision-free move, is computed by
the generator. No question shows it. Some of our checkpoints were trained on it, about other mazes,
which the paper's was not: the registry lists their recipes and the caveat that stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import NamedTuple

from thisthat.items import metrics
from thisthat.items.item import Item
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Line
from thisthat_lab.bench.systems.replies import Reply

STATES_PER_SIDE, QUICK_STATES_PER_SIDE = 100, 15
_PUBLISHED_WORDS = (
    "Asked in the words of this checkpoint's published scripts, about mazes of our own: other "
    "questions than the same command asks other systems."
)


class Simulated(NamedTuple):
    """The simulator sets as one system is asked them, by how many of each side."""

    local_geometry: Callable[[int], list[Item]]
    noisy_actuator: Callable[[int], list[Item]]
    distance_bands: Callable[[int], list[Item]]
    context_ladder: Callable[[int], list[Item]]
    caveats: tuple[str, ...] = ()


def simulated(context: Context) -> Simulated:
    """The sets in our words, or for this-that-model in those of its published scripts."""
    from thisthat_lab.suites.spatial import held_out_sets as ours
    from thisthat_lab.suites.spatial import published_sets as published

    if context.published:
        return Simulated(
            published.local_geometry,
            published.noisy_actuator,
            published.distance_bands,
            published.context_ladder,
            (_PUBLISHED_WORDS,),
        )
    return Simulated(
        ours.local_geometry, ours.noisy_actuator, ours.distance_bands, ours.context_ladder
    )


def actuator_items(context: Context) -> list[Item]:
    """Noisy-actuator questions about mazes no training saw, every ρ about every state."""
    make = simulated(context).noisy_actuator
    return context.once("actuator items", lambda: make(_states_per_side(context)))


def geometry_items(context: Context) -> list[Item]:
    """One-step questions, four per state, about mazes no training saw."""
    make = simulated(context).local_geometry
    return context.once("geometry items", lambda: make(_states_per_side(context)))


def _states_per_side(context: Context) -> int:
    return QUICK_STATES_PER_SIDE if context.setting.quick else STATES_PER_SIDE


def q_of(item: Item) -> float:
    """The computed probability of yes: q where the world is noisy, else 0 or 1."""
    return float(item.facts.get("q", item.answer))


def run(context: Context) -> Findings:
    """Both regimes: the noisy actuator, and the same question without noise."""
    items = actuator_items(context)
    replies = context.ask("actuator", items)
    plain = geometry_items(context)
    plain_replies = context.ask("geometry", plain)
    lines = _regime("actuator", items, replies)
    lines += _regime("geometry", plain, plain_replies)
    yes = [(q_of(i), i.answer, r.probabilities) for i, r in zip(items, replies, strict=True)]
    known = [(q, y, p[1]) for q, y, p in yes if p is not None]
    series = scoring.calibration_series(items, replies)
    if known:
        found = metrics.decompose(
            [p for _, _, p in known], [q for q, _, _ in known], [y for _, y, _ in known]
        )
        lines += [
            Line("Brier on sampled labels", found.observed, unit="score"),
            Line("expected: (p − q)² + q(1 − q)", found.expected, unit="score"),
            Line("of which noise no model can remove, q(1 − q)", found.noise, unit="score"),
            Line("largest gap between the two sides", found.gap, unit="number"),
        ]
        series["decomposition"] = asdict(found)
    groups = scoring.grouped(items, replies, "ρ", "rho", order=float)
    asked, said = [*items, *plain], [*replies, *plain_replies]
    groups += scoring.grouped(
        asked, said, "set and map side", lambda item: f"{item.family}, {item.facts['size']}"
    )
    lines += scoring.bill_lines(context, said)
    series["tokens"] = scoring.tokens_point(items, replies)
    rows = scoring.rows_of(asked, said)
    return Findings(lines, asked, said, groups, series, rows, simulated(context).caveats)


def _regime(name: str, items: list[Item], replies: list[Reply]) -> list[Line]:
    title = "noisy actuator" if name == "actuator" else "local geometry"
    rates = [q_of(item) for item in items]
    lines = [scoring.accuracy_line(items, replies, f"{name}.accuracy", f"{title}: accuracy")]
    if name == "actuator":
        always = sum(item.answer for item in items) / len(items)
        lines += [
            Line("ceiling E[max(q, 1 − q)]", metrics.ceiling(rates), anchor="actuator.ceiling"),
            Line("always yes", always, anchor="actuator.always_yes"),
        ]
    known = [
        (reply.probabilities, (1 - q, q), item.state_hash)
        for item, reply, q in zip(items, replies, rates, strict=True)
        if reply.probabilities is not None
    ]
    if known:
        terms = metrics.q_terms([p for p, _, _ in known], [q for _, q, _ in known])
        interval = metrics.bootstrap_mean(terms, [state for _, _, state in known])
        lines.append(Line.of(f"{title}: qL2", interval, f"{name}.qL2", "score"))
    lines.append(
        Line(
            f"{title}: constant predictor, qL2",
            metrics.constant_q_distance(rates),
            unit="score",
            anchor=f"{name}.constant_qL2",
        )
    )
    if name == "actuator":
        reader = metrics.best_reader_q_distance(rates, [item.facts["rho"] for item in items])
        lines.append(
            Line(
                "best predictor that reads ρ alone, qL2",
                reader,
                unit="score",
                anchor="actuator.rho_qL2",
            )
        )
    return lines
