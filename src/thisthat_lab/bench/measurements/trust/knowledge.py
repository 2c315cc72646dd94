"""What a checkpoint still knows of language: linear probes on it beside its base at λ = 0.

A head, a temperature or a threshold can only use what the hidden states hold. Where a probe reads
less off a checkpoint than off the base it was trained from, training made it forget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thisthat.checkpoint import open_checkpoint
from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.items.files import read_items
from thisthat.items.item import Item
from thisthat.questions import Boolean, Choice
from thisthat.rng import Rng
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.measurements.questions.decisions import DEV_FILES, dev_file
from thisthat_lab.bench.measurements.questions.written import tasks_folder
from thisthat_lab.bench.probes import READINGS, ProbeTask, Reader, probe_accuracy
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.systems.protocol import Identity
from thisthat_lab.suites.written import read_tasks
from thisthat_lab.tables import Tables

LABELS = 200
MOST_ROWS, QUICK_ROWS = 600, 300
_ROWS_OF_A_LABEL = 10
_TOPICS = 12
_FROM_DEV = Tables(__file__).read("from_dev", dict[str, tuple[str, str]])
"""Task of the panel: its source in the development file, and a word its question has."""

CAVEATS = (
    f"Logistic regression on {LABELS} rows, scored on the others; the mean of five splits.",
    "Best: the layer and reading with the highest accuracy, chosen for each model alone.",
    "Hate and prompt injections are tasks no training file has; the other tasks' training rows "
    "may have been trained on, the rows used here were not.",
)


def run(context: Context) -> Findings:
    """Probe the checkpoint and its base on every task of the panel."""
    data = context.setting.data
    tasks = panel(data, QUICK_ROWS if context.setting.quick else MOST_ROWS)
    lam = context.setting.options.lam
    trained = _accuracies(context, lam, tasks)
    base = _accuracies(context, 0.0, tasks)
    lines: list[Line] = []
    points: list[dict[str, Any]] = []
    best_trained, best_base = [], []
    for task in tasks:
        mine, other = trained[task.name], base[task.name]
        best_trained.append(max(mine.values()))
        best_base.append(max(other.values()))
        chance = max(Counter(task.labels).values()) / len(task.labels)
        lines.append(Line(f"{task.name}: best (chance {chance:.2f})", best_trained[-1]))
        lines.append(Line(f"{task.name}: best, base", best_base[-1]))
        points += [
            {
                "task": task.name,
                "layer": layer,
                "reading": reading,
                "value": value,
                "base": other[layer, reading],
            }
            for (layer, reading), value in mine.items()
        ]
    for reading in READINGS:
        for layer in sorted({point["layer"] for point in points}):
            gaps = [
                point["value"] - point["base"]
                for point in points
                if (point["layer"], point["reading"]) == (layer, reading)
            ]
            label = f"layer {layer}, {reading}: beside the base"
            lines.append(Line(label, sum(gaps) / len(gaps), unit="score"))
    below = (sum(best_base) - sum(best_trained)) / len(tasks)
    lines.insert(0, Line("mean of the best", sum(best_trained) / len(tasks)))
    lines.insert(1, Line("mean of the best, base", sum(best_base) / len(tasks)))
    lines.insert(2, Line("below the base by", below, unit="score"))
    opened = open_checkpoint(context.setting.system, lam)
    return Findings(
        lines,
        series={"probes": points},
        caveats=CAVEATS,
        bars=[Bar("below the base by", below, 0.01, False, "score")],
        system=Identity(opened.card.name, "checkpoint", opened.card.version, opened.lam),
    )


def _accuracies(
    context: Context, lam: float | None, tasks: Sequence[ProbeTask]
) -> dict[str, dict[tuple[int, Any], float]]:
    try:
        from joblib import Parallel, delayed

        reader = Reader(open_checkpoint(context.setting.system, lam))
    except ImportError:
        raise MissingExtraError("bench knowledge", "train") from None
    found: dict[str, dict[tuple[int, Any], float]] = {}
    rows = sum(len(task.texts) for task in tasks)
    name = "the checkpoint" if lam != 0.0 else "its base"
    with context.progress(f"reading with {name}", rows) as advance, Parallel(n_jobs=-1) as cores:
        for task in tasks:
            features = reader.features(task.texts, task.question, advance)
            scored = cores(
                delayed(probe_accuracy)(vectors, task.labels, LABELS, task.name)
                for vectors in features.values()
            )
            found[task.name] = dict(zip(features, scored, strict=True))
    return found


def panel(data: Path | None, most: int) -> list[ProbeTask]:
    """The tasks of the panel, at most ``most`` rows each.

    Raises InvalidInputError when the data folder lacks the development file or written tasks.
    """
    folder, dev = tasks_folder(data), dev_file(data)
    if dev is None:
        raise InvalidInputError("--data", f"must name a folder that holds {DEV_FILES[0]}")
    items = list(read_items(dev))
    tasks = [
        _dev_task(name, [i for i in items if i.source == source and word in i.question], most)
        for name, (source, word) in _FROM_DEV.items()
    ]
    return [*tasks, _topics(folder, most)]


def _dev_task(name: str, items: Sequence[Item], most: int) -> ProbeTask:
    items = [item for item in items if item.kind != "score"]
    # An intent such as ``audio_volume_up`` belongs to the scenario ``audio``.
    labels = [item.options[item.answer][0].partition("_")[0] for item in items]
    counts = Counter(labels)
    kept = [n for n, label in enumerate(labels) if counts[label] >= _ROWS_OF_A_LABEL]
    kept = Rng("panel", name).shuffled(kept)[:most]
    if len(kept) <= LABELS:
        raise InvalidInputError("--data", f"has {len(kept)} rows for the probe of {name}")
    return ProbeTask(
        name,
        [items[n].state for n in kept],
        [labels[n] for n in kept],
        items[0].as_question() if items[0].kind == "boolean" else Boolean(items[0].question),
    )


def _topics(folder: Path, most: int) -> ProbeTask:
    states: dict[str, list[Any]] = {}
    for task in read_tasks(folder):
        if task.context is None:
            states.setdefault(task.domain, []).extend(state.text for state in task.states)
    domains = sorted(states, key=lambda domain: (-len(states[domain]), domain))[:_TOPICS]
    rng = Rng("panel", "topics")
    each = most // _TOPICS
    rows = [(text, name) for name in domains for text in rng.shuffled(states[name])[:each]]
    return ProbeTask(
        "topics",
        [text for text, _ in rows],
        [name for _, name in rows],
        Choice([name.replace("_", " ") for name in domains], "What is this about?"),
    )
