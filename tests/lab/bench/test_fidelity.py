import pytest

from tests.path_engine import path_decider
from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.temperature import Temperatures
from thisthat_lab.bench.fidelity import compare, measure


def item(state: str, question: str) -> Item:
    options = (("red", None), ("green", None), ("blue", None))
    return Item("test", "colours", "choice", state, question, options, 0)


def test_changes_are_counted_over_questions() -> None:
    reference = [(0.6, 0.4), (0.5, 0.3, 0.2), (1.0,), (0.52, 0.48)]
    candidate = [(0.7, 0.3), (0.5, 0.3, 0.2), (1.0,), (0.48, 0.52)]
    found = compare(reference, candidate)
    assert found.questions == 4
    assert found.changed_best == 0.25
    assert found.mean_change == pytest.approx((0.1 + 0.04) / 4)
    assert found.largest_change == pytest.approx(0.1)
    assert found.changed_margin == pytest.approx(0.04)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="items: there are none"):
        compare([], [])
    with pytest.raises(InvalidInputError, match="other questions"):
        compare([(0.5, 0.5)], [(1.0,)])


def test_both_deciders_get_every_item() -> None:
    items = [item("a", "one?"), item("a", "two?"), item("b", "one?")]
    seen: list[tuple[int, int]] = []
    same = measure(path_decider(), path_decider(), items, lambda *done: seen.append(done))
    assert (same.questions, same.changed_best, same.largest_change) == (3, 0.0, 0.0)
    assert seen[-1] == (4, 4)
    flatter = measure(path_decider(), path_decider(temperatures=Temperatures(2.0)), items)
    assert flatter.changed_best == 0.0
    assert 0 < flatter.mean_change < flatter.largest_change
