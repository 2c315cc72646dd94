"""Events in the order of their times."""

from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.branch.families.records.first_event import Case, solve


def test_places_follow_the_times() -> None:
    case = Case(("a", "b", "c"), (30, 10, 20), "clock", "first", Setting())
    assert solve(case) == 1
    for ask, place in (("last", 0), ("rank 1", 2), ("after 1", 2), ("before 0", 2)):
        assert solve(Case(case.events, case.times, "clock", ask, Setting())) == place
