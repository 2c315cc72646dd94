"""How far the measured numeric form's answers are from the same checkpoint's in float32."""

from __future__ import annotations

from thisthat.bench import metrics, scoring
from thisthat.bench.branch import branch_items
from thisthat.bench.fidelity import compare
from thisthat.bench.measure import Context, Findings, Measurement, fair_subset
from thisthat.bench.result import Line
from thisthat.bench.spatial import spatial_items
from thisthat.bench.systems import EngineSystem

SPATIAL_PER_FAMILY, QUICK_SPATIAL_PER_FAMILY = 30, 6
BRANCH_PER_FAMILY, QUICK_BRANCH_PER_FAMILY = 12, 3
CAVEATS = (
    "Both forms answer the same questions; float32 is the reference, not the truth.",
    "The largest lead that flipped is how sure the reference was, at most, of an answer the "
    "measured form changed.",
)


def run(context: Context) -> Findings:
    """Ask the measured engine and a float32 one, and compare question by question."""
    quick = context.setting.quick
    per_spatial = QUICK_SPATIAL_PER_FAMILY if quick else SPATIAL_PER_FAMILY
    per_branch = QUICK_BRANCH_PER_FAMILY if quick else BRANCH_PER_FAMILY
    items = [
        *fair_subset(spatial_items(context), per_spatial),
        *fair_subset(branch_items(context), per_branch),
    ]
    system = context.engine
    reference = _float32(context, system)
    said = context.ask("fidelity", items, system)
    told = context.ask("fidelity, float32", items, reference)
    pairs = [
        (mine.probabilities, theirs.probabilities)
        for mine, theirs in zip(said, told, strict=True)
        if mine.probabilities is not None and theirs.probabilities is not None
    ]
    found = compare([theirs for _, theirs in pairs], [mine for mine, _ in pairs])
    changed = metrics.wilson(round(found.changed_best * found.questions), found.questions)
    hits, reference_hits = scoring.hits_of(items, said), scoring.hits_of(items, told)
    lines = [
        Line.of("answers that differ from float32", changed),
        Line("mean change of a probability", found.mean_change, unit="score"),
        Line("largest change of a probability", found.largest_change, unit="score"),
        Line("largest lead that flipped", found.changed_margin, unit="score"),
        scoring.accuracy_line(items, said, None),
        scoring.accuracy_line(items, told, None, "accuracy in float32"),
        Line.of("difference in accuracy, paired", metrics.paired_difference(hits, reference_hits)),
    ]
    caveats = [*CAVEATS, f"Reference: {reference.identity.engine}."]
    return Findings(lines, items, said, caveats=caveats)


def _float32(context: Context, measured: EngineSystem) -> EngineSystem:
    """The same checkpoint at the same λ in float32, in the same runtime."""
    lam = measured.identity.lam
    ref = "default" if context.setting.system == "base" else context.setting.system
    if measured.identity.engine.lower().startswith("torch"):
        return EngineSystem.open(ref, lam=lam, engine="torch", dtype="float32")
    return EngineSystem.open(ref, lam=lam, engine="onnx", form="float32")


MEASUREMENT = Measurement("fidelity", "Fidelity of the numeric form", run, engines_only=True)
