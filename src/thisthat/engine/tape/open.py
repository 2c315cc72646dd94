"""Whether a model runs on tapes here, and the runner for it if so."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import torch

from thisthat.engine.label_head import LabelHead
from thisthat.engine.tape.capture import GraphRecorder, Recorder
from thisthat.engine.tape.grid import Grid, usual_grid
from thisthat.engine.tape.model import TapeModel, why_not
from thisthat.engine.tape.runner import TapeRunner

SWITCH = "THISTHAT_GRAPHS"
PROVEN = (9, 0)
"""The compute capability on which every kernel, capture and replay has been compared with torch."""


def open_tapes(
    model: Any, head: LabelHead, shelf_bytes: int = 0, grid: Grid | None = None
) -> TapeRunner | str:
    """A runner with every size of the grid recorded, or why there is none.

    Prefixes are kept in at most ``shelf_bytes`` of the device's memory.
    """
    device = model.device
    if device.type != "cuda":
        return "no graphs off CUDA"
    reason = left_out(torch.cuda.get_device_capability(device))
    if reason is not None:
        return f"no graphs: {reason}"
    fused = fused_model(model, head, shelf_bytes)
    if isinstance(fused, str):
        return f"no graphs: {fused}"
    return runner_of(fused, model, head, grid, GraphRecorder(device))


def left_out(capability: tuple[int, int]) -> str | None:
    """Why a CUDA device of this capability gets no graphs; None when it does."""
    chosen = os.environ.get(SWITCH)
    if chosen == "0":
        return f"{SWITCH}=0"
    if chosen != "1" and capability != PROVEN:
        return (
            f"proven on devices of capability {PROVEN[0]}.{PROVEN[1]}, this one has "
            f"{capability[0]}.{capability[1]}; {SWITCH}=1 turns them on"
        )
    return None


def fused_model(model: Any, head: LabelHead, shelf_bytes: int = 0) -> TapeModel | str:
    """The model of fused kernels for CUDA, or why it cannot be one."""
    if find_spec("triton") is None:
        return "triton is not installed"
    reason = why_not(model, fused=True)
    if reason is not None:
        return reason
    from thisthat.engine.tape.fused_ops import FusedOps

    return TapeModel(model, head, FusedOps(), shelf_bytes)


def runner_of(
    fused: TapeModel, model: Any, head: LabelHead, grid: Grid | None, recorder: Recorder
) -> TapeRunner:
    """The runner of a fused model; no grid is the usual one."""
    return TapeRunner(
        fused,
        device=model.device,
        labels=head.labels,
        grid=usual_grid() if grid is None else grid,
        recorder=recorder,
        shelf=fused.shelf,
    )
