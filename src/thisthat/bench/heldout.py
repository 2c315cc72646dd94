"""What no training saw: four held-out families, and simulator sets up to a map side of 50."""

from __future__ import annotations

from thisthat.bench import scoring
from thisthat.bench.actuator import actuator_items, geometry_items
from thisthat.bench.measure import QUICK_PER_FAMILY, Context, Findings, Measurement
from thisthat.suites.item import Item

PER_FAMILY = 400
BANDS = 400
CAVEATS = (
    "The four families appear in no training question: new readouts, not only new mazes.",
    "Side 50 is never trained on. Items whose rendered state occurs in training are dropped by the "
    "split: a maze belongs to one side of it, whatever is asked.",
)


def held_out_items(context: Context) -> list[Item]:
    """The four held-out families."""
    from thisthat.suites.spatial.released import held_out_items as drawn

    per_family = QUICK_PER_FAMILY if context.setting.quick else PER_FAMILY
    return drawn(per_family, context.setting.seed)


def run(context: Context) -> Findings:
    """Ask the families, then distance bands, local geometry and the actuator by map side."""
    from thisthat.suites.spatial.simulator import band_items

    families = held_out_items(context)
    replies = context.ask("heldout", families)
    count = QUICK_PER_FAMILY if context.setting.quick else BANDS
    sets = {
        "bands": band_items(count, context.setting.seed),
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
        groups += scoring.grouped(
            items, answers, f"{name} by map side", lambda item: item.facts["size"], order=int
        )
        everything += items
        said += answers
    return Findings(
        lines,
        everything,
        said,
        groups,
        scoring.calibration_series(families, replies),
        scoring.rows_of(everything, said),
        CAVEATS,
    )


MEASUREMENT = Measurement("heldout", "Held-out families and simulator sets", run)
