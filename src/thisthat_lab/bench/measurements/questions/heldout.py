"""What no training saw: four held-out families, and simulator sets up to a map side of 50."""

from __future__ import annotations

from dataclasses import replace

from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import QUICK_PER_FAMILY, Context, Findings
from thisthat_lab.bench.measurements.questions.actuator import (
    actuator_items,
    geometry_items,
    simulated,
)

PER_FAMILY = 300
BANDS_PER_SIDE, QUICK_BANDS_PER_SIDE = 100, 15


def run(context: Context) -> Findings:
    """Ask the families, then distance bands, local geometry and the actuator by map side."""
    from thisthat_lab.suites.spatial.held_out_sets import held_out_family_items

    made = simulated(context)
    quick = context.setting.quick
    families = held_out_family_items(QUICK_PER_FAMILY if quick else PER_FAMILY)
    replies = context.ask("heldout", families)
    sets = {
        "bands": made.distance_bands(QUICK_BANDS_PER_SIDE if quick else BANDS_PER_SIDE),
        "geometry": geometry_items(context),
        "actuator": actuator_items(context),
    }
    lines = scoring.score_lines(families, replies, "heldout")
    groups = scoring.grouped(
        families, replies, "family", lambda item: item.family, "heldout.family"
    )
    everything, said = list(families), list(replies)
    for name, items in sets.items():
        answers = context.ask(name, items)
        lines.append(scoring.accuracy_line(items, answers, None, f"simulator set: {name}"))
        groups += scoring.grouped(items, answers, f"{name} by map side", "size", order=int)
        everything += items
        said += answers
    found = scoring.findings(lines, everything, said, groups, (families, replies))
    return replace(found, caveats=made.caveats)
