"""The engine for any causal model of `transformers` on CUDA, MPS or a CPU.

On CUDA, models that can run in packed batches do (see ``cuda``); others read padded ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from thisthat.engine.check_rows import check_rows
from thisthat.engine.cuda.open import open_float8_runner, open_runner
from thisthat.engine.cuda.runner import PackedRunner
from thisthat.engine.features import layers_of
from thisthat.engine.protocol import Capabilities, Engine
from thisthat.engine.rows import Branch, Logits, Row, RowResult, Slot, Tokens
from thisthat.engine.statistics import EngineStatistics
from thisthat.engine.torch.backbone import Backbone
from thisthat.engine.torch.label_head import LabelHead
from thisthat.engine.torch.load_model import (
    FLOAT8,
    choose_device,
    choose_dtype,
    load_model,
    stored_in_half,
)
from thisthat.engine.torch.row_reader import TorchRowReader
from thisthat.errors import CheckpointError, InvalidInputError

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint

PREFIX_CACHE_BYTES = 1 << 30


class TorchEngine(Engine):
    """Rows in, logits at the slots out. ``run`` may be called from several threads."""

    def __init__(
        self,
        model: Any,
        label_ids: Sequence[int],
        *,
        prefix_cache_bytes: int = PREFIX_CACHE_BYTES,
        token_budget: int | None = None,
        open_packed: Callable[[Any, LabelHead, int], PackedRunner | str] = open_runner,
    ) -> None:
        """Serve ``model``, on the device and in the numeric form it has.

        ``prefix_cache_bytes`` 0 reads every prefix anew with its row. ``open_packed`` is given them
        too: it gives what runs rows through recorded fused kernels, or says why nothing does.
        Raises CheckpointError when the model's own logits at a slot differ from this engine's.
        """
        self._model = model.eval()
        self._backbone = Backbone(model)
        self._head = LabelHead(model, label_ids)
        self._reader = TorchRowReader(self._backbone, self._head, prefix_cache_bytes, token_budget)
        self._lock = RLock()
        self._packed: PackedRunner | None = None
        self._check_against_the_model(tuple(label_ids))
        with torch.inference_mode():
            bidirectional = self._backbone.branches_in_one_pass and self._reader.sees_ahead(
                label_ids[0], label_ids[-1]
            )
            opened = open_packed(model, self._head, prefix_cache_bytes)
        if isinstance(opened, str):
            self._speed = opened
        else:
            self._packed, self._speed = opened, opened.note
            self._check_against_the_model(tuple(label_ids))
            opened.start_counting()
        self.capabilities = Capabilities(
            runs_ahead=self._packed is not None,
            bidirectional=bidirectional,
            layers=self._backbone.layers,
            on_gpu=self._backbone.device.type == "cuda",
        )
        self._reader.start_counting()

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: Checkpoint,
        label_ids: Sequence[int],
        *,
        device: str = "auto",
        dtype: str = "auto",
        prefix_cache_bytes: int = PREFIX_CACHE_BYTES,
        token_budget: int | None = None,
    ) -> TorchEngine:
        """Serve an opened checkpoint. "auto" is the fastest device and its usual numeric form.

        ``dtype`` "float8" multiplies in eight-bit floats and keeps everything else in bfloat16; it
        raises InvalidInputError where that cannot be.
        """
        place = choose_device(device)
        form = choose_dtype(dtype, place, stored_in_half(checkpoint.config))
        return cls(
            load_model(checkpoint, place, form),
            label_ids,
            prefix_cache_bytes=prefix_cache_bytes,
            token_budget=token_budget,
            open_packed=open_float8_runner if form == FLOAT8 else open_runner,
        )

    @property
    def description(self) -> str:
        """One line for people: runtime, device, numeric form."""
        device = self._backbone.device
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
        form = str(self._backbone.dtype).removeprefix("torch.")
        return f"torch {torch.__version__}, {name}, {form}, {self._speed}"

    @property
    def longest(self) -> int:
        """The most tokens on one path from the first prefix token to a branch's end."""
        return self._backbone.longest

    @property
    def statistics(self) -> EngineStatistics:
        """What has been computed and what was saved, since the engine was opened."""
        with self._lock:
            own = self._reader.statistics
            return own if self._packed is None else self._packed.statistics.added_to(own)

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        """Answer all rows, batched by length, in the caller's order.

        Raises InvalidInputError for a row the model cannot read, DeviceMemoryError when a single
        row does not fit the device; run the other rows again without it.
        """
        return self.begin(rows)()

    def begin(self, rows: Sequence[Row]) -> Callable[[], list[RowResult]]:
        """``run`` in two halves: what is returned gives the answers, waiting for them if need be.

        Raises what ``run`` raises.
        """
        vocabulary, labels = self._backbone.vocabulary, self._head.labels
        layers = self.capabilities.layers
        check_rows(rows, vocabulary=vocabulary, longest=self.longest, labels=labels, layers=layers)
        for number, row in enumerate(rows):
            if row.opened and not self.capabilities.bidirectional:
                raise InvalidInputError(
                    f"rows[{number}]",
                    f"opens {row.opened} tokens, but {type(self._model).__name__} cannot let "
                    "tokens see later ones",
                )
        # Packed batches hand out no hidden states; the model read layer by layer does.
        if self._packed is not None and not layers_of(rows):
            return self._begin_packed(self._packed, rows)
        with self._lock, torch.inference_mode():
            found = self._reader.read(rows)
        return lambda: found

    def _begin_packed(
        self, runner: PackedRunner, rows: Sequence[Row]
    ) -> Callable[[], list[RowResult]]:
        asked = [row.answering for row in rows]
        with self._lock:
            pending = runner.begin(asked)

        def results() -> list[RowResult]:
            pending.wait()
            with self._lock:
                found = pending.answers()
            return [
                RowResult(row.cut_to_options(logits), cached)
                for row, (logits, cached) in zip(asked, found, strict=True)
            ]

        return results

    def _check_against_the_model(self, label_ids: Tokens) -> None:
        """Ask a small tree both ways, so that a model this engine misreads is refused at once."""
        a, b, c = label_ids[0], label_ids[len(label_ids) // 2], label_ids[-1]
        branches = tuple(
            Branch(tokens, (Slot(len(tokens) - 1, len(label_ids)),)) for tokens in ((b, c), (c,))
        )
        row = Row((a, b), (c, a), branches)
        found = np.stack(self.run([row])[0].logits)
        with torch.inference_mode():
            paths = [row.prefix + row.trunk + branch.tokens for branch in branches]
            own = [
                self._model(torch.tensor([path], device=self._backbone.device)).logits[0, -1]
                for path in paths
            ]
            wanted = torch.stack(own)[:, list(label_ids)].float().cpu().numpy()
        if not self._near(found, wanted):
            difference = float(np.abs(found - wanted).max())
            raise CheckpointError(
                f"{type(self._model).__name__} answers differently from its hidden states and "
                f"label rows (largest difference {difference:.3g}); it cannot be served"
            )

    def _near(self, found: Logits, wanted: Logits) -> bool:
        """Whether logits are the model's own, as far as the numeric form can tell."""
        if self._packed is not None and self._packed.float8:
            # Random weights make much of its rounding; unrelated logits are 1.4 lengths away.
            return bool(np.linalg.norm(found - wanted) <= np.linalg.norm(wanted))
        exact = self._backbone.dtype == torch.float32
        # On CUDA a model's own kernels may read float32 in ten bits.
        tolerance = (1e-2 if self._backbone.device.type == "cuda" else 1e-3) if exact else 0.2
        return bool(np.abs(found - wanted).max() <= tolerance * np.abs(wanted).max())
