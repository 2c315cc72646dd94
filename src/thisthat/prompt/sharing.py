"""Rows that begin alike, read once: the same paths to the same slots in fewer tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from thisthat.engine.rows import Row, RowResult, Tokens

MOST_SHARED_TOKENS = 768
"""Attention over a row grows with the square of its tokens, so that long shared rows cost more
than they save. A shared row has at most so many, or a quarter more than the longest of its own."""


def with_longer_trunk(row: Row) -> Row:
    """The row with what all of its branches begin with moved into the trunk."""
    if len(row.branches) < 2:
        return row
    first = row.branches[0].tokens
    shared = min(branch.slots[0].at for branch in row.branches)
    for branch in row.branches[1:]:
        shared = min(shared, _alike(first, branch.tokens))
    if shared == 0:
        return row
    branches = tuple(branch.part(shared) for branch in row.branches)
    return replace(row, trunk=(*row.trunk, *first[:shared]), branches=branches)


@dataclass(frozen=True, slots=True)
class Shared:
    """Rows to run instead of others; ``members`` has, for each, the answers of its originals."""

    rows: tuple[Row, ...]
    members: tuple[tuple[int, ...], ...]

    @property
    def tokens(self) -> int:
        """All tokens of the rows, shared ones counted once."""
        return sum(row.tokens for row in self.rows)

    def apart(self, results: Sequence[RowResult]) -> list[RowResult]:
        """The results of the original rows, in their order."""
        separate: list[RowResult] = []
        for result, slots in zip(results, self.members, strict=True):
            cached, start = result.cached_tokens, 0
            for count in slots:
                features = result.features
                own = None if features is None else features[start : start + count]
                separate.append(RowResult(result.logits[start : start + count], cached, own))
                cached, start = 0, start + count
        return separate


def share(rows: Sequence[Row]) -> Shared:
    """Neighbouring rows joined where that leaves fewer tokens to compute and the same answers.

    The cheapest way to cut the sequence into runs of rows that are joined, by dynamic programming
    over where the last run begins.
    """
    alike = [_alike(one.trunk, two.trunk) for one, two in pairwise(rows)]
    best: list[tuple[int, int]] = [(0, 0)]
    for end in range(1, len(rows) + 1):
        last = rows[end - 1]
        cheapest = (best[end - 1][0] + last.fresh_tokens, end - 1)
        common, own = len(last.trunk), _own_tokens(last)
        branches, longest = len(last.branches), last.fresh_tokens
        for start in range(end - 2, -1, -1):
            row = rows[start]
            common = min(common, alike[start])
            if not _can_join(row, last, common):
                break
            own += _own_tokens(row)
            branches += len(row.branches)
            tokens = own - common * branches + common
            longest = max(longest, row.fresh_tokens)
            if tokens > max(MOST_SHARED_TOKENS, longest * 5 // 4):
                break
            cheapest = min(cheapest, (best[start][0] + tokens, start))
        best.append(cheapest)
    runs: list[Sequence[Row]] = []
    end = len(rows)
    while end:
        start = best[end][1]
        runs.append(rows[start:end])
        end = start
    runs.reverse()
    members = tuple(tuple(row.slots for row in run) for run in runs)
    return Shared(tuple(_joined(run) for run in runs), members)


def _own_tokens(row: Row) -> int:
    """Tokens of a row when nothing of its trunk is shared, not even between its branches."""
    return sum(len(row.trunk) + len(branch.tokens) for branch in row.branches)


def _joined(run: Sequence[Row]) -> Row:
    first = run[0]
    if len(run) == 1:
        return first
    common = min(_alike(first.trunk, row.trunk) for row in run)
    branches = tuple(each.after(row.trunk[common:]) for row in run for each in row.branches)
    return replace(first, trunk=first.trunk[:common], branches=branches)


def _can_join(one: Row, two: Row, common: int) -> bool:
    """Whether two rows whose trunks begin with ``common`` tokens alike can be read as one.

    Open tokens have seen the rest of their trunk, and features are those of a whole state, so such
    trunks must be alike to the end.
    """
    if one.prefix != two.prefix or one.opened != two.opened or one.layers != two.layers:
        return False
    whole = one.opened > 0 or one.layers != ()
    return not whole or len(one.trunk) == len(two.trunk) == common


def _alike(one: Tokens, two: Tokens) -> int:
    """How many tokens both begin with."""
    for count, (mine, other) in enumerate(zip(one, two, strict=False)):
        if mine != other:
            return count
    return min(len(one), len(two))
