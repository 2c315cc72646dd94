"""What a fresh process of this package takes: seconds to its first answer, and memory.

The process is started as a program would start it; the clock runs from before it exists.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass, field

import numpy as np

from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.systems.protocol import SystemOptions

MOST_SECONDS = 1.5
MOST_MEGABYTES = 450.0
_TIMEOUT = 300
_PROGRAM = """
import json, sys
import thisthat
given = json.loads(sys.argv[1])
decider = thisthat.open(given.pop("ref"), **given)
decider.ask("The parcel left Lyon on Tuesday and has not been seen since.", "Is it lost?")
print("answered", flush=True)
for number in range(5):
    decider.ask(f"order {number} was late. " * 30, "Is it late?")
try:
    lines = open("/proc/self/status", encoding="utf-8").read().splitlines()
except OSError:
    lines = []
print(next((line.split()[1] for line in lines if line.startswith("VmRSS:")), ""))
"""


@dataclass(frozen=True)
class Footprint:
    """What was found about a fresh process."""

    lines: list[Line] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)


def start_up(system: str, options: SystemOptions, starts: int) -> Footprint:
    """Start so many processes one after another, with the files they read already in memory."""
    ref, lam = ("default", 0.0) if system == "base" else (system, options.lam)
    given = {
        "ref": ref,
        "lam": lam,
        "engine": options.engine,
        "form": options.form,
        "dtype": options.dtype,
    }
    seconds: list[float] = []
    megabytes: float | None = None
    for _ in range(starts + 1):
        taken, megabytes = _start(json.dumps(given))
        seconds.append(taken)
    middle = float(np.median(seconds[1:]))
    lines = [Line("a fresh process: seconds to the first answer", middle, unit="number")]
    if megabytes is not None:
        lines.append(Line("a fresh process: resident megabytes", megabytes, unit="number"))
    note = "" if megabytes is not None else "this system does not tell a process's memory"
    return Footprint(
        lines,
        [
            Bar("start to first answer, seconds", middle, MOST_SECONDS, False),
            Bar("resident memory, megabytes", megabytes, MOST_MEGABYTES, False, note=note),
        ],
        [
            f"A fresh process is started {starts + 1} times, the first of them not counted, so the "
            "runtime form is built and files are in the page cache; memory is read after six "
            "decisions, weights mapped from the file included."
        ],
    )


def _start(given: str) -> tuple[float, float | None]:
    """Seconds to the first answer and megabytes after a few. Raises RuntimeError if it fails."""
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        taken = time.perf_counter() - started
        rest, errors = process.communicate(timeout=_TIMEOUT)
    if first.strip() != "answered":
        raise RuntimeError(f"a fresh process did not answer: {errors.strip()[-300:]}")
    kilobytes = rest.strip()
    return taken, int(kilobytes) / 1024 if kilobytes else None
