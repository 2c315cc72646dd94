"""A whole run on a machine that is lent for half an hour: train, ship, calibrate, measure, pack.

Every stage is a command of the package, is skipped when its output is there already, and writes
below one folder, so that the same call goes on after an interruption. A stage that fails is
reported and does not stop the ones that can go on without it.

    python scripts/train_and_measure.py recipes/long-texts.toml --data data --out half-hour

``--first`` and ``--last`` choose stages: train, ship, calibrate, measure, pack. With ``--quick``
measurements take their fixed subset. A recipe with mazes is measured on those of the paper, too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
STAGES = ("train", "ship", "calibrate", "measure", "pack")
MEASUREMENTS = ("knowledge", "written", "decisions", "branch", "order", "injection")
OF_MAZES = ("cohort", "spatial", "surfaces", "heldout", "actuator", "parity", "ladder")


class HalfHour:
    """The stages of one run and where each writes."""

    def __init__(self, given: argparse.Namespace) -> None:
        from thisthat_lab.train.config import read_run

        self.given = given
        self.recipe = given.recipe
        run = read_run(given.recipe)
        self.run = run.output
        mazes = any(source.suite == "spatial" for source in run.sources)
        self.measurements = given.measurements or (*MEASUREMENTS, *(OF_MAZES if mazes else ()))
        self.out = given.out
        self.shipped = given.out / "shipped"
        self.items = given.out / "calibrate.jsonl"
        self.results = given.out / "results"
        self.failed: list[str] = []

    def train(self) -> None:
        """Train, or go on from the last save."""
        if self.is_trained():
            return
        resume = ["--resume"] if (self.run / "resume.safetensors").is_file() else []
        stop = ["--stop-after", str(self.given.stop_after)] if self.given.stop_after else []
        self.call("train", "train", str(self.recipe), *resume, *stop)

    def is_trained(self) -> bool:
        """Whether the run came to its end."""
        return (self.run / "checkpoint" / "decision.json").is_file()

    def ship(self) -> None:
        """The trained weights as a delta on the base."""
        if not (self.shipped / "decision.json").is_file():
            size = ["--target-bytes", str(self.given.target_bytes)]
            if self.given.rank is not None:
                size += ["--rank", str(self.given.rank)]
            trained = str(self.run / "checkpoint")
            base = ["--base", self.given.base]
            self.call("ship", "delta", "make", trained, str(self.shipped), *base, *size)

    def calibrate(self) -> None:
        """Temperatures, fitted on the written tasks that neither train nor measure."""
        if self.items.is_file():
            return
        from thisthat.items.files import write_items
        from thisthat_lab.suites.written import held_out_items, read_tasks

        tasks = read_tasks(self.given.data / "branches")
        items = held_out_items(tasks, "calibrate")
        waiting = self.items.with_name("waiting.jsonl")
        write_items(waiting, items)
        if self.call("calibrate", "calibrate", str(self.shipped), str(waiting)):
            waiting.replace(self.items)

    def measure(self) -> None:
        """The measurements, each in a folder of its own."""
        for name in self.measurements:
            out = self.results / name
            if out.is_dir() and any(out.glob("*.json")):
                continue
            shared = ["--system", str(self.shipped), "--data", str(self.given.data)]
            quick = ["--quick"] if self.given.quick else []
            engine = ["--engine", self.given.engine, "--dtype", self.given.dtype]
            file = self.given.data / "decisions_dev.jsonl.zst"
            named = [str(file)] if name == "decisions" else []
            self.call(
                f"bench {name}", "bench", name, *named, *shared, *quick, *engine, "--out", str(out)
            )

    def pack(self) -> None:
        """Delta, card, metrics and results in parts that any channel takes."""
        kept = [*self.shipped.glob("*"), *self.run.glob("*.json*"), *self.run.glob("*.png")]
        log = self.out / "log.txt"
        together = self.out / "results.tar.gz"
        if self.results.is_dir():
            subprocess.run(["tar", "czf", together, "-C", self.out, "results"], check=True)
            kept.append(together)
        files = [str(path) for path in (*kept, log) if path.is_file()]
        cut = [sys.executable, str(HERE / "parts.py"), "split", *files]
        subprocess.run([*cut, "--out", str(self.out / "parts")], check=True)

    def call(self, stage: str, *arguments: str) -> bool:
        """Run a command of the package; what it prints is shown and kept."""
        began = time.monotonic()
        self.note(f"== {stage}: thisthat {' '.join(arguments)}")
        command = [sys.executable, "-m", "thisthat", *arguments]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                self.note(line.rstrip("\n"))
        self.note(f"== {stage}: {process.returncode}, {time.monotonic() - began:.0f} s")
        if process.returncode:
            self.failed.append(stage)
        return process.returncode == 0

    def note(self, line: str) -> None:
        """Show a line and keep it."""
        print(line, flush=True)
        with (self.out / "log.txt").open("a", encoding="utf-8") as log:
            log.write(line + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, go through the stages; 1 when one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", type=Path, help="the run file")
    parser.add_argument("--data", type=Path, required=True, help="folder with the data files")
    parser.add_argument("--out", type=Path, required=True, help="folder for everything made")
    parser.add_argument("--stop-after", type=float, help="minutes of training in this call")
    parser.add_argument("--first", choices=STAGES, default=STAGES[0])
    parser.add_argument("--last", choices=STAGES, default=STAGES[-1])
    parser.add_argument("--base", default="default", help="checkpoint whose base is subtracted")
    parser.add_argument("--target-bytes", type=int, default=75_000_000, help="size of the delta")
    parser.add_argument("--rank", type=int, help="ship products of this rank: for adapters")
    parser.add_argument("--measurements", nargs="+", help="these alone")
    parser.add_argument("--engine", default="auto", help="engine of the measurements")
    parser.add_argument("--dtype", default="auto", help="numeric form of the torch engine")
    parser.add_argument("--quick", action="store_true", help="measure on fixed subsets")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    work = HalfHour(given)
    for stage in STAGES[STAGES.index(given.first) : STAGES.index(given.last) + 1]:
        getattr(work, stage)()
        if stage in ("train", "ship") and work.failed:
            break
        if not work.is_trained():
            print("the run is not at its end; the same call goes on with it")
            break
    if work.failed:
        print(f"failed: {', '.join(work.failed)}")
    return int(bool(work.failed))


if __name__ == "__main__":
    sys.exit(main())
