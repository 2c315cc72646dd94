"""What questions cost: dollars for one pass, and for our engines how time grows with the work.

Dollars are electricity for our engines and a price list for endpoints.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from thisthat.items.item import Item
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings, fair_subset
from thisthat_lab.bench.measurements.questions.cohort import FILE, cohort_items
from thisthat_lab.bench.registry import REGISTRY
from thisthat_lab.bench.result import Line
from thisthat_lab.bench.systems.opening import EngineSystem, OneAtATime
from thisthat_lab.bench.timing import growth
from thisthat_lab.bench.timing.contest import TurnJournal
from thisthat_lab.bench.timing.power import device_watts

JOULES_PER_KWH = 3.6e6
OTHER_QUESTIONS = 68
NO_POWER = (
    "This device does not report its power, so no cost is reported: state its watts with --watts."
)


def electricity(seconds: float, watts: float, dollars_per_kwh: float) -> float:
    """Dollars for running ``seconds`` at a stated power and price."""
    return seconds * watts / JOULES_PER_KWH * dollars_per_kwh


def run(context: Context) -> Findings:
    """Ask the cohort (or as many branch questions), one at a time, and price the pass."""
    items, recorded = _items(context)
    system = context.system
    asked = OneAtATime(system, questions_apart=True) if isinstance(system, EngineSystem) else system
    replies = context.ask("cost", items, asked)
    setting = context.setting
    caveats = context.seen_in_training(REGISTRY["cohort"].trained) if recorded else []
    lines = [scoring.accuracy_line(items, replies, "cohort.accuracy" if recorded else None)]
    seconds = [reply.seconds for reply in replies if reply.seconds is not None]
    anchor = "cost.cohort_dollars" if recorded else None
    dollars: float | None = None
    if isinstance(system, EngineSystem):
        power = device_watts(setting.watts, system.decider.engine.capabilities.on_gpu)
        if power is None:
            caveats.append(NO_POWER)
        else:
            watts, origin = power
            dollars = electricity(sum(seconds), watts, setting.dollars_per_kwh)
            caveats.append(
                f"Electricity only, at {watts:g} W ({origin}) and ${setting.dollars_per_kwh:g} per "
                "kWh, on hardware already bought; power is not measured. A hosted price also "
                "covers serving and margin."
            )
    elif (priced := context.price_of(replies)) is not None:
        dollars, source = priced
        caveats.append(f"Price per million tokens: {source}.")
    else:
        caveats.append(f"{system.identity.name} is on no price list given; no cost is reported.")
    if dollars is not None:
        lines.append(
            Line(f"cost of {len(items)} questions", dollars, unit="dollars", anchor=anchor)
        )
        each = dollars / len(items) * 1e6
        lines.append(Line("cost of a million decisions", each, unit="dollars"))
    if seconds:
        middle = float(np.median(seconds)) * 1000
        lines.append(Line("milliseconds per question, median", middle, unit="ms"))
    point = {
        "dollars": dollars,
        "accuracy": lines[0].value,
        "questions": len(items),
        "input_tokens": sum(reply.input_tokens for reply in replies),
    }
    series: dict[str, Any] = {"cost": point}
    if isinstance(system, EngineSystem):
        points, notes = _growth(context, system)
        series["growth"] = [asdict(each) for each in points]
        lines += growth.lines_of(points)
        caveats += [*growth.CAVEATS, *notes]
    return Findings(lines, items, replies, series=series, caveats=caveats)


def _growth(context: Context, system: EngineSystem) -> tuple[list[growth.Point], list[str]]:
    setting = context.setting
    identity = system.identity.as_dict()
    journal = TurnJournal(
        setting.out, {**identity, "seed": context.seed, "quick": setting.quick, "of": "growth"}
    )
    with context.progress("growth", growth.steps()) as advance:
        found = growth.measure(
            system.decider,
            journal,
            growth.QUICK_SPENDING if setting.quick else growth.SPENDING,
            context.seed,
            advance,
        )
    journal.finish()
    return found


def _items(context: Context) -> tuple[list[Item], bool]:
    data = context.setting.data
    if data is not None and (data / FILE).is_file():
        return cohort_items(context), True
    from thisthat_lab.suites import branch

    drawn = branch.evaluation_items(4, context.seed)
    return fair_subset(drawn, 2)[:OTHER_QUESTIONS], False
