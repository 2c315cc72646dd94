"""Measure the peak memory of a batch for growing numbers of rows, each in a process of its own.

Answers come at once, so that what grows is the batch: reading, ids, columns, parts, manifest.
python scripts/measure_memory.py [rows …]
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thisthat import BatchDecider, Decision
from thisthat.decide.conditions import Conditions
from thisthat.questions import Boolean, Source, Usage, answer_for
from thisthat.scale.batch import Batch
from thisthat.scale.source import RowSource as Rows


class AtOnce(BatchDecider):
    """Answers yes to everything, at once."""

    def decide(self, states: Sequence[Any]) -> list[Any]:
        """One decision for all."""
        yes = answer_for(Boolean("Is it?"), [0.25, 0.75])
        return [Decision({"q": yes}, Source("at once", "1", 1.0), Usage(10, 4), 0.0)] * len(states)

    @property
    def conditions(self) -> Conditions:
        """Those of nothing."""
        return Conditions("at once", "1", 1.0, "state-first", "apart", "as-given", "t")


def one(rows: int) -> None:
    """Answer so many rows; prints MiB at the peak, seconds of the survey, and of everything."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "states.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for n in range(rows):
                file.write(json.dumps({"id": f"t-{n}", "state": f"Order {n} never came."}) + "\n")
        began = time.perf_counter()
        Rows([path], "id").survey()
        survey = time.perf_counter() - began
        decider = AtOnce({"q": "Is it?"}, id="id")
        began = time.perf_counter()
        Batch(Rows([path], "id"), decider, Path(folder) / "out").run()
        seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{peak:.1f} {survey:.1f} {seconds:.1f}")


def main(counts: Sequence[int]) -> None:
    """A line for every number of rows, and the growth from the first to the last."""
    peaks = []
    for rows in counts:
        command = [sys.executable, __file__, "--one", str(rows)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        peak, survey, seconds = map(float, told.split())
        peaks.append(peak)
        print(
            f"{rows} rows: {peak:.1f} MiB, survey {survey} s, whole batch {seconds} s", flush=True
        )
    print(f"growth: {peaks[-1] / peaks[0] - 1:+.1%}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(int(sys.argv[2]))
    else:
        main([int(each) for each in sys.argv[1:]] or [10_000, 100_000, 1_000_000])
