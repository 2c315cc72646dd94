"""How far the measured numeric form's answers are from the same checkpoint's in a finer one.

That is float32; for float8, which replaces bfloat16 and not float32, it is bfloat16. Then also how
many answers would still differ if close calls were read again: what to choose a lead by.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thisthat.items import metrics
from thisthat.items.files import read_items
from thisthat.items.item import Item
from thisthat_lab.bench import scoring
from thisthat_lab.bench.fidelity import Fidelity, compare
from thisthat_lab.bench.measure import Context, Findings, fair_subset
from thisthat_lab.bench.measurements.questions.branch import branch_items
from thisthat_lab.bench.measurements.questions.decisions import DEV_FILES, dev_file
from thisthat_lab.bench.measurements.questions.spatial import spatial_items
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.second_readings import SecondReadings
from thisthat_lab.bench.systems.opening import EngineSystem
from thisthat_lab.bench.systems.replies import Reply

PER_FAMILY = {"spatial": 30, "branch": 12, "dev": 60}
QUICK_PER_FAMILY = {"spatial": 6, "branch": 3, "dev": 12}
BARRED = ("branch", "dev")
MOST_CHANGED, MOST_MOVED = 0.005, 0.005
LEADS = (0.05, 0.1, 0.15, 0.2, 0.3)
"""Leads, in logits, below which close calls might be read again."""


def run(context: Context) -> Findings:
    """Ask the measured engine and a finer one, and compare question by question."""
    sets = _sets(context)
    items = [item for part in sets.values() for item in part]
    system = context.engine
    form = "bfloat16" if context.setting.options.dtype == "float8" else "float32"
    reference = _reference(context, system, form)
    readings, before = SecondReadings(system.decider.engine), system.answered
    said = context.ask("fidelity", items, system)
    read_twice = readings.lines(system.answered - before)
    told = context.ask(f"fidelity, {form}", items, reference)
    hits, reference_hits = scoring.hits_of(items, said), scoring.hits_of(items, told)
    lines = [
        *_lines("", _compared(said, told), form),
        scoring.accuracy_line(items, said, None),
        scoring.accuracy_line(items, told, None, f"accuracy in {form}"),
        Line.of("difference in accuracy, paired", metrics.paired_difference(hits, reference_hits)),
        *read_twice,
    ]
    if form == "bfloat16":
        lines += _read_again(items, said, told, system)
    first = 0
    barred: list[int] = []
    for name, part in sets.items():
        places = range(first, first + len(part))
        found = _compared([said[n] for n in places], [told[n] for n in places])
        lines += _lines(f"{name}, {found.questions:,} questions: ", found, form)
        barred += places if name in BARRED else ()
        first += len(part)
    bars = _bars(_compared([said[n] for n in barred], [told[n] for n in barred]), sets)
    caveats = [f"Reference: {reference.identity.engine}."]
    return Findings(lines, items, said, caveats=caveats, bars=bars)


def _sets(context: Context) -> dict[str, list[Item]]:
    most = QUICK_PER_FAMILY if context.setting.quick else PER_FAMILY
    sets = {
        "spatial": fair_subset(spatial_items(context), most["spatial"]),
        "branch": fair_subset(branch_items(context), most["branch"]),
    }
    path = dev_file(context.setting.data)
    if path is not None:
        sets["dev"] = fair_subset(read_items(path), most["dev"])
    return sets


def _compared(said: Sequence[Reply], told: Sequence[Reply]) -> Fidelity:
    pairs = [
        (theirs.probabilities, mine.probabilities)
        for mine, theirs in zip(said, told, strict=True)
        if mine.probabilities is not None and theirs.probabilities is not None
    ]
    return compare([theirs for theirs, _ in pairs], [mine for _, mine in pairs])


def _read_again(
    items: Sequence[Item], said: Sequence[Reply], told: Sequence[Reply], system: EngineSystem
) -> list[Line]:
    """By lead: how many questions lead by less, and how many answers would still differ.

    Leads are in logits, before any temperature, as the measured engine sees them.
    """
    leads: list[float] = []
    noise: list[float] = []
    differs: list[bool] = []
    for item, mine, theirs in zip(items, said, told, strict=True):
        if mine.probabilities is None or theirs.probabilities is None:
            continue
        heat = system.temperature_of(item)
        ours, finer = (
            heat * np.log(np.maximum(each, np.finfo(float).tiny))
            for each in (mine.probabilities, theirs.probabilities)
        )
        runner_up, best = np.argsort(ours)[-2:]
        leads.append(ours[best] - ours[runner_up])
        noise.append(abs(leads[-1] - (finer[best] - finer[runner_up])))
        differs.append(int(np.argmax(finer)) != best)
    lead, differ = np.array(leads), np.array(differs)
    lines = [
        Line("mean change of a lead, logits", float(np.mean(noise)), unit="score"),
        Line("95 % of leads change by less", float(np.quantile(noise, 0.95)), unit="score"),
    ]
    for most in LEADS:
        close, left = lead < most, differ & (lead >= most)
        shares = [metrics.wilson(int(each.sum()), len(differ)) for each in (close, left)]
        lines += [
            Line.of(f"leads below {most:g}", shares[0]),
            Line.of(f"leads below {most:g} read again: answers that differ", shares[1]),
        ]
    return lines


def _lines(start: str, found: Fidelity, form: str) -> list[Line]:
    changed = metrics.wilson(round(found.changed_best * found.questions), found.questions)
    return [
        Line.of(f"{start}answers that differ from {form}", changed),
        Line(f"{start}mean change of a probability", found.mean_change, unit="score"),
        Line(f"{start}largest change of a probability", found.largest_change, unit="score"),
        Line(f"{start}largest lead that flipped", found.changed_margin, unit="score"),
    ]


def _bars(found: Fidelity, sets: dict[str, list[Item]]) -> list[Bar]:
    """The bars are set on branch and dev questions together."""
    note = "" if set(BARRED) <= set(sets) else f"no {DEV_FILES[0]} was named with --data"
    changed, moved = (None, None) if note else (found.changed_best, found.mean_change)
    start = " and ".join(BARRED)
    return [
        Bar(f"{start}: best option changed", changed, MOST_CHANGED, False, "share", note),
        Bar(f"{start}: mean change of a probability", moved, MOST_MOVED, False, "score", note),
    ]


def _reference(context: Context, measured: EngineSystem, form: str) -> EngineSystem:
    """The same checkpoint at the same λ in a finer form, in the same runtime."""
    lam = measured.identity.lam
    ref = "default" if context.setting.system == "base" else context.setting.system
    if measured.identity.engine.lower().startswith("torch"):
        return EngineSystem.open(ref, lam=lam, engine="torch", dtype=form)
    return EngineSystem.open(ref, lam=lam, engine="onnx", form=form)
