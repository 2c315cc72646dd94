"""A model in the Hub's layout through recipes/two-billion-16gb.toml, from random weights to λ.

    PYTHONPATH=src python -m tests.lab.train.one_card [--layers 24] [--vocabulary 248320]

prints every stage with the seconds it took. The recipe's own settings hold, but for the data (a
small file), the rate, and the number of steps.
"""

from __future__ import annotations

import argparse
import gc
import json
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

import thisthat
from tests.lab.train import tiny
from thisthat.checkpoint import open_checkpoint
from thisthat.checkpoint.ship import ship_delta
from thisthat_lab.bench.timing.gpu_variants import LARGE_SHAPE, random_model
from thisthat_lab.train.config import parse_run, tomllib
from thisthat_lab.train.loop import METRICS, train
from thisthat_lab.train.memory import GIB
from thisthat_lab.train.saved import FILE as SAVED

RECIPE = Path(__file__).parents[3] / "recipes" / "two-billion-16gb.toml"
MOST_SHAPES = 24
STATE, QUESTION = "red 1 n0-0", "Red?"


@dataclass(frozen=True)
class Found:
    """What the run came to."""

    losses: list[float]
    tokens_per_second: float
    peak_bytes: int | None
    shapes: int
    resumed_at: int
    answers: dict[float, float]
    """The probability of yes by λ."""
    base: float


def write_hub_folder(folder: Path, shape: dict[str, Any], device: torch.device) -> Path:
    """Random weights in bfloat16, wrapped and in two shards, with a small tokenizer."""
    model = random_model(shape, device)
    tensors: dict[str, Tensor] = {
        name.replace("model.", "model.language_model.", 1): tensor.cpu()
        for name, tensor in model.state_dict().items()
        if name != "lm_head.weight"
    }
    text = {**model.config.to_dict(), "dtype": "bfloat16"}
    config = {"model_type": "qwen3_5", "text_config": text, "tie_word_embeddings": True}
    del model
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    tiny.tokenizer().save(str(folder / "tokenizer.json"))
    listed = {}
    for shard in range(2):
        file = f"model-{shard + 1:05}-of-00002.safetensors"
        names = sorted(tensors)[shard::2]
        save_file({name: tensors[name].contiguous() for name in names}, folder / file)
        listed |= dict.fromkeys(names, file)
    index = {"metadata": {}, "weight_map": listed}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def go_through(
    folder: Path,
    shape: dict[str, Any],
    device: torch.device,
    say: Callable[[str], None],
    *,
    steps: int = 12,
    rate: float = 1e-4,
    wait: Callable[[], None] = lambda: None,
    capped: bool = True,
) -> Found:
    """Every stage; ``wait`` is called where the run was stopped, half-way through its steps.

    Without the cap on memory nothing is computed twice to save some.
    """
    started = time.perf_counter()

    def done(stage: str) -> None:
        say(f"[{time.perf_counter() - started:6.1f} s] {stage}")

    model = write_hub_folder(folder / "model", shape, device)
    free_memory(device)
    done("a folder in the Hub's layout is written")
    tiny.write_colours(folder / "colours.jsonl", 3_000)
    table = tomllib.loads(RECIPE.read_text(encoding="utf-8"))
    table["model"]["initial"] = str(model)
    table["data"]["workers"] = 0
    table["optimiser"]["rate"] = rate
    table |= {
        "output": "run",
        "device": device.type,
        "schedule": {"steps": steps, "warm_up_steps": 2},
        "watch": {"report_every": 2},
        "sources": [{"name": "colours", "file": "colours.jsonl"}],
    }
    if not capped:
        table["model"]["checkpointing"] = False
    if device.type != "cuda" or not capped:
        del table["memory"]
    if device.type != "cuda":
        table["data"] |= {"tokens_per_batch": 512, "longest": 256}
        table["model"]["dtype"] = "float32"  # Many CPUs have no bfloat16 and emulate it slowly.
    run = parse_run(table, folder, str(RECIPE))

    def watch(row: dict[str, Any]) -> None:
        if "peak_bytes" in row:
            done(f"step {row['step']}: peak {row['peak_bytes'] / GIB:.2f} GiB")

    def stop_half_way(row: dict[str, Any]) -> None:
        watch(row)
        if row.get("step", 0) >= steps // 2:
            signal.raise_signal(signal.SIGTERM)

    first = train(run, say, watch=stop_half_way)
    assert not first.complete
    resumed_at = first.progress.steps
    size = (run.output / SAVED).stat().st_size
    done(f"stopped after step {resumed_at}, saved {size / GIB:.2f} GiB")
    free_memory(device)
    wait()
    done("goes on")
    finished = train(run, say, resume=True, watch=watch)
    assert finished.complete
    rows = [json.loads(line) for line in (run.output / METRICS).read_text().splitlines()]
    losses = [row["loss"] for row in rows]
    free_memory(device)
    # The first report has what was compiled in it.
    speed = float(np.median([row["tokens_per_second"] for row in rows[1:]]))
    peak = rows[-1].get("peak_bytes")
    shapes = len(json.loads((run.output / "run.json").read_text())["shapes"])
    told = "" if peak is None else f", peak {peak / GIB:.2f} GiB"
    done(
        f"trained: loss {np.mean(losses[:2]):.3f} to {np.mean(losses[-2:]):.3f}, "
        f"{speed:,.0f} tokens/s{told}"
    )
    trained = open_checkpoint(run.output / "checkpoint")
    base = open_checkpoint(model)
    report = ship_delta(base, trained.weights(), folder / "delta", trained.card, bits=2.5)
    done(f"shipped a delta of {report.bytes / GIB:.3f} GiB")
    answers: dict[float, float] = {}
    for lam in (1.0, 0.5, 0.0):
        with thisthat.open(
            folder / "delta", lam=lam, engine="torch", device=device.type
        ) as decider:
            answers[lam] = decider.ask(STATE, QUESTION).yes
        del decider
        free_memory(device)
        done(f"served at λ {lam}: {answers[lam]:.4f}")
    with thisthat.open(model, engine="torch", device=device.type) as decider:
        asked = decider.ask(STATE, QUESTION).yes
    done(f"the base: {asked:.4f}")
    return Found(losses, speed, peak, shapes, resumed_at, answers, asked)


def free_memory(device: torch.device) -> None:
    """Nothing of an earlier stage may stand under the cap, nor in the peak."""
    for _ in range(2):  # what has a finaliser is freed by the second round
        gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def shape_of(layers: int, vocabulary: int) -> dict[str, Any]:
    """The 1.88 B shape with fewer layers and tokens."""
    return {**LARGE_SHAPE, "num_hidden_layers": layers, "vocab_size": vocabulary}


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=LARGE_SHAPE["num_hidden_layers"])
    parser.add_argument("--vocabulary", type=int, default=LARGE_SHAPE["vocab_size"])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rate", type=float, default=1e-5)
    parser.add_argument("--folder", type=Path, help="where to write; deleted afterwards")
    parser.add_argument("--wait-for", type=Path, help="a file to wait for half-way")
    parser.add_argument("--without-cap", action="store_true", help="as fast as it goes")
    given = parser.parse_args()

    def wait() -> None:
        limit = time.monotonic() + 60
        while given.wait_for and not given.wait_for.exists() and time.monotonic() < limit:
            time.sleep(0.2)

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        found = go_through(
            Path(folder),
            shape_of(given.layers, given.vocabulary),
            device,
            lambda line: print(line, flush=True),
            steps=given.steps,
            rate=given.rate,
            wait=wait,
            capped=not given.without_cap,
        )
    print(found, flush=True)


if __name__ == "__main__":
    _main()
