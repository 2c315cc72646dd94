"""Statements about several records decided again by plain loops."""

from thisthat.rng import Rng
from thisthat_lab.suites.base.settings import BranchSettings
from thisthat_lab.suites.branch.families.records.facts_across import FORMS, draw, solve


def test_statements_against_plain_loops() -> None:
    seen: dict[str, list[int]] = {form: [0, 0] for form in FORMS}
    settings = BranchSettings(abstain=0)
    for number in range(6_000):
        rng = Rng("across", number)
        case = draw(rng, settings.draw(rng))
        if case is None:
            continue
        values = [record[case.phrase] for _, record in case.rows]
        met = 0
        for _, record in case.rows:
            if case.condition.holds(record):
                met += 1
        left, right = values[case.left], values[case.right]
        truth = {
            "any": met != 0,
            "all": met == len(values),
            "none": not met,
            "at least": not met < case.number,
            "exactly": met - case.number == 0,
            "same": left == right,
        }.get(case.form)
        if truth is None:
            numbers = [int(str(value)) for value in values]
            if case.form == "largest":
                beaten = [numbers[case.left] > number for number in numbers]
                truth = beaten.count(False) == 1
            else:
                gap = numbers[case.left] - numbers[case.right]
                truth = gap > 0 if case.form == "larger" else gap < 0
        assert solve(case) == int(truth != case.denied)
        seen[case.form][solve(case)] += 1
    for form, (no, yes) in seen.items():
        assert min(no, yes) > 0.3 * (no + yes), form
