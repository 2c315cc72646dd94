"""Sixty states of a few words, two questions that single words answer, and a model to teach."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import thisthat
from tests.lab.train import tiny
from thisthat import Boolean, Choice
from thisthat.decide.decider import Decider
from thisthat.errors import CheckpointError
from thisthat.questions import Question
from thisthat.teach.rows import Rows

RED = Boolean("Is it red?")
SHADE = Choice(["dark", "light"], "Which shade?")
WORDS = ["red", "green", "pale", "deep", "door", "car"]
STATES = [
    " ".join(np.random.default_rng(number).choice(WORDS, 4)) + f" {number}" for number in range(60)
]


CUDA = "torch on CUDA"
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
ENGINES = ["native", "onnx", "torch", pytest.param(CUDA, marks=needs_cuda)]


def open_on(engine: str, place: Path, lam: float | None) -> Decider:
    """Opened on one of ``ENGINES``; skips where native kernels do not run."""
    name, device = ("torch", "cuda") if engine == CUDA else (engine, "cpu")
    try:
        return thisthat.open(place, lam=lam, engine=name, threads=1, device=device)  # type: ignore[arg-type]
    except CheckpointError as error:
        if engine == "native":
            pytest.skip(str(error))
        raise


def rows_of(question: Question, word: str) -> Rows:
    """The states, labelled by whether they have the word."""
    rows = Rows(question)
    for number, state in enumerate(STATES):
        rows.add(state, int(word in state), f"line {number}")
    return rows


def labelled() -> dict[str, Rows]:
    """The labels that the taught checkpoint of these tests was taught."""
    return {"red": rows_of(RED, "red"), "shade": rows_of(SHADE, "pale")}


def write_parent(folder: Path) -> Path:
    """A model that native kernels, onnxruntime and torch can all read."""
    sizes = {"hidden_size": 128, "intermediate_size": 192, "head_dim": 64}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    return tiny.write_checkpoint(folder, **sizes, **heads)
