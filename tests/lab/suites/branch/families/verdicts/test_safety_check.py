"""Safety rules applied one by one, slowly."""

from thisthat.rng import Rng
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.branch.families.verdicts.safety_check import draw, safe, solve


def test_safety_against_loops() -> None:
    counts = [0, 0]
    for number in range(5_000):
        rng = Rng("safety", number)
        case = draw(rng, Setting(rng.integer(1, 4), rng.below(8), 0))
        assert case.allergies is not None
        dangers = []
        for part in case.parts:
            dangers += ["allergy"] * case.allergies.count(part)
        for taken in case.current:
            dangers += ["mixture"] * case.clashes.count(taken)
        allowed = 0
        for _ in range(case.weight):
            allowed += case.per_weight
        dangers += ["dose"] * (case.dose > allowed)
        expected = not [danger for danger in dangers if danger in case.checks]
        assert safe(case) is expected
        assert solve(case) == int(expected == case.safe_asked)
        counts[expected] += 1
    assert min(counts) > 0.4 * sum(counts)


def test_unknown_allergies_are_open_only_when_nothing_else_forbids() -> None:
    answers = set()
    for number in range(400):
        case = draw(Rng("unknown", number), Setting(3, 2, 0, abstain=True))
        if case.allergies is None:
            assert safe(case) is not True
            answers.add(safe(case))
    assert answers == {None, False}
