"""A run on disk, whole enough to go on from it to the bit: one safetensors file.

Weights, moments, random states, the position in the data and the counters are in one file that is
replaced in one move, so there is always exactly one good state. Never a pickle.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from thisthat.errors import InvalidInputError
from thisthat.files import write_atomically
from thisthat_lab.train.data.rows import TrainingRow
from thisthat_lab.train.data.stream import Position
from thisthat_lab.train.schedule import Progress

FILE = "resume.safetensors"


@dataclass(frozen=True)
class Saved:
    """What a run needs to go on."""

    tensors: dict[str, Tensor]
    progress: Progress
    position: Position
    run_hash: str
    lengths: tuple[int, ...]


def save_run(folder: Path, saved: Saved) -> None:
    """Put the state into ``folder``. Raises OSError with the state before it still there."""
    rows = saved.position.waiting
    tensors = {f"state/{name}": tensor.contiguous() for name, tensor in saved.tensors.items()}
    tensors |= {f"rows/{name}": tensor for name, tensor in _packed(rows).items()}
    tensors["rng/cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["rng/cuda"] = torch.cuda.get_rng_state()
    facts = {
        "progress": asdict(saved.progress),
        "chunk": saved.position.chunk,
        "row": saved.position.row,
        "rows": [[row.where, list(row.tags)] for row in rows],
        "run_hash": saved.run_hash,
        "lengths": list(saved.lengths),
    }
    # Tied or shared tensors would be refused; clones on the host never share.
    plain = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
    write_atomically(folder / FILE, save(plain, {"facts": json.dumps(facts)}))


def load_run(folder: Path, run_hash: str) -> Saved:
    """The state in ``folder``, with torch's random states put back.

    Raises InvalidInputError when there is none or it belongs to a run with other settings.
    """
    path = folder / FILE
    if not path.is_file():
        raise InvalidInputError("resume", f"{path} does not exist; nothing was saved yet")
    tensors: dict[str, Tensor] = {}
    with safe_open(path, framework="pt") as file:
        facts: dict[str, Any] = json.loads(file.metadata()["facts"])
        if facts["run_hash"] != run_hash:
            raise InvalidInputError(
                "resume", f"{path} was saved by a run with other settings, data or base"
            )
        for name in file.keys():  # noqa: SIM118 - the file is no mapping
            tensors[name] = file.get_tensor(name)
    torch.set_rng_state(tensors.pop("rng/cpu"))
    if "rng/cuda" in tensors:
        state = tensors.pop("rng/cuda")
        if torch.cuda.is_available():
            torch.cuda.set_rng_state(state)
    rows = _unpacked(tensors, facts["rows"])
    return Saved(
        tensors={
            name.removeprefix("state/"): tensor
            for name, tensor in tensors.items()
            if name.startswith("state/")
        },
        progress=Progress(**facts["progress"]),
        position=Position(facts["chunk"], facts["row"], rows),
        run_hash=run_hash,
        lengths=tuple(facts["lengths"]),
    )


_PARTS = ("tokens", "at", "counts", "targets", "weights", "outcomes", "opened")


def _packed(rows: tuple[TrainingRow, ...]) -> dict[str, Tensor]:
    packed: dict[str, Tensor] = {}
    for part in _PARTS:
        arrays = [getattr(row, part) for row in rows]
        kind = np.float32 if part in ("targets", "weights") else np.int32
        joined = np.concatenate(arrays) if arrays else np.zeros(0, dtype=kind)
        packed[part] = torch.from_numpy(joined)
        packed[f"{part}.sizes"] = torch.tensor([len(a) for a in arrays], dtype=torch.int64)
    return packed


def _unpacked(tensors: dict[str, Tensor], named: list[Any]) -> tuple[TrainingRow, ...]:
    split = {}
    for part in _PARTS:
        sizes = tensors[f"rows/{part}.sizes"].numpy()
        split[part] = np.split(tensors[f"rows/{part}"].numpy(), np.cumsum(sizes)[:-1])
    return tuple(
        TrainingRow(**{part: split[part][number] for part in _PARTS}, tags=tuple(tags), where=where)
        for number, (where, tags) in enumerate(named)
    )
