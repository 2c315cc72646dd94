"""Counts taken again record by record; all counts are equally likely."""

from collections import Counter

from thisthat.rng import Rng
from thisthat_lab.suites.base.settings import BranchSettings
from thisthat_lab.suites.branch.families.records.count_matching import draw, solve


def test_counts() -> None:
    settings = BranchSettings(abstain=0)
    seen: Counter[tuple[int, int]] = Counter()
    for number in range(3_000):
        rng = Rng("count", number)
        case = draw(rng, settings.draw(rng))
        if case is None:
            continue
        hits = 0
        for _, record in case.rows:
            marks = [condition.holds(record) for condition in case.rule.conditions]
            hits += all(marks) if case.rule.mode == "all" else any(marks)
        size = len(case.rows)
        assert solve(case) == (size - hits if case.failing else hits)
        seen[size, solve(case)] += 1
    for size in (2, 3, 4):
        total = sum(seen[size, count] for count in range(size + 1))
        assert all(seen[size, count] > 0.5 * total / (size + 1) for count in range(size + 1))
