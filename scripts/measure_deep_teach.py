"""Measure the deep teach beside the light one, on questions of `bench teach` with enough rows.

Both get the same 500 labels of a question and answer up to 500 other rows of it. ``teach --deep``
runs as a command, several side by side; for the seconds of one alone, name one task. A task is
printed when it is done; its log lies in the folder from the start.

    python scripts/measure_deep_teach.py --data data --out deep [--checkpoint large] [--task NAME …]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

from thisthat.decide.decider import Decider
from thisthat.decide.heads import Head
from thisthat.decide.opening import open_decider
from thisthat.items.files import write_items
from thisthat.items.item import Item
from thisthat.items.metrics import paired_difference
from thisthat.teach.collect import collect
from thisthat.teach.fit_head import taught_logs
from thisthat.teach.light import learn
from thisthat.teach.rows import Rows
from thisthat_lab.bench.measurements.questions.decisions import dev_file
from thisthat_lab.bench.measurements.questions.written import tasks_folder
from thisthat_lab.bench.teachable import CORPORA, Teachable, teachable, wheel_in

LABELS, MOST_OTHERS, LEAST_OTHERS = 500, 500, 150


def main() -> None:
    """Teach every task that is large enough and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--checkpoint", default="default")
    parser.add_argument("--minutes", type=float, help="how long to train; or what suits")
    parser.add_argument("--task", action="append", help="this one alone; may be repeated")
    parser.add_argument("--beside", type=int, default=4, help="tasks at the same time")
    given = parser.parse_args()
    dev = dev_file(given.data)
    if dev is None:
        parser.error(f"{given.data} holds no decisions_dev file")
    most = LABELS + MOST_OTHERS
    tasks = teachable(dev, tasks_folder(given.data), wheel_in(given.data, CORPORA), most)
    tasks = [task for task in tasks if len(task.states) >= LABELS + LEAST_OTHERS]
    tasks = [task for task in tasks if given.task is None or task.name in given.task]
    given.out.mkdir(parents=True, exist_ok=True)
    hits: dict[str, list[Any]] = {"before": [], "light": [], "deep": []}
    with ThreadPoolExecutor(given.beside) as pool:
        asked = {
            pool.submit(deep, task, given.checkpoint, given.out, given.minutes): task
            for task in tasks
        }
        with open_decider(given.checkpoint) as decider:
            others = {task.name: light(decider, task) for task in tasks}
        for done in as_completed(asked):
            task = asked[done]
            folder, seconds = done.result()
            found = {**others[task.name], "deep": others[task.name]["before"]}
            if folder.exists():  # Else nothing was worth writing.
                with open_decider(str(folder)) as decider:
                    found["deep"] = right(decider, task)
            for way, row in found.items():
                hits[way].append(row)
            shares = {way: round(float(row.mean()), 4) for way, row in found.items()}
            kept = (folder / "delta.safetensors").exists()
            told = {"others": len(found["deep"]), **shares, "kept": kept, "seconds": seconds}
            print(task.name, json.dumps(told), flush=True)
    for way, rows in hits.items():
        print(f"{way}, mean of {len(rows)} tasks: {np.mean([row.mean() for row in rows]):.4f}")
    gain = paired_difference(np.concatenate(hits["deep"]), np.concatenate(hits["light"]))
    print(f"deep over light, all rows: {gain.value:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]")


def light(decider: Decider, task: Teachable) -> dict[str, Any]:
    """Which other rows the checkpoint and the light teach answer rightly."""
    rows = Rows(task.question)
    for number, (state, label) in enumerate(taught(task)):
        rows.add(state, label, f"row {number + 1}")
    (learned,) = learn(decider, {task.name: rows})
    return {"before": right(decider, task), "light": right(decider, task, learned.head)}


def right(decider: Decider, task: Teachable, head: Head | None = None) -> Any:
    """Which other rows are answered rightly."""
    read = collect(decider, task.question, task.states[LABELS:])
    told = taught_logs(head, read).argmax(axis=1)
    return (told == np.array(task.labels[LABELS:])).astype(np.float64)


def taught(task: Teachable) -> list[tuple[Any, int]]:
    """The labelled states."""
    return list(zip(task.states[:LABELS], task.labels[:LABELS], strict=True))


def deep(task: Teachable, checkpoint: str, out: Path, minutes: float | None) -> tuple[Path, float]:
    """Where ``teach --deep`` wrote what it kept, if anything, and how many seconds it took."""
    name = task.name.replace(" ", "-")
    options = tuple(
        (each.name, str(each.description or "") or None) for each in task.question.declared
    )
    asked = str(task.question.instructions)
    rows = [
        Item("teachable", name, task.question.kind, state, asked, options, label)
        for state, label in taught(task)
    ]
    file, folder = out / f"{name}.jsonl", out / name
    write_items(file, rows)
    command = [sys.executable, "-m", "thisthat", "teach", str(file), "--deep", "-o", str(folder)]
    command += ["--checkpoint", checkpoint]
    command += [] if minutes is None else ["--minutes", str(minutes)]
    log = out / f"{name}.log"
    began = time.monotonic()
    with log.open("w") as told:
        done = subprocess.run(command, stdout=told, stderr=told, check=False)
    if done.returncode not in (0, 1) or (done.returncode and "nothing was" not in log.read_text()):
        raise SystemExit(f"{task.name}: {log.read_text().strip()[-500:]}")
    return folder, round(time.monotonic() - began, 1)


if __name__ == "__main__":
    main()
