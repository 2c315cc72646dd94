"""The headline numbers along θ(λ) = θ0 + λΔ, from the base to the shipped checkpoint."""

from __future__ import annotations

from typing import Any

from thisthat.bench import metrics, scoring
from thisthat.bench.actuator import actuator_items, q_of
from thisthat.bench.branch import branch_items
from thisthat.bench.cohort import FILE, cohort_items
from thisthat.bench.measure import Context, Findings, Measurement, fair_subset
from thisthat.bench.replies import Reply
from thisthat.bench.result import Line
from thisthat.bench.spatial import spatial_items
from thisthat.suites.item import Item

LAMBDAS = (0.0, 0.25, 0.5, 0.75, 1.0)
SPATIAL, QUICK_SPATIAL = 60, 6
BRANCH, QUICK_BRANCH = 24, 2
ACTUATOR, QUICK_ACTUATOR = 400, 64
CAVEATS = (
    "λ = 0 is the base checkpoint bit for bit; nothing is retrained between the points.",
    "Subsets of the other measurements' questions, the same at every λ.",
)


def run(context: Context) -> Findings:
    """Ask the same subsets at every λ."""
    sets = _sets(context)
    lines: list[Line] = []
    points: list[dict[str, Any]] = []
    asked: list[Item] = []
    said: list[Reply] = []
    for lam in LAMBDAS:
        system = context.system_at(lam)
        for name, items in sets.items():
            title = f"λ = {lam:g}, {name}"
            replies = context.ask(f"lambda-{lam:g}-{name}", items, system, title)
            found = [scoring.accuracy_line(items, replies, None, f"{title}: accuracy")]
            if name == "actuator":
                found.append(_q_line(items, replies, f"{title}: qL2"))
            for line in found:
                lines.append(line)
                kind = line.label.rpartition(": ")[2]
                points.append(
                    {
                        "lambda": lam,
                        "set": name,
                        "number": kind,
                        "value": line.value,
                        "low": line.low,
                        "high": line.high,
                    }
                )
            asked += items
            said += replies
        if lam != context.setting.options.lam:
            context.forget(lam)
    return Findings(lines, asked, said, series={"lambda": points}, caveats=CAVEATS)


def _sets(context: Context) -> dict[str, list[Item]]:
    quick, data = context.setting.quick, context.setting.data
    sets: dict[str, list[Item]] = {}
    if data is not None and (data / FILE).is_file():
        sets["cohort"] = cohort_items(context)
    sets["spatial"] = fair_subset(spatial_items(context), QUICK_SPATIAL if quick else SPATIAL)
    sets["branch"] = fair_subset(branch_items(context), QUICK_BRANCH if quick else BRANCH)
    sets["actuator"] = fair_subset(actuator_items(context), QUICK_ACTUATOR if quick else ACTUATOR)
    return sets


def _q_line(items: list[Item], replies: list[Reply], label: str) -> Line:
    given = [(r.probabilities, q_of(i)) for i, r in zip(items, replies, strict=True)]
    known = [(p, (1 - q, q)) for p, q in given if p is not None]
    terms = metrics.q_terms([p for p, _ in known], [q for _, q in known])
    return Line.of(label, metrics.bootstrap_mean(terms), unit="score")


MEASUREMENT = Measurement("lambda", "λ sweep", run, engines_only=True)
