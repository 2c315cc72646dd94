from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from tests.lab.suites.spatial.slow_answers import Known, Seen, go
from thisthat.items.item import Item, dump_row
from thisthat_lab.suites.spatial import held_out_sets
from thisthat_lab.worlds.grid import DIRECTIONS


def digest(items: list[Item]) -> str:
    return hashlib.sha256("".join(dump_row(i.as_dict()) for i in items).encode()).hexdigest()[:16]


def direction_of(item: Item) -> str:
    return next(way for way in DIRECTIONS if f"one cell {way}" in item.question)


def test_local_geometry() -> None:
    items = held_out_sets.local_geometry(10)
    assert Counter(item.facts["size"] for item in items) == dict.fromkeys((8, 16, 32, 50), 40)
    assert len({item.state for item in items}) == 40
    for item in items:
        seen = Seen(str(item.state))
        assert item.answer == seen.free(go(seen.agent, direction_of(item)))
        assert item.question.startswith("If the agent attempts one cell ")
        assert "inside the maze and not a wall? Use the local map" in item.question
    assert items[0].options == (
        ("no", "The destination of the one-cell north attempt is a wall or outside the maze."),
        (
            "yes",
            "The destination of the one-cell north attempt is inside the maze and traversable.",
        ),
    )
    assert digest(items) == "2498c2a040eb7302"


def test_noisy_actuator() -> None:
    items = held_out_sets.noisy_actuator(10)
    assert Counter(item.facts["rho"] for item in items) == dict.fromkeys((0.1, 0.3, 0.7, 0.9), 40)
    for item in items:
        seen = Seen(str(item.state))
        exits = seen.exits(seen.agent)
        rho, intended = item.facts["rho"], direction_of(item)
        q = sum((rho if way == intended else (1 - rho) / 3) for way in exits)
        assert item.facts["q"] == pytest.approx(q)
    assert digest(items) == "0ace1d2cd741e741"


def test_ladder_asks_the_same_questions_of_map_and_window() -> None:
    items = held_out_sets.context_ladder(2)
    assert len(items) == 5 * 2 * 8
    for start in range(0, len(items), 8):
        whole, window = items[start : start + 4], items[start + 4 : start + 8]
        assert {item.facts["world"] for item in (*whole, *window)} == {start // 8}
        known = Known(str(whole[0].state))
        seen = Seen(str(window[0].state))
        assert known.agent == seen.agent
        for one, other in zip(whole, window, strict=True):
            assert (one.facts["arm"], other.facts["arm"]) == ("whole", "window")
            assert (one.question, one.options, one.answer) == (
                other.question,
                other.options,
                other.answer,
            )
            assert one.answer == (go(known.agent, direction_of(one)) in known.free)
    assert Counter(item.facts["size"] for item in items) == dict.fromkeys(
        (32, 50, 80, 128, 200), 16
    )
    assert digest(items) == "4a5c497cb58ac9d7"


def test_two_ways_asks_one_maze_twice() -> None:
    items = held_out_sets.two_ways(30)
    assert len(items) == 60
    for band, parity in zip(items[::2], items[1::2], strict=True):
        assert band.state == parity.state
        assert band.facts["pair"] == parity.facts["pair"]
        distance = Known(str(band.state)).distance
        assert band.facts["distance"] == distance
        assert parity.options[parity.answer][0] == ("even", "odd")[distance % 2]
        assert band.answer == sum(distance > top for top in (4, 16, 64, 256))
    assert digest(items) == "588e6cc6d0ee9c7e"


def test_distance_bands_and_held_out_families() -> None:
    bands = held_out_sets.distance_bands(10)
    assert Counter(item.facts["size"] for item in bands) == dict.fromkeys((8, 16, 32, 50), 10)
    items = held_out_sets.held_out_family_items(60)
    for name in ("same_line", "reach_two", "distance_parity", "plan_progress"):
        group = [item for item in items if item.family == name]
        answers = Counter(item.answer for item in group)
        assert len(answers) == len(group[0].options)
        assert set(answers.values()) == {60 // len(answers)}
    assert digest(bands + items) == "86f99276ed7d3a9b"
    with pytest.raises(ValueError, match="61 items cannot be shared"):
        held_out_sets.held_out_family_items(61)
