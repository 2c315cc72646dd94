from collections import Counter
from itertools import islice

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.evenness import Evenness
from thisthat_lab.suites.spatial.registry import training_families
from thisthat_lab.suites.spatial.scene import make_place, make_window_scene
from thisthat_lab.suites.spatial.training import TrainingSettings, training_items


def test_a_wording_and_its_negation_each_have_even_answers() -> None:
    rng, evenness = Rng("evenness"), Evenness()
    onward = training_families()["onward"]
    taken: Counter[tuple[bool, int]] = Counter()
    drawn: Counter[tuple[bool, int]] = Counter()
    place = make_place(12, 5, "loops")
    for _ in range(3000):
        agent = rng.choice(place.maze.open_cells)
        case = onward.draw(rng, make_window_scene(place, agent, "ascii", 0, False))
        if case is None:
            continue
        key = (case.negated, onward.solve(case))
        drawn[key] += 1
        if evenness.take(onward, case):
            taken[key] += 1
    for negated in (False, True):
        assert abs(taken[negated, 0] - taken[negated, 1]) <= 2
    assert drawn[False, 1] > 3 * drawn[False, 0]


def test_outcomes_are_taken_as_they_come() -> None:
    stochastic = training_families()["stochastic"]
    assert not stochastic.balanced
    assert all(
        Evenness().take(stochastic, None)  # type: ignore[arg-type]
        for _ in range(5)
    )


def test_a_stream_with_many_questions_per_state_keeps_booleans_even() -> None:
    settings = TrainingSettings(questions_per_state=7, map_sides={6: 1, 8: 1})
    answers: dict[str, Counter[int]] = {}
    for item in islice(training_items(3, settings), 1500):
        if item.kind == "boolean" and item.family != "stochastic":
            answers.setdefault(item.family, Counter())[item.answer] += 1
    for family in ("onward", "move_legal", "move_two_step", "blocked_pair", "snake_safe"):
        counts = answers[family]
        assert abs(counts[0] - counts[1]) <= 4, (family, counts)
