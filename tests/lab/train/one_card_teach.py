"""`teach --deep` of a model in the Hub's layout, where the device has little memory left.

    PYTHONPATH=src python -m tests.lab.train.one_card_teach [--layers 24] [--gibibytes 16]

The rest of the device's memory is taken beforehand, so what is left is all there is to find.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

import thisthat
from tests.lab.train import tiny
from tests.lab.train.one_card import QUESTION, STATE, free_memory, shape_of, write_hub_folder
from thisthat.items.files import write_items
from thisthat_lab.bench.timing.gpu_variants import LARGE_SHAPE
from thisthat_lab.train.memory import GIB, measured_peak
from thisthat_lab.train.teach import Taught, teach

ROWS = 300


@dataclass(frozen=True)
class Found:
    """What teaching came to."""

    taught: Taught
    peak_bytes: int | None
    answers: list[float]
    """The probability of yes at λ = 1, at λ = 0, and from the base."""


@contextmanager
def crowded(device: torch.device, left_bytes: int) -> Iterator[int]:
    """Leave so many bytes of a GPU free inside; gives how many are taken."""
    if device.type != "cuda":
        yield 0
        return
    free, _ = torch.cuda.mem_get_info(device)
    taken = torch.empty(max(0, free - left_bytes), dtype=torch.uint8, device=device)
    try:
        yield taken.nbytes
    finally:
        del taken


def go_through(
    folder: Path,
    shape: dict[str, Any],
    device: torch.device,
    say: Callable[[str], None],
    *,
    minutes: float,
    left_bytes: int = 16 * GIB,
) -> Found:
    """Random weights, taught and opened again with so much memory."""
    began = time.perf_counter()
    model = write_hub_folder(folder / "model", shape, device)
    free_memory(device)
    booleans = [item for item in tiny.colour_items(3 * ROWS) if item.kind == "boolean"]
    # So few rows of a wording that no head is fitted: what is written is what was trained.
    write_items(
        folder / "rows.jsonl",
        (replace(item, question=f"{QUESTION} ({n // 10})") for n, item in enumerate(booleans)),
    )
    with crowded(device, left_bytes) as taken:
        free_memory(device)
        data, output = folder / "rows.jsonl", folder / "taught"
        taught = teach(data, output, say, initial=str(model), minutes=minutes)
        peak = measured_peak(device)
        for line in taught.lines():
            say(line)
        free_memory(device)
        answers: list[float] = []
        for ref, lam in ((output, 1.0), (output, 0.0), (model, None)):
            with thisthat.open(ref, lam=lam, engine="torch", device=device.type) as decider:
                answers.append(decider.ask(STATE, QUESTION).yes)
            del decider
            free_memory(device)
        say("asked at λ = 1, at λ = 0, the base: " + ", ".join(f"{each:.4f}" for each in answers))
    own = None if peak is None else peak - taken
    told = "" if own is None else f", peak {own / GIB:.2f} GiB"
    say(f"taught in {time.perf_counter() - began:.0f} s{told}")
    return Found(taught, own, answers)


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=LARGE_SHAPE["num_hidden_layers"])
    parser.add_argument("--vocabulary", type=int, default=LARGE_SHAPE["vocab_size"])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--gibibytes", type=float, default=16, help="what is left of the memory")
    parser.add_argument("--folder", type=Path, help="where to write; deleted afterwards")
    given = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        go_through(
            Path(folder),
            shape_of(given.layers, given.vocabulary),
            device,
            lambda line: print(line, flush=True),
            minutes=given.minutes,
            left_bytes=int(given.gibibytes * GIB),
        )


if __name__ == "__main__":
    _main()
