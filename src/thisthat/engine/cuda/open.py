"""Whether a model runs in packed batches here, and the runner for it if so."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import torch

from thisthat.engine.cuda.batch_sizes import Grid, usual_grid
from thisthat.engine.cuda.capture import GraphRecorder, Recorder
from thisthat.engine.cuda.model import PackedModel, why_not
from thisthat.engine.cuda.products import Float8
from thisthat.engine.cuda.runner import PackedRunner
from thisthat.engine.torch.label_head import LabelHead
from thisthat.environment import GRAPHS
from thisthat.errors import InvalidInputError

PROVEN = (9, 0)
"""The compute capability on which every kernel, capture and replay has been compared with torch."""

FLOAT8_CAPABILITY = (9, 0)
FLOAT8_MULTIPLE = 16
"""Inputs and outputs of a matrix that eight-bit products can take are multiples of this."""


def open_runner(
    model: Any,
    head: LabelHead,
    prefix_bytes: int = 0,
    grid: Grid | None = None,
    *,
    float8: bool = False,
) -> PackedRunner | str:
    """A runner with every size of the grid recorded, or why there is none.

    Prefixes are kept in at most ``prefix_bytes`` of the device's memory. ``float8`` multiplies in
    eight-bit floats.
    """
    device = model.device
    if device.type != "cuda":
        return "no graphs off CUDA"
    reason = left_out(torch.cuda.get_device_capability(device))
    if reason is not None:
        return f"no graphs: {reason}"
    fused = fused_model(model, head, prefix_bytes, float8=float8)
    if isinstance(fused, str):
        return f"no graphs: {fused}"
    return runner_of(fused, model, head, grid, GraphRecorder(device))


def open_float8_runner(model: Any, head: LabelHead, prefix_bytes: int = 0) -> PackedRunner:
    """``open_runner`` for products in eight-bit floats.

    Raises InvalidInputError where that cannot be: nothing else does, and it was asked for.
    """
    opened = open_runner(model, head, prefix_bytes, float8=True)
    if isinstance(opened, str):
        raise InvalidInputError("dtype", f"float8 is for graphs of fused kernels; here: {opened}")
    return opened


def left_out(capability: tuple[int, int]) -> str | None:
    """Why a CUDA device of this capability gets no graphs; None when it does."""
    chosen = os.environ.get(GRAPHS)
    if chosen == "0":
        return f"{GRAPHS}=0"
    if chosen != "1" and capability != PROVEN:
        return (
            f"proven on devices of capability {PROVEN[0]}.{PROVEN[1]}, this one has "
            f"{capability[0]}.{capability[1]}; {GRAPHS}=1 turns them on"
        )
    return None


def fused_model(
    model: Any, head: LabelHead, prefix_bytes: int = 0, *, float8: bool = False
) -> PackedModel | str:
    """The model of fused kernels for CUDA, or why it cannot be one."""
    if find_spec("triton") is None:
        return "triton is not installed"
    reason = why_not(model, fused=True) or (why_not_float8(model) if float8 else None)
    if reason is not None:
        return reason
    from thisthat.engine.cuda.fused_ops import FusedOps

    ops = FusedOps()
    return PackedModel(model, head, ops, prefix_bytes, Float8(ops) if float8 else None)


def why_not_float8(model: Any) -> str | None:
    """Why the products of this model cannot be in eight-bit floats where it is, or None."""
    if not hasattr(torch.nn.functional, "scaled_mm"):
        return f"torch {torch.__version__} has no scaled products; 2.10 does"
    if model.device.type == "cuda":
        capability = torch.cuda.get_device_capability(model.device)
        if capability < FLOAT8_CAPABILITY:
            return f"float8 needs capability 9.0, this device has {capability[0]}.{capability[1]}"
    for name, module in model.base_model.layers.named_modules():
        if isinstance(module, torch.nn.Linear) and any(
            size % FLOAT8_MULTIPLE for size in module.weight.shape
        ):
            outputs, inputs = module.weight.shape
            return (
                f"layers.{name} is {outputs} x {inputs}, and float8 takes multiples of "
                f"{FLOAT8_MULTIPLE}"
            )
    return None


def runner_of(
    fused: PackedModel, model: Any, head: LabelHead, grid: Grid | None, recorder: Recorder
) -> PackedRunner:
    """The runner of a fused model; no grid is the usual one."""
    return PackedRunner(
        fused,
        device=model.device,
        labels=head.labels,
        grid=usual_grid() if grid is None else grid,
        recorder=recorder,
        prefix_slots=fused.prefix_slots,
        float8=fused.float8,
    )
