"""Changes placed on their scale by walking from the old reading to the new one."""

from thisthat.rng import Rng
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.branch.families.levels.change_level import Case, draw, solve


def slow_level(case: Case) -> int:
    assert case.old is not None
    assert case.new is not None
    moved = case.new - case.old
    if case.levels == 2:
        names = ["down", "up"]
        name = "up" if moved > 0 else "down"
    else:
        names = ["fell", "level", "rose"]
        if case.levels == 5:
            names = ["fell sharply", "fell", "level", "rose", "rose sharply"]
        if -case.inner <= moved <= case.inner:
            name = "level"
        else:
            name = "rose" if moved > 0 else "fell"
            sharp = case.levels == 5 and not -case.outer <= moved <= case.outer
            name = f"{name} sharply" if sharp else name
    if case.falling:
        names.reverse()
    return names.index(name)


def test_levels_follow_the_margins_and_are_drawn_evenly() -> None:
    counts: dict[tuple[int, int], int] = {}
    for number in range(10_000):
        case = draw(Rng("change", number), Setting())
        level = solve(case)
        assert level == slow_level(case)
        counts[case.levels, level] = counts.get((case.levels, level), 0) + 1
    for levels in (2, 3, 5):
        total = sum(counts[levels, level] for level in range(levels))
        for level in range(levels):
            assert counts[levels, level] > 0.7 * total / levels


def test_a_missing_reading_is_open() -> None:
    for number in range(200):
        case = draw(Rng("open", number), Setting(abstain=True))
        assert (solve(case) == case.levels) == (case.old is None or case.new is None)
