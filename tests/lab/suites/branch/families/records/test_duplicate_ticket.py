"""Pairs compared again value by value."""

from thisthat.rng import Rng
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.branch.families.records.duplicate_ticket import draw, duplicates, solve


def test_duplicates_against_a_plain_comparison() -> None:
    counts = [0, 0]
    for number in range(5_000):
        rng = Rng("pairs", number)
        case = draw(rng, Setting(rng.integer(1, 4), rng.below(5), 0))
        same = [case.left[name] for name in case.fields] == [
            case.right[name] for name in case.fields
        ]
        if case.day is not None:
            days = sorted(int(str(side[case.day])) for side in (case.left, case.right))
            same = same and days[1] - days[0] in range(case.window + 1)
        assert duplicates(case) is same
        assert solve(case) == int(same == case.same_asked)
        counts[same] += 1
    assert min(counts) > 0.45 * sum(counts)


def test_a_gap_is_open_unless_something_else_differs() -> None:
    seen = set()
    for number in range(500):
        case = draw(Rng("gaps", number), Setting(2, 2, 0, abstain=True))
        missing = [name for name in case.fields if case.right[name] is None]
        if duplicates(case) is None:
            assert missing
        seen.add((bool(missing), duplicates(case)))
    assert (True, None) in seen
    assert (False, True) in seen
