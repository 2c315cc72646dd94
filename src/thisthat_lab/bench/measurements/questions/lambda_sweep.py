"""The headline numbers along θ(λ) = θ0 + λΔ, from the base to the shipped checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thisthat.items import metrics
from thisthat.items.item import Item
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings, fair_subset
from thisthat_lab.bench.measurements.questions.actuator import actuator_items, q_of
from thisthat_lab.bench.measurements.questions.branch import branch_items, drawn_items
from thisthat_lab.bench.measurements.questions.cohort import FILE, cohort_items
from thisthat_lab.bench.measurements.questions.spatial import spatial_items
from thisthat_lab.bench.measurements.questions.surfaces import SURFACES
from thisthat_lab.bench.measurements.questions.written import FOLDER, written_items
from thisthat_lab.bench.result import Line
from thisthat_lab.bench.systems.replies import Reply

LAMBDAS, QUICK_LAMBDAS = (0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 0.5, 1.0)
WRITTEN_PER_TASK, SPATIAL_PER_FAMILY, BRANCH_PER_FAMILY, ACTUATOR = 5, 60, 24, 400
QUICK_WRITTEN_PER_TASK, QUICK_BRANCH_PER_FAMILY, QUICK = 1, 6, 60


def run(context: Context) -> Findings:
    """Ask the same subsets at every λ."""
    sets = _sets(context)
    lines: list[Line] = []
    points: list[dict[str, Any]] = []
    asked: list[Item] = []
    said: list[Reply] = []
    for lam in QUICK_LAMBDAS if context.setting.quick else LAMBDAS:
        system = context.system_at(lam)
        for name, items in sets.items():
            title = f"λ = {lam:g}, {name}"
            replies = context.ask(title, items, system)
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
    return Findings(lines, asked, said, series={"lambda": points})


def _sets(context: Context) -> dict[str, list[Item]]:
    data = context.setting.data
    spatial, actuator = spatial_items(context), actuator_items(context)
    sets: dict[str, list[Item]] = {}
    if data is not None and (data / FOLDER).is_dir():
        per_task = QUICK_WRITTEN_PER_TASK if context.setting.quick else WRITTEN_PER_TASK
        sets["written"] = fair_subset(written_items(context), per_task)
    if data is not None and (data / FILE).is_file():
        sets["cohort"] = cohort_items(context)
    if context.setting.quick:
        drawn = drawn_items(QUICK_BRANCH_PER_FAMILY, context.seed)
        return sets | {
            "windows": _few(item for item in spatial if item.facts.get("surface") in SURFACES),
            "branch": _few(drawn),
            "actuator": fair_subset(actuator, QUICK),
        }
    return sets | {
        "spatial": fair_subset(spatial, SPATIAL_PER_FAMILY),
        "branch": fair_subset(branch_items(context), BRANCH_PER_FAMILY),
        "actuator": fair_subset(actuator, ACTUATOR),
    }


def _few(items: Iterable[Item]) -> list[Item]:
    found = list(items)
    return fair_subset(found, -(-QUICK // len({item.family for item in found})))


def _q_line(items: list[Item], replies: list[Reply], label: str) -> Line:
    given = [(r.probabilities, q_of(i)) for i, r in zip(items, replies, strict=True)]
    known = [(p, (1 - q, q)) for p, q in given if p is not None]
    terms = metrics.q_terms([p for p, _ in known], [q for _, q in known])
    return Line.of(label, metrics.bootstrap_mean(terms), unit="score")
