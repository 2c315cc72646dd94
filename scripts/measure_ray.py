"""Measure the rate of a batch on Ray beside that of a batch here, alternating.

One worker has the cores that the batch here has. python scripts/measure_ray.py [rows] [rounds]
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from thisthat import BatchDecider
from thisthat.scale.batch import Batch
from thisthat.scale.ray import RayWorkers, Room
from thisthat.scale.source import RowSource

TEXT = "the parcel never came and I was charged twice so please refund my money now thanks"


def main(rows: int = 200, rounds: int = 6) -> None:
    """Print both rates of every round, and the median ratios by the clock and by processor time."""
    words = TEXT.split()
    states = [f"Order {n}: {' '.join(words[: 5 + n % 11] * 2)}" for n in range(rows)]
    decider = BatchDecider({"refund": "Does the customer ask for money back?"}, id="id")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, RayWorkers(decider, Room(workers=1)) as pool:
        print(f"Ray and its worker started in {time.perf_counter() - began:.1f} s", flush=True)
        path = Path(folder) / "states.jsonl"
        lines = [json.dumps({"id": n, "state": state}) for n, state in enumerate(states)]
        path.write_text("\n".join(lines), encoding="utf-8")
        decider({"id": [0], "state": states[:1]})

        def spent() -> float:
            there = pool.ray.get(pool.workers[0].__ray_call__.remote(lambda _: time.process_time()))
            return float(there) + time.process_time()

        ratios = []
        for number in range(rounds):
            took = {}
            for which in ("ray", "here") if number % 2 else ("here", "ray"):
                workers = pool if which == "ray" else None
                out = Path(folder) / f"{which}-{number}"
                processor, clock = spent(), time.perf_counter()
                Batch(RowSource([path], "id"), decider, out, workers=workers).run()
                took[which] = time.perf_counter() - clock, spent() - processor
            ratios.append([a / b for a, b in zip(took["here"], took["ray"], strict=True)])
            told = f"{rows / took['here'][0]:.1f} rows/s here, {rows / took['ray'][0]:.1f} on Ray"
            ratio = f"{ratios[-1][0]:.3f} by the clock, {ratios[-1][1]:.3f} by CPU time"
            print(f"round {number + 1}: {told}, {ratio}", flush=True)
    for name, each in zip(("the clock", "CPU time"), zip(*ratios, strict=True), strict=True):
        spread = f"{min(each):.2f} to {max(each):.2f}"
        print(f"rate on Ray, batch = 1, by {name}: {statistics.median(each):.3f} ({spread})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
