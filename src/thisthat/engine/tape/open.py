"""Whether a model runs on tapes here, and the runner for it if so."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

from thisthat.engine.label_head import LabelHead
from thisthat.engine.tape.capture import GraphRecorder, Recorder
from thisthat.engine.tape.grid import Grid, usual_grid
from thisthat.engine.tape.model import TapeModel, why_not
from thisthat.engine.tape.runner import TapeRunner

SWITCH = "THISTHAT_GRAPHS"


def open_tapes(model: Any, head: LabelHead, grid: Grid | None = None) -> TapeRunner | str:
    """A runner with every size of the grid recorded, or why there is none."""
    device = model.device
    if device.type != "cuda":
        return "no graphs off CUDA"
    if os.environ.get(SWITCH) != "1":
        return f"no graphs: not yet proven on a GPU; {SWITCH}=1 turns them on"
    fused = fused_model(model, head)
    if isinstance(fused, str):
        return f"no graphs: {fused}"
    return runner_of(fused, model, head, grid, GraphRecorder(device))


def fused_model(model: Any, head: LabelHead) -> TapeModel | str:
    """The model of fused kernels for CUDA, or why it cannot be one."""
    if find_spec("triton") is None:
        return "triton is not installed"
    reason = why_not(model, fused=True)
    if reason is not None:
        return reason
    from thisthat.engine.tape.fused_ops import FusedOps

    return TapeModel(model, head, FusedOps())


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
    )
