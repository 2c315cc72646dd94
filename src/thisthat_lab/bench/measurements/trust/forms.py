"""How far the measured numeric form's answers are from the same checkpoint's in float32."""

from __future__ import annotations

from collections.abc import Sequence

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
from thisthat_lab.bench.systems.opening import EngineSystem
from thisthat_lab.bench.systems.replies import Reply

PER_FAMILY = {"spatial": 30, "branch": 12, "dev": 60}
QUICK_PER_FAMILY = {"spatial": 6, "branch": 3, "dev": 12}
BARRED = ("branch", "dev")
MOST_CHANGED, MOST_MOVED = 0.01, 0.01


def run(context: Context) -> Findings:
    """Ask the measured engine and a float32 one, and compare question by question."""
    sets = _sets(context)
    items = [item for part in sets.values() for item in part]
    system = context.engine
    reference = _float32(context, system)
    said = context.ask("fidelity", items, system)
    told = context.ask("fidelity, float32", items, reference)
    hits, reference_hits = scoring.hits_of(items, said), scoring.hits_of(items, told)
    lines = [
        *_lines("", _compared(said, told)),
        scoring.accuracy_line(items, said, None),
        scoring.accuracy_line(items, told, None, "accuracy in float32"),
        Line.of("difference in accuracy, paired", metrics.paired_difference(hits, reference_hits)),
    ]
    first = 0
    barred: list[int] = []
    for name, part in sets.items():
        places = range(first, first + len(part))
        found = _compared([said[n] for n in places], [told[n] for n in places])
        lines += _lines(f"{name}, {found.questions:,} questions: ", found)
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


def _lines(start: str, found: Fidelity) -> list[Line]:
    changed = metrics.wilson(round(found.changed_best * found.questions), found.questions)
    return [
        Line.of(f"{start}answers that differ from float32", changed),
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


def _float32(context: Context, measured: EngineSystem) -> EngineSystem:
    """The same checkpoint at the same λ in float32, in the same runtime."""
    lam = measured.identity.lam
    ref = "default" if context.setting.system == "base" else context.setting.system
    if measured.identity.engine.lower().startswith("torch"):
        return EngineSystem.open(ref, lam=lam, engine="torch", dtype="float32")
    return EngineSystem.open(ref, lam=lam, engine="onnx", form="float32")
