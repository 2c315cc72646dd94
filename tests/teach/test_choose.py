"""Choosing states: the doubtful first, and not two of a kind."""

import numpy as np

from thisthat.teach.choose import spread_out


def vectors(*angles: float) -> np.ndarray:
    return np.array([[np.cos(a), np.sin(a)] for a in angles], np.float32)


NONE = np.empty((0, 2), np.float32)


def test_the_most_doubtful_comes_first() -> None:
    found = spread_out(np.array([0.1, 0.9, 0.5]), vectors(0, 1.5, 3), NONE, 3)
    assert found[0] == 1
    assert sorted(found) == [0, 1, 2]


def test_a_copy_of_a_chosen_state_waits() -> None:
    doubt = np.array([0.9, 0.89, 0.3])
    assert spread_out(doubt, vectors(0, 0.01, 1.5), NONE, 2) == [0, 2]


def test_what_is_labelled_already_is_covered() -> None:
    doubt = np.array([0.9, 0.3])
    assert spread_out(doubt, vectors(0, 1.5), vectors(0.01), 1) == [1]


def test_all_states_where_fewer_than_asked_for() -> None:
    assert sorted(spread_out(np.zeros(2), vectors(0, 0), NONE, 9)) == [0, 1]
