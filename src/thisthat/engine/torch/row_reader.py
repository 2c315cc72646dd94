"""Rows answered in padded passes of a model, with prefixes read once and kept.

Where every layer attends to all earlier tokens, a row is one pass with a tree mask; elsewhere
(recurrent or windowed layers) the trunk is read once and its state is forked for each branch. What
is left to read of a row is a row too: its prefix is what has been read. Not for several threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from thisthat.engine.bidirectional import blocks
from thisthat.engine.check_rows import does_not_fit
from thisthat.engine.features import RowAnswer, features_of, layers_of
from thisthat.engine.plan import Plan, plan_lengths
from thisthat.engine.prefix_cache import PrefixCache
from thisthat.engine.rows import (
    Hidden,
    Row,
    RowResult,
    Tokens,
    by_row,
    with_prefix_in_trunk,
)
from thisthat.engine.statistics import EngineStatistics
from thisthat.engine.torch.backbone import Backbone
from thisthat.engine.torch.kept_state import KeptState, continued
from thisthat.engine.torch.label_head import LabelHead
from thisthat.engine.torch.rectangle import Rectangle, rectangle_of
from thisthat.engine.torch.tree_mask import tree_mask

TOKEN_BUDGET = {"cuda": 16_384, "mps": 8_192, "cpu": 2_048}
MOST_PADDING = {"cuda": 0.25, "mps": 0.25, "cpu": 0.1}

LARGEST_MASK = 1 << 26
"""Entries of a tree mask above which a row's trunk is read before its branches."""

KEPT_PER_FRESH = 8
"""A token already read costs memory but no arithmetic: so many weigh as one that must be read."""


class TorchRowReader:
    """Rows in, logits at the slots out."""

    def __init__(
        self,
        backbone: Backbone,
        head: LabelHead,
        prefix_cache_bytes: int,
        token_budget: int | None = None,
    ) -> None:
        """``prefix_cache_bytes`` 0 reads every prefix anew with its row."""
        self._backbone = backbone
        self._head = head
        kind = backbone.device.type
        self._token_budget = token_budget or TOKEN_BUDGET.get(kind, TOKEN_BUDGET["cpu"])
        self._most_padding = MOST_PADDING.get(kind, MOST_PADDING["cpu"])
        self._prefix_cache_bytes = prefix_cache_bytes
        self._keeps_prefixes = prefix_cache_bytes > 0
        self.start_counting()

    def start_counting(self) -> None:
        """Count from here, with nothing kept."""
        self._prefixes: PrefixCache[KeptState] = PrefixCache(
            self._prefix_cache_bytes, lambda state: state.bytes
        )
        self._passes = self._computed_tokens = self._padding_tokens = self._reused_tokens = 0

    @property
    def statistics(self) -> EngineStatistics:
        """What has been computed and what was saved."""
        return EngineStatistics(
            passes=self._passes,
            computed_tokens=self._computed_tokens,
            padding_tokens=self._padding_tokens,
            reused_tokens=self._reused_tokens,
            prefixes=self._prefixes.statistics,
        )

    def read(self, rows: Sequence[Row]) -> list[RowResult]:
        """Answer all rows, batched by length. Raises DeviceMemoryError for one that is too long."""
        plan = self._plan(rows)
        return plan.restore(
            self._answer_in_memory([rows[index] for index in batch.indices])
            for batch in plan.batches
        )

    def sees_ahead(self, first: int, last: int) -> bool:
        """Whether a token feels a later one that it may see; some models let none through."""
        rows = [Row((), (first, second), (), opened=2) for second in (first, last)]
        hidden, _ = self._forward(self._rectangle(rows), None)
        return not torch.equal(hidden[0, 0], hidden[1, 0])

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
        rows = [row.answering for row in rows]
        if self._keeps_prefixes:
            starts, cached = self._read_prefixes(rows)
        else:
            rows = [_with_prefix_in_trunk(row) for row in rows]
            starts, cached = self._read_apart([row.prefix for row in rows]), [0] * len(rows)
        answers = [RowAnswer() for _ in rows]
        rests, states, owners = self._read_trunks(rows, starts, answers)
        for owner, rest in zip(owners, self._read_rests(rests, states), strict=True):
            answers[owner].add(rest)
        self._reused_tokens += sum(cached)
        return [
            RowResult(tuple(answer.logits), saved, features_of(row, answer))
            for row, answer, saved in zip(rows, answers, cached, strict=True)
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
        read, _ = self._extend([None] * len(unread), [Row((), prefix, ()) for prefix in unread])
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
        self,
        rows: Sequence[Row],
        starts: Sequence[KeptState | None],
        answers: Sequence[RowAnswer],
    ) -> tuple[list[Row], list[KeptState | None], list[int]]:
        """The last pass: what is left of rows, the states it continues, the row it belongs to.

        Hidden states of trunks that are read here are added to ``answers``.
        """
        forked = [number for number, row in enumerate(rows) if self._must_fork(row)]
        after = self._read_parts(
            [starts[n] for n in forked],
            [_parts(rows[n]) for n in forked],
            [answers[n] for n in forked],
        )
        states: list[KeptState | None] = list(starts)
        left = list(rows)
        for number, fork in zip(forked, after, strict=True):
            row = rows[number]
            states[number] = fork
            left[number] = Row(row.prefix + row.trunk, (), row.branches, layers=row.layers)
        rests: list[Row] = []
        owners: list[int] = []
        for number, row in enumerate(left):
            if self._backbone.branches_in_one_pass:
                own = [row] if row.branches else []
            else:
                own = [replace(row, branches=(branch,)) for branch in row.branches]
            rests += own
            owners += [number] * len(own)
        return rests, [states[owner] for owner in owners], owners

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
        parts = [Row((), prefixes[number], ()) for number in given]
        read, _ = self._extend([None] * len(given), parts)
        states: list[KeptState | None] = [None] * len(prefixes)
        for number, state in zip(given, read, strict=True):
            states[number] = state
        return states

    def _read_parts(
        self,
        starts: Sequence[KeptState | None],
        parts: Sequence[Sequence[Row]],
        answers: Sequence[RowAnswer],
    ) -> list[KeptState]:
        """The states after all parts of each trunk, of which there is at least one."""
        states: list[KeptState | None] = list(starts)
        for step in range(max(map(len, parts), default=0)):
            longer = [number for number, own in enumerate(parts) if step < len(own)]
            after = self._extend([states[n] for n in longer], [parts[n][step] for n in longer])
            for number, state, hidden in zip(longer, *after, strict=True):
                states[number] = state
                answers[number].trunk.append(hidden)
        return [state for state in states if state is not None]

    def _extend(
        self, starts: Sequence[KeptState | None], parts: Sequence[Row]
    ) -> tuple[list[KeptState], list[Hidden]]:
        """Read a part after each start and keep the states; only parts alike run together.

        Padding would enter a recurrent state, so there is none here.
        """
        keys = [
            (self._batch_key(start), len(part.prefix), len(part.trunk), part.opened)
            for start, part in zip(starts, parts, strict=True)
        ]
        weights = [_weight(length, kept) for _, kept, length, _ in keys]
        plan = plan_lengths(weights, keys, self._token_budget)
        results: list[list[tuple[KeptState, Hidden]]] = []
        for batch in plan.batches:
            own = [parts[index] for index in batch.indices]
            cache = self._continue([starts[index] for index in batch.indices])
            cache = cache or self._backbone.empty_cache()
            layers = layers_of(own)
            _, hidden = self._forward(self._rectangle(own), cache, layers)
            states = [KeptState(cache, n, own[0].tokens) for n in range(len(own))]
            results.append(list(zip(states, _by_member(hidden, layers, own), strict=True)))
        read = plan.restore(results)
        return [state for state, _ in read], [hidden for _, hidden in read]

    def _read_rests(
        self, rests: Sequence[Row], states: Sequence[KeptState | None]
    ) -> list[RowAnswer]:
        plan = plan_lengths(
            [_weight(row.fresh_tokens, len(row.prefix)) for row in rests],
            [self._batch_key(state) for state in states],
            self._token_budget,
            self._most_padding,
        )
        results = []
        for batch in plan.batches:
            members = [rests[index] for index in batch.indices]
            cache = self._continue([states[index] for index in batch.indices])
            rectangle = self._rectangle(members)
            layers = layers_of(members)
            last, hidden = self._forward(rectangle, cache, layers)
            slots = torch.from_numpy(rectangle.slots).to(last.device)
            logits = self._head(last.flatten(0, 1)[slots]).cpu().numpy()
            answers = [RowAnswer(own) for own in by_row(logits, members)]
            if layers:
                _add_hidden(answers, members, _by_member(hidden, layers, members), rectangle)
            results.append(answers)
        return plan.restore(results)

    def _batch_key(self, state: KeptState | None) -> Hashable:
        """States with equal keys can be continued in one batch."""
        if state is None:
            return None
        return "kept" if self._backbone.mixes_lengths else id(state.cache)

    def _continue(self, states: Sequence[KeptState | None]) -> Any:
        kept = [state for state in states if state is not None]
        return continued(kept) if kept else None

    def _rectangle(self, rows: Sequence[Row]) -> Rectangle:
        return rectangle_of(rows, self._backbone.longest - 1)

    def _forward(
        self, rectangle: Rectangle, cache: Any, layers: Sequence[int] = ()
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """One pass of the model; the only place that does arithmetic on a batch."""
        device = self._backbone.device
        ids, positions, since, until = torch.from_numpy(
            np.stack([rectangle.ids, rectangle.positions, rectangle.since, rectangle.until])
        ).to(device)
        mask = None
        if not rectangle.is_plain:
            kept = torch.from_numpy(rectangle.kept).to(device)
            width = int(rectangle.kept.max())
            mask = tree_mask(since, until, kept, width, self._backbone.dtype)
        self._passes += 1
        self._computed_tokens += rectangle.tokens
        self._padding_tokens += rectangle.ids.size - rectangle.tokens
        return self._backbone(ids, positions, mask, cache, layers)


def _parts(row: Row) -> list[Row]:
    """The row's trunk cut where it may be: after each open block."""
    cuts = [*blocks(row.opened), (row.opened, len(row.trunk))]
    return [
        Row(
            row.prefix + row.trunk[:start],
            row.trunk[start:end],
            (),
            min(end, row.opened) - start,
            layers=row.layers,
        )
        for start, end in cuts
        if start < end
    ]


def _with_prefix_in_trunk(row: Row) -> Row:
    """The row without a prefix, unless its trunk is open: the prefix must not be."""
    if row.opened and row.branches:
        return row
    return with_prefix_in_trunk(row)


def _weight(fresh: int, kept: int) -> int:
    """What a sequence counts for in the token budget."""
    return fresh + kept // KEPT_PER_FRESH


def _by_member(
    hidden: Sequence[torch.Tensor], layers: Sequence[int], rows: Sequence[Row]
) -> list[Hidden]:
    """Hidden states [layers, tokens, size] of each row of a rectangle, after its own layers."""
    whole = [each.float().cpu().numpy() for each in hidden]
    return [
        np.array([whole[layers.index(layer)][number, : row.fresh_tokens] for layer in row.layers])
        for number, row in enumerate(rows)
    ]


def _add_hidden(
    answers: Sequence[RowAnswer],
    rows: Sequence[Row],
    hidden: Sequence[Hidden],
    rectangle: Rectangle,
) -> None:
    """Give answers the hidden states of their rows' trunks and slots."""
    taken, width = 0, rectangle.ids.shape[1]
    for number, (row, own) in enumerate(zip(rows, hidden, strict=True)):
        slots = rectangle.slots[taken : taken + row.slots] - number * width
        taken += row.slots
        if row.layers:
            answers[number].trunk = [own[:, : len(row.trunk)]]
            answers[number].slots = [own[:, at] for at in slots]
