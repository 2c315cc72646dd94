"""What no training saw: four held-out families, and simulator sets up to a map side of 50."""

from __future__ import annotations

from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import QUICK_PER_FAMILY, Context, Findings
from thisthat_lab.bench.measurements.questions.actuator import actuator_items, geometry_items

PER_FAMILY = 300
BANDS_PER_SIDE, QUICK_BANDS_PER_SIDE = 100, 15


def run(context: Context) -> Findings:
    """Ask the families, then distance bands, local geometry and the actuator by map side."""
    from thisthat_lab.suites.spatial.held_out_sets import distance_bands, held_out_family_items

    quick = context.setting.quick
    families = held_out_family_items(QUICK_PER_FAMILY if quick else PER_FAMILY)
    replies = context.ask("heldout", families)
    sets = {
        "bands": distance_bands(QUICK_BANDS_PER_SIDE if quick else BANDS_PER_SIDE),
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
    return scoring.findings(lines, everything, said, groups, (families, replies))
