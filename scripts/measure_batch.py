"""Measure the rate of a batch beside that of ``decide_many``, alternating.

python scripts/measure_batch.py [rows] [rounds]
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import thisthat
from thisthat.decide import opening
from thisthat.scale.batch import Batch
from thisthat.scale.source import RowSource

TEXT = "the parcel never came and I was charged twice so please refund my money now thanks"


def main(rows: int = 200, rounds: int = 6) -> None:
    """Print the median of the rounds' ratios, by the clock and by processor time."""
    words = TEXT.split()
    states = [f"Order {n}: {' '.join(words[: 5 + n % 11] * 2)}" for n in range(rows)]
    schema = {"refund": thisthat.Boolean("Does the customer ask for money back?")}
    decider = thisthat.BatchDecider(schema, id="id")
    alone = thisthat.open()
    opening.open_decider = lambda *_, **__: alone  # One engine for both: two disturb each other.
    alone.decide_many(states[:20], schema)
    decider({"id": [0], "state": states[:1]})
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "states.jsonl"
        lines = [json.dumps({"id": n, "state": state}) for n, state in enumerate(states)]
        path.write_text("\n".join(lines), encoding="utf-8")
        for number in range(rounds):
            spent = {}
            for which in ("alone", "batch") if number % 2 else ("batch", "alone"):
                clock, processor = time.perf_counter(), time.process_time()
                if which == "alone":
                    alone.decide_many(states, schema)
                else:
                    Batch(RowSource([path], "id"), decider, Path(folder) / str(number)).run()
                spent[which] = time.perf_counter() - clock, time.process_time() - processor
            ratios.append([a / b for a, b in zip(spent["alone"], spent["batch"], strict=True)])
            print(f"round {number + 1}: {ratios[-1][0]:.3f} {ratios[-1][1]:.3f}", flush=True)
    clock, processor = (statistics.median(each) for each in zip(*ratios, strict=True))
    print(
        f"rate of a batch, decide_many = 1: {clock:.3f} by the clock, {processor:.3f} by CPU time"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
