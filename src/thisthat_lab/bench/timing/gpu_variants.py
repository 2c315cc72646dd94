"""The two models of ``bench gpu`` on a CUDA device, each run in four variants.

All but float8 share the weights, and that has rounded copies beside them.
The 1.88 B shape has random weights: its speed is that of trained ones, its answers mean nothing.
Texts are read with the default checkpoint's tokenizer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.decide.decider import Decider
from thisthat.decide.opening import builder_of
from thisthat.decide.processor import Reading
from thisthat.engine.bidirectional import since
from thisthat.engine.cuda.batch_sizes import Grid
from thisthat.engine.cuda.capture import GraphRecorder, NoRecorder, Recorder
from thisthat.engine.cuda.model import PackedModel
from thisthat.engine.cuda.open import fused_model, runner_of
from thisthat.engine.cuda.runner import PackedRunner
from thisthat.engine.protocol import Engine
from thisthat.engine.rows import Row, RowResult
from thisthat.engine.torch.backbone import Backbone
from thisthat.engine.torch.engine import TorchEngine
from thisthat.engine.torch.label_head import LabelHead
from thisthat.engine.torch.load_model import load_model
from thisthat.engine.torch.tree_mask import path_mask
from thisthat.errors import CheckpointError
from thisthat.prompt.builder import PromptBuilder
from thisthat.questions import Source
from thisthat_lab.bench.timing.gpu_names import EAGER, FLOAT8, GRAPHS, LARGE, UNRECORDED, WAYS
from thisthat_lab.tables import Tables

LARGE_SHAPE = Tables(__file__).read("large_shape", dict[str, Any])
UNRECORDED_SIZES = (256, 512, 8192, 16384)
PASS_TOKENS = 16_384


@dataclass
class Opened:
    """Deciders by way, why others are absent, and what opening took in seconds."""

    deciders: dict[str, Decider] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


class PlainPasses(Engine):
    """Every question a path of its own through the whole model, padded at the end, nothing kept."""

    def __init__(self, model: Any, label_ids: Sequence[int]) -> None:
        self._trunk = model.base_model
        self._backbone = Backbone(model)
        self._head = LabelHead(model, label_ids)

    @property
    def description(self) -> str:
        """See Engine."""
        return f"transformers, {self._backbone.device}, one path per question"

    @property
    def longest(self) -> int:
        """See Engine."""
        return self._backbone.longest

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        """See Engine."""
        branches = [(row, branch) for row in rows for branch in row.branches]
        paths = [row.prefix + row.trunk + branch.tokens for row, branch in branches]
        logits: list[Any] = []
        start = 0
        while start < len(paths):
            stop, width = start, 0
            while stop < len(paths):
                wider = max(width, len(paths[stop]))
                if stop > start and wider * (stop + 1 - start) > PASS_TOKENS:
                    break
                stop, width = stop + 1, wider
            ids = np.zeros((stop - start, width), np.int64)
            sight = [since(width, row.opened, len(row.prefix)) for row, _ in branches[start:stop]]
            is_open = any(row.opened for row, _ in branches[start:stop])
            slots: list[tuple[int, int]] = []
            for number, (row, branch) in enumerate(branches[start:stop]):
                path = paths[start + number]
                ids[number, : len(path)] = path
                first = len(row.prefix) + len(row.trunk)
                slots += [(number, first + slot.at) for slot in branch.slots]
            logits += self._pass(ids, slots, np.stack(sight) if is_open else None)
            start = stop
        answers = iter(logits)
        return [
            RowResult(
                tuple(next(answers)[: slot.options] for b in row.branches for slot in b.slots), 0
            )
            for row in rows
        ]

    def _pass(self, ids: Any, slots: Sequence[tuple[int, int]], sight: Any) -> list[Any]:
        device = self._backbone.device
        with torch.inference_mode():
            given = torch.from_numpy(ids).to(device)
            mask = None
            if sight is not None:
                mask = path_mask(torch.from_numpy(sight).to(device), self._backbone.dtype)
            output = self._trunk(input_ids=given, attention_mask=mask, use_cache=False)
            hidden = output.last_hidden_state
            place = torch.tensor(slots, dtype=torch.long, device=device).view(-1, 2)
            return list(self._head(hidden[place[:, 0], place[:, 1]]).cpu().numpy())


def open_variants(shape: str, device: torch.device) -> Opened:
    """One model in all ways; a way that does not open is absent with its reason."""
    ways = Opened()
    checkpoint = open_checkpoint("default")
    # The large shape is recurrent and cannot open its states; the base's are never open.
    builder = builder_of(checkpoint.base_alone() if shape == LARGE else checkpoint)
    started = time.perf_counter()
    if shape == LARGE:
        model = random_model(LARGE_SHAPE, device)
    else:
        model = load_model(checkpoint, device, torch.bfloat16)
    model.eval()
    ways.seconds["the model on the device"] = time.perf_counter() - started
    fused: dict[bool, PackedModel] = {}
    recorders: dict[str, tuple[Callable[[], Recorder], Grid | None]] = {
        GRAPHS: (lambda: GraphRecorder(device), None),
        UNRECORDED: (NoRecorder, Grid(UNRECORDED_SIZES)),
        FLOAT8: (lambda: GraphRecorder(device), None),
    }
    for way in WAYS:
        started = time.perf_counter()
        try:
            if way == EAGER:
                engine: Engine = PlainPasses(model, builder.label_ids)
            else:
                make, grid = recorders[way]
                open_packed = _opener(fused, make, grid, way == FLOAT8)
                engine = TorchEngine(model, builder.label_ids, open_packed=open_packed)
            ways.deciders[way] = _decider(checkpoint, builder, engine, shape)
        except Exception as error:  # whatever it is, the other ways are still to be measured
            ways.absent[way] = in_a_line(error)
        ways.seconds[f"opening {way}"] = time.perf_counter() - started
    return ways


def random_model(settings: dict[str, Any], device: torch.device) -> Any:
    """A hybrid model of that shape in bfloat16, its weights drawn on the device."""
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(1)
    with device:
        return AutoModelForCausalLM.from_config(
            AutoConfig.for_model("qwen3_5_text", **settings), dtype=torch.bfloat16
        )


def in_a_line(error: BaseException) -> str:
    """What went wrong, short enough for a table's note."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__


def _opener(
    fused: dict[bool, PackedModel], make: Callable[[], Recorder], grid: Grid | None, float8: bool
) -> Callable[[Any, LabelHead, int], PackedRunner]:
    def open_packed(model: Any, head: LabelHead, prefix_bytes: int) -> PackedRunner:
        if float8 not in fused:
            found = fused_model(model, head, prefix_bytes, float8=float8)
            if isinstance(found, str):
                raise CheckpointError(found)
            fused[float8] = found
        return runner_of(fused[float8], model, head, grid, make())

    return open_packed


def _decider(checkpoint: Checkpoint, builder: PromptBuilder, engine: Engine, shape: str) -> Decider:
    card = checkpoint.card
    limits = card.limits
    large = shape == LARGE
    reading = Reading(
        layout=card.layout,
        layouts=card.layouts,
        path_tokens=engine.longest if large else min(limits.row_tokens, engine.longest),
        state_tokens=engine.longest if large else limits.state_tokens,
        temperatures=card.temperatures,
    )
    return Decider(
        builder, engine, reading, Source(shape, card.version, checkpoint.lam), checkpoint.decode
    )
