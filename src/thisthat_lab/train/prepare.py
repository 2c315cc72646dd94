"""Everything a run needs before its first step: checkpoint, data, contamination check, shapes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.checkpoint.card import CARD_FILE
from thisthat.errors import InvalidInputError
from thisthat.items.files import read_items
from thisthat.items.item import Item
from thisthat.prompt.builder import PromptBuilder
from thisthat.prompt_format import PromptFormat
from thisthat_lab.suites.contamination import check_contamination
from thisthat_lab.train.config import Loop, Run
from thisthat_lab.train.data.buckets import Shape, choose_lengths, shapes_for
from thisthat_lab.train.data.packs import packed_shapes
from thisthat_lab.train.data.sources import (
    ChunkMaker,
    ItemStore,
    evaluation_rows,
    file_sha256,
    tasks_sha256,
)
from thisthat_lab.train.data.stream import Fed, chunks_from, fed_batches
from thisthat_lab.train.model.backbone import TrainedBackbone, build_backbone
from thisthat_lab.train.model.float8_feed import GRAIN

SAMPLE_ROWS = 4096

Say = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """A run ready to start."""

    run: Run
    device: torch.device
    checkpoint: Checkpoint
    form: PromptFormat
    maker: ChunkMaker
    shapes: tuple[Shape, ...]
    evaluations: dict[str, list[Fed]]
    data_hashes: dict[str, str]
    run_hash: str

    def backbone(self) -> TrainedBackbone:
        """The model to train, with the checkpoint's weights, on the device."""
        return build_backbone(
            self.checkpoint.config,
            self.checkpoint.weights(),
            self.maker.builder.label_ids,
            self.run.model,
            self.device,
            self.run.data.pack,
        )


def prepare(run: Run, say: Say, lengths: tuple[int, ...] | None = None) -> Prepared:
    """Open the checkpoint, read the data, check it against what must not be trained on.

    ``lengths`` are those of a saved run that is resumed. Raises InvalidInputError for data that
    cannot be used, ContaminationError for a training file that shows an evaluated state.
    """
    device = pick_device(run)
    checkpoint = open_checkpoint(run.model.initial, run.model.lam)
    if checkpoint.heads:
        raise InvalidInputError(
            "model.initial",
            f"{checkpoint.card.name} has heads, and training reads weights alone; start from "
            "the checkpoint below them",
        )
    run = _with_loop_of(checkpoint, run)
    form = checkpoint.prompt
    if not (checkpoint.folder / CARD_FILE).is_file():
        form = replace(form, chat=False)  # No card asks for the template, and training writes one.
    form = replace(form, **run.prompt.model_dump(exclude_none=True))
    if form.chat:
        raise InvalidInputError(
            "model.initial", "a checkpoint with a chat layout cannot be trained"
        )
    builder = PromptBuilder(checkpoint.encode, form)
    say(f"checkpoint {checkpoint.card.name} {checkpoint.card.version}, lambda {checkpoint.lam:g}")
    evaluated = list(_evaluated(run))
    stores = {
        source.name: ItemStore(_allowed(source.file, run, evaluated, say), str(source.file))
        for source in run.sources
        if source.file is not None
    }
    maker = ChunkMaker(run, builder, _states(evaluated), stores)
    shapes: Sequence[Shape]
    if run.data.pack:
        shapes = packed_shapes(run.data.tokens_per_batch, run.data.longest)
    else:
        lengths = lengths or _lengths(maker, run, say)
        shapes = shapes_for(lengths, run.data.tokens_per_batch)
    if run.model.float8:
        _refuse_uneven(shapes, run)
    evaluations: dict[str, list[Fed]] = {}
    for evaluation in run.evaluations:
        rows, too_long = evaluation_rows(
            evaluation.file, evaluation.rows, evaluation.splits, builder, run.data.longest
        )
        if too_long:
            say(f"evaluation {evaluation.name}: {too_long} rows are too long and left out")
        if not rows:
            raise InvalidInputError(f"evaluations.{evaluation.name}", "no row is short enough")
        evaluations[evaluation.name] = fed_batches(rows, shapes)
    hashes = {
        str(file): file_sha256(file)
        for file in sorted(
            {s.file for s in run.sources if s.file is not None}
            | {e.file for e in run.evaluations}
            | set(run.never_train_on)
        )
    }
    folders = {source.tasks for source in run.sources if source.tasks is not None}
    hashes |= {str(folder): tasks_sha256(folder) for folder in sorted(folders)}
    return Prepared(
        run=run,
        device=device,
        checkpoint=checkpoint,
        form=form,
        maker=maker,
        shapes=tuple(shapes),
        evaluations=evaluations,
        data_hashes=hashes,
        run_hash=_run_hash(run, hashes, checkpoint),
    )


def _refuse_uneven(shapes: Sequence[Shape], run: Run) -> None:
    """Raises InvalidInputError for batches whose tokens eight-bit products cannot take."""
    for shape in shapes:
        tokens = shape.rows * shape.length
        if tokens % GRAIN:
            field = "tokens_per_batch" if run.data.pack else "longest"
            raise InvalidInputError(
                f"data.{field}",
                f"is {getattr(run.data, field)}, which makes batches of {tokens} tokens; with "
                f"model.float8 they must be multiples of {GRAIN}",
            )


def _with_loop_of(checkpoint: Checkpoint, run: Run) -> Run:
    """The run with the checkpoint's loop, unless it names one itself."""
    own = checkpoint.loop
    if run.model.loop is not None or own is None:
        return run
    loop = Loop(first=own.first, last=own.last, times=own.times)
    return run.model_copy(update={"model": run.model.model_copy(update={"loop": loop})})


def pick_device(run: Run) -> torch.device:
    """The device the run names; ``auto`` takes CUDA, then MPS, then the CPU."""
    name: str = run.device
    if name == "auto":
        name = "cpu"
        if torch.cuda.is_available():
            name = "cuda"
        elif torch.backends.mps.is_available():
            name = "mps"
    elif name == "cuda" and not torch.cuda.is_available():
        raise InvalidInputError("device", "is cuda, but there is no CUDA device")
    return torch.device(name)


def _states(items: list[Item]) -> frozenset[str]:
    return frozenset(item.state_hash for item in items)


def _evaluated(run: Run) -> Iterator[Item]:
    """Every item that must not be trained on."""
    for path in (*(evaluation.file for evaluation in run.evaluations), *run.never_train_on):
        yield from read_items(path)
    if any(source.suite == "spatial" for source in run.sources):
        from thisthat_lab.suites.spatial.released import read_released

        yield from read_released()


def _allowed(file: Path, run: Run, evaluated: list[Item], say: Say) -> Iterator[Item]:
    """The file's items; one that shows an evaluated state stops the run or is left out."""
    protected = _states(evaluated)
    if protected and run.contamination == "stop":
        check_contamination(read_items(file), evaluated)
    left_out = 0
    for item in read_items(file):
        if item.state_hash in protected:
            left_out += 1
        else:
            yield item
    if left_out:
        say(f"{file.name}: {left_out} rows show an evaluated state and are left out")
    if not (run.evaluations or run.never_train_on):
        say(f"{file.name}: checked against no file; name some in evaluations or never_train_on")


def _lengths(maker: ChunkMaker, run: Run, say: Say) -> tuple[int, ...]:
    chunks = chunks_from(maker, 0, run.data.workers)
    sample: list[int] = []
    too_long = rows = 0
    for chunk in chunks:
        sample += [len(row) for row in chunk.rows]
        too_long += chunk.too_long
        rows += len(chunk.rows) + chunk.too_long
        if rows >= min(SAMPLE_ROWS, 16 * run.data.chunk_rows):
            break
    if not sample:
        raise InvalidInputError(
            "data.longest", f"is {run.data.longest}; all {too_long} sampled rows are longer"
        )
    lengths = tuple(choose_lengths(sample, run.data.longest, run.data.shapes))
    padded = sum(min(length for length in lengths if length >= n) for n in sample)
    say(
        f"rows: {sum(sample) / len(sample):.0f} tokens on average, {too_long / rows:.1%} too long "
        f"and left out; {1 - sum(sample) / padded:.1%} of a batch is padding"
    )
    return lengths


def _run_hash(run: Run, hashes: dict[str, str], checkpoint: Checkpoint) -> str:
    settings: dict[str, Any] = run.model_dump(
        mode="json", exclude={"output": True, "watch": True, "data": {"workers"}}
    )
    facts = {
        "settings": settings,
        "data": sorted(hashes.values()),
        "base": checkpoint.base_sha256,
        "lambda": checkpoint.lam,
    }
    if checkpoint.card.delta is not None and checkpoint.lam > 0:
        facts["delta"] = checkpoint.card.delta.sha256
    if checkpoint.parent is not None:
        facts["parent"] = checkpoint.parent.identity
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
