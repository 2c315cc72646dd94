"""Measure `thisthat teach` in a fresh process: seconds, memory at the peak, and whether torch came.

Tickets of so many tokens, labelled by what they wish, are taught on so many cores; what is fetched
and built once, the base and its runtime form, must be there already. ``--fresh`` first makes an
environment of its own from this checkout, into which nothing installs torch.

    python scripts/measure_teach.py [--fresh] [--rounds 3] [--rows 200] [--tokens 60] [--cores 2]
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import thisthat
from thisthat.rng import Rng
from thisthat_lab.bench.timing.texts import state_of

ROOT = Path(__file__).resolve().parents[1]
MOST_SECONDS, MOST_MEGABYTES = 60, 600
WISH = "money back"
SCHEMA = {"refund": {"type": "boolean", "instructions": "Does the customer want money back?"}}
PROGRAM = """
import atexit, sys
from importlib.util import find_spec

def tell():
    print("loaded" if "torch" in sys.modules else "not loaded" if find_spec("torch")
          else "not installed")

atexit.register(tell)
from thisthat.cli import main
main()
"""


@dataclass(frozen=True)
class Taught:
    """What one process took, and what became of torch in it."""

    seconds: float
    megabytes: float
    torch: str


def main(words: Sequence[str] | None = None) -> None:
    """Teach in every round, and print the median beside the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="in an environment made for it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=60)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--checkpoint", default="default")
    given = parser.parse_args(words)
    if given.cores > len(os.sched_getaffinity(0)):
        parser.error(f"--cores {given.cores}: this process may use {len(os.sched_getaffinity(0))}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder, given.checkpoint, given.rows, given.tokens)
        python = fresh_environment(folder / "environment") if given.fresh else sys.executable
        rounds = []
        for number in range(1, given.rounds + 1):
            rounds.append(teach(python, folder, number, given.checkpoint, given.cores))
            print(f"round {number}: {told(rounds[-1])}", flush=True)
    middle = Taught(
        statistics.median(each.seconds for each in rounds),
        max(each.megabytes for each in rounds),
        rounds[0].torch,
    )
    where = "1 core" if given.cores == 1 else f"{given.cores} cores"
    print(f"{given.rows} labels of {given.tokens} tokens, {where}: {told(middle)}")
    print(f"goals: at most {MOST_SECONDS} s, at most {MOST_MEGABYTES} MB, torch not installed")


def told(taught: Taught) -> str:
    """In words."""
    return f"{taught.seconds:.1f} s, {taught.megabytes:.0f} MB at the peak, torch {taught.torch}"


def write_rows(folder: Path, checkpoint: str, rows: int, tokens: int) -> None:
    """A schema and labelled states of so many tokens."""
    (folder / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    rng = Rng("teach")
    with (
        thisthat.open(checkpoint) as decider,
        (folder / "labels.csv").open("w", encoding="utf-8", newline="") as file,
    ):
        table = csv.writer(file)
        table.writerow(["state", "refund"])
        for _ in range(rows):
            state = state_of(decider, rng, tokens)
            table.writerow([state, "yes" if WISH in state else "no"])


def fresh_environment(folder: Path) -> str:
    """The Python of a new environment with this checkout and what it needs, nothing more."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*install, str(ROOT)], check=True)
    return python


def teach(python: str, folder: Path, number: int, checkpoint: str, cores: int) -> Taught:
    """Teach once, in a process of its own on so many cores; an error ends the measurement."""
    flags = ["--schema", "schema.json", "-o", f"taught-{number}", "--checkpoint", checkpoint]
    own = dict(os.environ)
    if python != sys.executable:
        own.pop("PYTHONPATH", None)
    with (folder / "log").open("w+", encoding="utf-8") as log:
        began = time.perf_counter()
        process = subprocess.Popen(
            [python, "-c", PROGRAM, "teach", "labels.csv", *flags],
            cwd=folder,
            env=own,
            stdout=log,
            stderr=log,
            preexec_fn=partial(os.sched_setaffinity, 0, sorted(os.sched_getaffinity(0))[:cores]),
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        said = log.read().strip()
    if process.returncode:
        raise SystemExit(f"thisthat teach failed: {said[-500:]}")
    return Taught(seconds, used.ru_maxrss * 1024 / 1e6, said.splitlines()[-1])


if __name__ == "__main__":
    main()
