"""The engine for any causal model of `transformers` on CUDA, MPS or a CPU.

On CUDA, models that can run on tapes do (see ``tape``). Prefixes are read once and kept.
Where every layer attends to all earlier tokens, a row is one pass with a tree mask; elsewhere
(recurrent or windowed layers) the trunk is read once and its state is forked for each branch, and
no trunk can be open. Knows nothing of text, temperatures or where weights come from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from thisthat.engine.bidirectional import blocks
from thisthat.engine.check_rows import check_rows
from thisthat.engine.cuda.host_buffers import TapeAnswer
from thisthat.engine.cuda.open import open_float8_tapes, open_tapes
from thisthat.engine.cuda.runner import TapeRunner, does_not_fit
from thisthat.engine.plan import Plan, plan_lengths
from thisthat.engine.prefix_cache import PrefixCache
from thisthat.engine.protocol import Capabilities, Engine
from thisthat.engine.rows import Branch, Logits, Row, RowResult, Slot, Tokens
from thisthat.engine.statistics import EngineStatistics
from thisthat.engine.torch.backbone import Backbone
from thisthat.engine.torch.kept_state import KeptState, continued
from thisthat.engine.torch.label_head import LabelHead
from thisthat.engine.torch.load_model import FLOAT8, choose_device, choose_dtype, load_model
from thisthat.engine.torch.pieces import Piece, Rectangle, lay_out
from thisthat.engine.torch.tree_mask import PADDING, tree_mask
from thisthat.errors import CheckpointError, InvalidInputError

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint

PREFIX_CACHE_BYTES = 1 << 30
TOKEN_BUDGET = {"cuda": 16_384, "mps": 8_192, "cpu": 2_048}
MOST_PADDING = {"cuda": 0.25, "mps": 0.25, "cpu": 0.1}

LARGEST_MASK = 1 << 26
"""Entries of a tree mask above which a row's trunk is read before its branches."""

KEPT_PER_FRESH = 8
"""A token already read costs memory but no arithmetic: so many weigh as one that must be read."""


class TorchEngine(Engine):
    """Rows in, logits at the slots out. ``run`` may be called from several threads."""

    def __init__(
        self,
        model: Any,
        label_ids: Sequence[int],
        *,
        prefix_cache_bytes: int = PREFIX_CACHE_BYTES,
        token_budget: int | None = None,
        tapes: Callable[[Any, LabelHead, int], TapeRunner | str] = open_tapes,
    ) -> None:
        """Serve ``model``, on the device and in the numeric form it has.

        ``prefix_cache_bytes`` 0 reads every prefix anew with its row. ``tapes`` is given them too:
        it gives what runs rows through recorded fused kernels, or says why nothing does. Raises
        CheckpointError when the model's own logits at a slot differ from this engine's.
        """
        self._model = model.eval()
        self._backbone = Backbone(model)
        self._head = LabelHead(model, label_ids)
        kind = self._backbone.device.type
        self._token_budget = token_budget or TOKEN_BUDGET.get(kind, TOKEN_BUDGET["cpu"])
        self._most_padding = MOST_PADDING.get(kind, MOST_PADDING["cpu"])
        self._keeps_prefixes = prefix_cache_bytes > 0
        self._lock = RLock()
        self._tapes: TapeRunner | None = None
        self._start_counting(prefix_cache_bytes)
        self._check_against_the_model(tuple(label_ids))
        with torch.inference_mode():
            bidirectional = self._backbone.branches_in_one_pass and self._sees_ahead(label_ids)
            opened = tapes(model, self._head, prefix_cache_bytes)
        if isinstance(opened, str):
            self._speed = opened
        else:
            self._tapes, self._speed = opened, opened.note
            self._check_against_the_model(tuple(label_ids))
        self.capabilities = Capabilities(
            runs_ahead=self._tapes is not None, bidirectional=bidirectional
        )
        self._start_counting(prefix_cache_bytes)

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
        form = choose_dtype(dtype, place)
        return cls(
            load_model(checkpoint, place, form),
            label_ids,
            prefix_cache_bytes=prefix_cache_bytes,
            token_budget=token_budget,
            tapes=open_float8_tapes if form == FLOAT8 else open_tapes,
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
            own = EngineStatistics(
                passes=self._passes,
                computed_tokens=self._computed_tokens,
                padding_tokens=self._padding_tokens,
                reused_tokens=self._reused_tokens,
                prefixes=self._prefixes.statistics,
            )
            if self._tapes is None:
                return own
            on_tapes = self._tapes.statistics
            return replace(
                own,
                passes=own.passes + on_tapes.tapes,
                computed_tokens=own.computed_tokens + on_tapes.computed_tokens,
                padding_tokens=own.padding_tokens + on_tapes.padding_tokens,
                reused_tokens=own.reused_tokens + on_tapes.reused_tokens,
                prefixes=self._tapes.shelf.statistics,
                captures_at_start=on_tapes.captures_at_start,
                captures_after_start=on_tapes.captures_after_start,
                compiles_after_start=on_tapes.compiles_after_start,
                eager_rows_outside_grid=on_tapes.eager_rows_outside_grid,
            )

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
        check_rows(
            rows,
            vocabulary=self._backbone.vocabulary,
            longest=self.longest,
            labels=self._head.labels,
        )
        for number, row in enumerate(rows):
            if row.opened and not self.capabilities.bidirectional:
                raise InvalidInputError(
                    f"rows[{number}]",
                    f"opens {row.opened} tokens, but {type(self._model).__name__} cannot let "
                    "tokens see later ones",
                )
        if self._tapes is not None:
            return self._begin_on_tapes(self._tapes, rows)
        with self._lock, torch.inference_mode():
            plan = self._plan(rows)
            found = plan.restore(
                self._answer_in_memory([rows[index] for index in batch.indices])
                for batch in plan.batches
            )
        return lambda: found

    def _begin_on_tapes(
        self, tapes: TapeRunner, rows: Sequence[Row]
    ) -> Callable[[], list[RowResult]]:
        asked = [_without_idle_branches(row) for row in rows]
        with self._lock:
            underway = tapes.begin(asked)

        def results() -> list[RowResult]:
            underway.wait()
            with self._lock:
                found = underway.answers()
            return [_cut_to_options(row, answer) for row, answer in zip(asked, found, strict=True)]

        return results

    def _start_counting(self, prefix_cache_bytes: int) -> None:
        self._prefixes: PrefixCache[KeptState] = PrefixCache(
            prefix_cache_bytes, lambda state: state.bytes
        )
        self._passes = self._computed_tokens = self._padding_tokens = self._reused_tokens = 0
        if self._tapes is not None:
            self._tapes.start_counting()

    def _plan(self, rows: Sequence[Row]) -> Plan:
        """Rows of one prefix together, unless too few to fill half a batch: those share one."""
        lengths = [
            _weight(row.fresh_tokens, len(row.prefix)) if self._keeps_prefixes else row.tokens
            for row in rows
        ]
        keys: list[Hashable] = [row.prefix if self._keeps_prefixes else None for row in rows]
        if self._backbone.mixes_lengths:
            work: Counter[Hashable] = Counter()
            for key, length in zip(keys, lengths, strict=True):
                work[key] += length
            keys = [key if 2 * work[key] >= self._token_budget else None for key in keys]
        return plan_lengths(lengths, keys, self._token_budget, self._most_padding)

    def _answer_in_memory(self, rows: Sequence[Row]) -> list[RowResult]:
        """Answer a batch; one that does not fit the device is halved until it does."""
        try:
            return self._answer(rows)
        except torch.OutOfMemoryError as error:
            self._prefixes.clear()
            if len(rows) == 1:
                raise does_not_fit(rows[0], self._backbone.device) from error
        torch.cuda.empty_cache()
        half = len(rows) // 2
        return self._answer_in_memory(rows[:half]) + self._answer_in_memory(rows[half:])

    def _answer(self, rows: Sequence[Row]) -> list[RowResult]:
        rows = [_without_idle_branches(row) for row in rows]
        if self._keeps_prefixes:
            starts, cached = self._read_prefixes(rows)
        else:
            rows = [_with_prefix_in_trunk(row) for row in rows]
            starts, cached = self._read_apart([row.prefix for row in rows]), [0] * len(rows)
        pieces, states, owners = self._read_trunks(rows, starts)
        answers = self._read_pieces(pieces, states)
        logits: list[list[Logits]] = [[] for _ in rows]
        for owner, answer in zip(owners, answers, strict=True):
            logits[owner] += answer
        self._reused_tokens += sum(cached)
        return [
            RowResult(tuple(answer), saved) for answer, saved in zip(logits, cached, strict=True)
        ]

    def _read_prefixes(self, rows: Sequence[Row]) -> tuple[list[KeptState | None], list[int]]:
        """For each row the state after its prefix, and how many of its tokens were not computed."""
        known: dict[Tokens, KeptState] = {}
        unread: dict[Tokens, None] = {}
        for row in rows:
            if row.branches and row.prefix and row.prefix not in known and row.prefix not in unread:
                state = self._prefixes.get(row.prefix)
                if state is None:
                    unread[row.prefix] = None
                else:
                    known[row.prefix] = state
        read = self._extend([None] * len(unread), [_Part(prefix) for prefix in unread])
        for prefix, state in zip(unread, read, strict=True):
            known[prefix] = state.alone()
            self._prefixes.put(prefix, known[prefix])
        starts: list[KeptState | None] = []
        cached: list[int] = []
        for row in rows:
            starts.append(known.get(row.prefix))
            paid_here = row.prefix in unread
            unread.pop(row.prefix, None)
            cached.append(0 if paid_here or not row.branches else len(row.prefix))
        return starts, cached

    def _read_trunks(
        self, rows: Sequence[Row], starts: Sequence[KeptState | None]
    ) -> tuple[list[Piece], list[KeptState | None], list[int]]:
        """The last pass: pieces, the states they continue, and the row each belongs to."""
        forked = [number for number, row in enumerate(rows) if self._must_fork(row)]
        after = self._read_parts([starts[n] for n in forked], [_parts(rows[n]) for n in forked])
        states: list[KeptState | None] = list(starts)
        trunks = [_Part(row.trunk, row.opened) for row in rows]
        for number, fork in zip(forked, after, strict=True):
            states[number] = fork
            trunks[number] = _Part(())
        pieces: list[Piece] = []
        owners: list[int] = []
        for number, row in enumerate(rows):
            state = states[number]
            kept = state.length if state else 0
            groups = (
                [row.branches]
                if self._backbone.branches_in_one_pass
                else [(branch,) for branch in row.branches]
            )
            for branches in groups:
                if branches:
                    trunk = trunks[number]
                    pieces.append(Piece(kept, trunk.tokens, branches, trunk.opened))
                    owners.append(number)
        return pieces, [states[owner] for owner in owners], owners

    def _must_fork(self, row: Row) -> bool:
        needs_mask = len(row.branches) > 1 or row.opened > 0
        if not needs_mask or not row.branches or not row.trunk:
            return False
        fresh = row.fresh_tokens
        return (
            not self._backbone.branches_in_one_pass
            or fresh * (len(row.prefix) + fresh) > LARGEST_MASK
        )

    def _read_apart(self, prefixes: Sequence[Tokens]) -> list[KeptState | None]:
        """The state after each prefix, read for its own row alone; None after an empty one."""
        given = [number for number, prefix in enumerate(prefixes) if prefix]
        read = self._extend([None] * len(given), [_Part(prefixes[number]) for number in given])
        states: list[KeptState | None] = [None] * len(prefixes)
        for number, state in zip(given, read, strict=True):
            states[number] = state
        return states

    def _read_parts(
        self, starts: Sequence[KeptState | None], parts: Sequence[Sequence[_Part]]
    ) -> list[KeptState]:
        """The states after all parts of each trunk, of which there is at least one."""
        states = self._extend(starts, [own[0] for own in parts])
        for step in range(1, max(map(len, parts), default=0)):
            longer = [number for number, own in enumerate(parts) if step < len(own)]
            after = self._extend([states[n] for n in longer], [parts[n][step] for n in longer])
            for number, state in zip(longer, after, strict=True):
                states[number] = state
        return states

    def _extend(
        self, starts: Sequence[KeptState | None], parts: Sequence[_Part]
    ) -> list[KeptState]:
        """Read a part after each start and keep the states; only parts alike run together.

        Padding would enter a recurrent state, so there is none here.
        """
        keys = [
            (self._batch_key(start), start.length if start else 0, len(part.tokens), part.opened)
            for start, part in zip(starts, parts, strict=True)
        ]
        weights = [_weight(length, kept) for _, kept, length, _ in keys]
        plan = plan_lengths(weights, keys, self._token_budget)
        results: list[list[KeptState]] = []
        for batch in plan.batches:
            before = [starts[index] for index in batch.indices]
            pieces = [
                Piece(start.length if start else 0, parts[index].tokens, (), parts[index].opened)
                for index, start in zip(batch.indices, before, strict=True)
            ]
            cache = self._continue(before) or self._backbone.empty_cache()
            self._forward(lay_out(pieces, PADDING, self.longest - 1), cache)
            length = pieces[0].kept + pieces[0].tokens
            results.append([KeptState(cache, n, length) for n in range(len(pieces))])
        return plan.restore(results)

    def _read_pieces(
        self, pieces: Sequence[Piece], states: Sequence[KeptState | None]
    ) -> list[list[Logits]]:
        plan = plan_lengths(
            [_weight(piece.tokens, piece.kept) for piece in pieces],
            [self._batch_key(state) for state in states],
            self._token_budget,
            self._most_padding,
        )
        results = []
        for batch in plan.batches:
            members = [pieces[index] for index in batch.indices]
            cache = self._continue([states[index] for index in batch.indices])
            rectangle = lay_out(members, PADDING, self.longest - 1)
            hidden = self._forward(rectangle, cache)
            slots = torch.from_numpy(rectangle.slots).to(hidden.device)
            logits = self._head(hidden.flatten(0, 1)[slots]).cpu().numpy()
            results.append(_share_out(logits, members))
        return plan.restore(results)

    def _batch_key(self, state: KeptState | None) -> Hashable:
        """States with equal keys can be continued in one batch."""
        if state is None:
            return None
        return "kept" if self._backbone.mixes_lengths else id(state.cache)

    def _continue(self, states: Sequence[KeptState | None]) -> Any:
        kept = [state for state in states if state is not None]
        return continued(kept) if kept else None

    def _forward(self, rectangle: Rectangle, cache: Any) -> torch.Tensor:
        """One pass of the model; the only place that does arithmetic on a batch."""
        device = self._backbone.device
        ids, positions, segments, since = torch.from_numpy(
            np.stack([rectangle.ids, rectangle.positions, rectangle.segments, rectangle.since])
        ).to(device)
        mask = None
        if not rectangle.is_plain:
            kept = torch.from_numpy(rectangle.kept).to(device)
            width = int(rectangle.kept.max())
            mask = tree_mask(segments, since, kept, width, self._backbone.dtype)
        computed = int((rectangle.segments != PADDING).sum())
        self._passes += 1
        self._computed_tokens += computed
        self._padding_tokens += rectangle.ids.size - computed
        return self._backbone(ids, positions, mask, cache)

    def _sees_ahead(self, label_ids: Sequence[int]) -> bool:
        """Whether a token feels a later one that it may see; some models let none through."""
        first, last = label_ids[0], label_ids[-1]
        pieces = [Piece(0, (first, second), (), opened=2) for second in (first, last)]
        hidden = self._forward(lay_out(pieces, PADDING, self.longest - 1), None)
        return not torch.equal(hidden[0, 0], hidden[1, 0])

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
        if self._tapes is not None and self._tapes.float8:
            # Random weights make much of its rounding; unrelated logits are 1.4 lengths away.
            return bool(np.linalg.norm(found - wanted) <= np.linalg.norm(wanted))
        exact = self._backbone.dtype == torch.float32
        # On CUDA a model's own kernels may read float32 in ten bits.
        tolerance = (1e-2 if self._backbone.device.type == "cuda" else 1e-3) if exact else 0.2
        return bool(np.abs(found - wanted).max() <= tolerance * np.abs(wanted).max())


@dataclass(frozen=True, slots=True)
class _Part:
    """Tokens to be read in one pass; the first ``opened`` of them see each other."""

    tokens: Tokens
    opened: int = 0


def _parts(row: Row) -> list[_Part]:
    """The row's trunk cut where it may be: after each open block."""
    parts = [_Part(row.trunk[start:end], end - start) for start, end in blocks(row.opened)]
    rest = row.trunk[row.opened :]
    return [*parts, _Part(rest)] if rest else parts


def _with_prefix_in_trunk(row: Row) -> Row:
    """The row without a prefix, unless its trunk is open: the prefix must not be."""
    if row.opened and row.branches:
        return row
    return replace(row, prefix=(), trunk=row.prefix + row.trunk)


def _weight(fresh: int, kept: int) -> int:
    """What a sequence counts for in the token budget."""
    return fresh + kept // KEPT_PER_FRESH


def _cut_to_options(row: Row, answer: TapeAnswer) -> RowResult:
    slots = (slot for branch in row.branches for slot in branch.slots)
    cut = [found[: slot.options] for found, slot in zip(answer.logits, slots, strict=True)]
    return RowResult(tuple(cut), answer.cached)


def _without_idle_branches(row: Row) -> Row:
    """The row without branches that answer nothing."""
    if all(branch.slots for branch in row.branches):
        return row
    return replace(row, branches=tuple(branch for branch in row.branches if branch.slots))


def _share_out(logits: Logits, pieces: Sequence[Piece]) -> list[list[Logits]]:
    """Logits of all slots of a pass, given to their pieces and cut to the options that count."""
    shares: list[list[Logits]] = []
    taken = 0
    for piece in pieces:
        slots = [slot for branch in piece.branches for slot in branch.slots]
        share = logits[taken : taken + len(slots)]
        shares.append([row[: slot.options] for row, slot in zip(share, slots, strict=True)])
        taken += len(slots)
    return shares
