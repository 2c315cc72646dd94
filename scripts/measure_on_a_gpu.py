"""What only a GPU can say, in named parts with a time limit each, for a machine that is lent.

    python scripts/measure_on_a_gpu.py --data data --out measured [--pack FILE] [--dry-run] [PART …]

Every part is one command. What it prints is shown as it comes and kept in a log of its own; result
files, in the form of docs/results, lie in ``results/NAME``. A part that ran to its end is skipped
by the next call, and one that fails or takes too long does not stop those after it. Without PART
all are run, the shortest first. ``--pack FILE`` keeps results and logs of all parts in one tar file
outside that folder, anew after every part. ``--dry-run`` shows the commands and their limits and
needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

ROOT = Path(__file__).resolve().parents[1]
PYTHON = (sys.executable, "-m")
PYTEST = (*PYTHON, "pytest", "-v", "-p", "no:cacheprovider")
DEEP_TASKS = 4
"""Tasks taught side by side on one device."""


@dataclass(frozen=True)
class Part:
    """A command, with blanks for folders, and the seconds it may take.

    ``figures`` are what a command prints that writes no result file itself: labels, and what stands
    around each number.
    """

    name: str
    seconds: int
    command: tuple[str, ...]
    needs_data: bool = False
    figures: tuple[tuple[str, str], ...] = ()


def bench(name: str, *given: str) -> tuple[str, ...]:
    """A measurement whose result file lies in a folder of the part's own."""
    return (*PYTHON, "thisthat", "bench", name, *given, "--out", "{out}/results/{part}")


ON_TORCH = ("--engine", "torch", "--dtype")
ONE_CARD = (*PYTHON, "tests.lab.train.one_card", "--folder", "{out}/{part}")
ONE_CARD_SAYS = (
    ("loss at first", r"trained: loss ([\d.]+) to"),
    ("loss at last", r"trained: loss [\d.]+ to ([\d.]+)"),
    ("tokens a second", r"([\d,]+) tokens/s"),
    ("peak, GiB", r"tokens/s, peak ([\d.]+) GiB"),
)
PARTS = (
    Part("host", 120, bench("host", *ON_TORCH, "bfloat16")),
    Part(
        "float8",
        180,
        bench("fidelity", *ON_TORCH, "float8", "--data", "{data}"),
        needs_data=True,
    ),
    Part(
        "taught",
        240,
        (*PYTEST, "-k", "CUDA", "tests/teach/test_light.py", "tests/teach/test_taught.py"),
        figures=(("passed", r"(\d+) passed"),),
    ),
    Part(
        "lambda",
        240,
        bench("lambda", *ON_TORCH, "bfloat16", "--data", "{data}"),
        needs_data=True,
    ),
    Part("one-card", 240, ONE_CARD, figures=ONE_CARD_SAYS),
    Part("one-card-without-cap", 240, (*ONE_CARD, "--without-cap"), figures=ONE_CARD_SAYS),
    Part(
        "stand-ins",
        300,
        (*PYTEST, "tests/lab/bench/test_published.py"),
        figures=(("passed", r"(\d+) passed"),),
    ),
    Part("gpu", 400, bench("gpu", "--quick")),
    Part(
        "deep-teach-one-card",
        480,
        (*PYTHON, "tests.lab.train.one_card_teach", "--folder", "{out}/{part}"),
        figures=(
            ("right before", r"held-out rows: ([\d.]+)"),
            ("right afterwards", r"before, ([\d.]+) \[.*after"),
            ("peak, GiB", r"peak ([\d.]+) GiB"),
        ),
    ),
    Part(
        "deep-teach",
        540,
        (
            sys.executable,
            "scripts/measure_deep_teach.py",
            "--data",
            "{data}",
            "--out",
            "{out}/deep-teach",
            "--beside",
            str(DEEP_TASKS),
        ),
        needs_data=True,
        figures=tuple(
            (f"{key}, mean of the tasks", rf"{key}, mean of \d+ tasks: ([\d.]+)")
            for key in ("before", "light", "deep")
        ),
    ),
)
"""The shortest first: a machine that is taken away takes the least with it."""


class Run:
    """Parts run one after another into one folder."""

    def __init__(self, out: Path, data: Path | None) -> None:
        self.out, self.data = out.resolve(), None if data is None else data.resolve()
        self.states: dict[str, str] = {}

    def command(self, part: Part) -> list[str]:
        """A part's command line."""
        blanks = {"out": str(self.out), "data": str(self.data or "DATA"), "part": part.name}
        return [word.format(**blanks) for word in part.command]

    def run(self, part: Part) -> None:
        """Run a part unless it is done; its state is "done", or why it is not."""
        done = self.out / "done" / f"{part.name}.json"
        if done.is_file():
            self.tell(part, "done before")
            return
        if part.needs_data and self.data is None:
            self.tell(part, "left out: --data names no folder")
            return
        command = self.command(part)
        (self.out / part.name).mkdir(parents=True, exist_ok=True)
        print(f"== {part.name}, at most {part.seconds} s: {shlex.join(command)}", flush=True)
        began = time.monotonic()
        code, late = self.call(command, part.seconds, self.out / f"{part.name}.log")
        seconds = round(time.monotonic() - began)
        if code or late:
            why = f"stopped after {part.seconds} s" if late else f"failed with {code}"
            self.tell(part, f"{why}, {seconds} s")
            return
        if part.figures:
            self.write_figures(part, seconds)
        done.parent.mkdir(exist_ok=True)
        done.write_text(json.dumps({"seconds": seconds, "command": command}) + "\n")
        self.tell(part, f"done, {seconds} s")

    def write_figures(self, part: Part, seconds: float) -> None:
        """A result file of the numbers in a part's log."""
        from thisthat_lab.bench.result import Line, Result, hardware, now, versions, write_result

        with suppress(ImportError):
            import torch  # noqa: F401  names the device
        log = (self.out / f"{part.name}.log").read_text(encoding="utf-8")
        found = [(label, re.findall(around, log)) for label, around in part.figures]
        lines = [
            Line(label, float(numbers[-1].replace(",", "")), unit="number")
            for label, numbers in found
            if numbers
        ]
        result = Result(
            measurement=part.name,
            title=part.name.replace("-", " "),
            system={"name": "thisthat", "kind": "engine"},
            questions={},
            lines=lines,
            hardware=hardware(),
            versions=versions(),
            command=" ".join(["python", *part.command[1:]]),
            seconds=seconds,
            finished=now(),
        )
        folder = self.out / "results" / part.name
        folder.mkdir(parents=True, exist_ok=True)
        write_result(folder / f"{part.name}.json", result)

    def call(self, command: Sequence[str], seconds: float, log: Path) -> tuple[int, bool]:
        """Run a command, showing and keeping what it prints: exit status, whether it was late."""
        late = False
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        places = [str(ROOT / "src"), str(ROOT), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, places))
        with (
            log.open("w", encoding="utf-8") as kept,
            subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            ) as process,
        ):

            def stop() -> None:
                nonlocal late
                late = process.poll() is None
                end()

            def end() -> None:
                # A part's own processes hold the device too.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

            timer = Timer(seconds, stop)
            timer.start()
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    print(line, end="", flush=True)
                    kept.write(line)
                    kept.flush()
            except BaseException:
                end()
                raise
            finally:
                timer.cancel()
        return process.returncode, late

    def pack(self, file: Path) -> None:
        """Results and logs of all parts so far, without the folders that parts work in."""
        file.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(file, "w:gz") as packed:
            for path in (self.out / "results", *sorted(self.out.glob("*.log"))):
                if path.exists():
                    packed.add(path, path.name)

    def tell(self, part: Part, state: str) -> None:
        """Say what became of a part."""
        self.states[part.name] = state
        print(f"== {part.name}: {state}", flush=True)


def main(arguments: Sequence[str] | None = None, parts: Sequence[Part] = PARTS) -> int:
    """Read the command line and run the parts; 1 when one of them is not done."""
    names = [part.name for part in parts]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="*", help=f"of {', '.join(names)}; default: all")
    parser.add_argument("--data", type=Path, help="folder with branches and the dev file")
    parser.add_argument("--out", type=Path, default=Path("measured"), help="folder for everything")
    parser.add_argument("--pack", type=Path, help="one tar.gz of all results and logs")
    parser.add_argument("--dry-run", action="store_true", help="show the commands alone")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.part if name not in names]
    if unknown:
        parser.error(f"no part is called {', '.join(unknown)}; there are {', '.join(names)}")
    work = Run(given.out, given.data)
    chosen = [part for part in parts if not given.part or part.name in given.part]
    if given.dry_run:
        for part in chosen:
            print(f"{part.name}, at most {part.seconds} s: {shlex.join(work.command(part))}")
        print(f"at most {sum(part.seconds for part in chosen) / 60:.0f} minutes in all")
        return 0
    work.out.mkdir(parents=True, exist_ok=True)
    for part in chosen:
        work.run(part)
        if given.pack is not None:
            work.pack(given.pack)
    print("\n".join(f"{name}: {state}" for name, state in work.states.items()))
    return int(any(not state.startswith("done") for state in work.states.values()))


if __name__ == "__main__":
    sys.exit(main())
