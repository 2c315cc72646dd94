from __future__ import annotations

import hashlib
from collections import Counter
from itertools import groupby, islice

import pytest

from thisthat.errors import InvalidInputError
from thisthat.items.item import dump_row
from thisthat_lab.suites.spatial import recorded
from thisthat_lab.suites.spatial.registry import held_out_families, training_families
from thisthat_lab.suites.spatial.training import TrainingSettings, shown_keys, training_items
from thisthat_lab.worlds.render.window import parse_window
from thisthat_lab.worlds.window import Window


def test_the_stream_never_changes() -> None:
    text = "".join(dump_row(item.as_dict()) for item in islice(training_items(3), 400))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "ba8c2ff5421cb25b"


def test_seeds_are_different_streams() -> None:
    one = {item.fingerprint for item in islice(training_items(1), 200)}
    other = {item.fingerprint for item in islice(training_items(2), 200)}
    assert len(one & other) < 5


def test_every_training_family_and_no_other() -> None:
    items = list(islice(training_items(4), 2500))
    names = {item.family.removesuffix("_verified") for item in items}
    assert names == set(training_families())
    assert names.isdisjoint(held_out_families())
    assert {item.split for item in items} == {"train"}
    assert all(item.target is None for item in items)
    assert {item.facts["size"] for item in items} <= set(range(5, 33))
    for name, group in groupby(sorted(items, key=lambda i: i.family), key=lambda i: i.family):
        common = Counter(item.answer for item in group)
        assert max(common.values()) < 0.9 * common.total() or common.total() < 30, name


def test_questions_about_one_state_follow_each_other() -> None:
    settings = TrainingSettings(questions_per_state=4, verified_share=0)
    items = list(islice(training_items(8, settings), 1000))
    runs = [list(group) for _, group in groupby(items, key=lambda item: item.state)]
    assert sum(len(run) for run in runs) / len(runs) > 3
    assert len({run[0].state_hash for run in runs}) > 0.97 * len(runs)
    for run in runs:
        assert len({item.family for item in run}) == len(run)


def test_families_may_be_asked_again_about_a_state() -> None:
    settings = TrainingSettings(questions_per_state=14, again=0.3, verified_share=0)
    items = list(islice(training_items(8, settings), 1500))
    runs = [list(group) for _, group in groupby(items, key=lambda item: item.state)]
    again = sum(len({item.family for item in run}) < len(run) for run in runs)
    assert again > 0.5 * len(runs)
    with pytest.raises(InvalidInputError, match="again"):
        TrainingSettings(again=1.5)


def test_chances_are_exact_where_asked_for() -> None:
    settings = TrainingSettings(chances="exact", weights={"stochastic": 20.0})
    items = list(islice(training_items(8, settings), 500))
    chances = [item for item in items if item.family == "stochastic"]
    assert len(chances) > 50
    for item in items:
        if item.family == "stochastic":
            assert item.target == (1 - item.facts["q"], item.facts["q"])
        else:
            assert item.target is None


def test_curriculum_and_weights() -> None:
    settings = TrainingSettings(
        map_sides={8: 1.0, 12: 1.0},
        most_distance=6,
        auxiliary_weight=0,
        weights={"first_move": 3.0, "move_legal": 0.0},
    )
    items = list(islice(training_items(9, settings), 1000))
    families = Counter(item.family.removesuffix("_verified") for item in items)
    assert families["move_legal"] == 0
    assert families["first_move"] > 1.5 * families["goal_bearing"]
    maps = [item for item in items if item.facts["surface"] == "map"]
    assert {item.facts["size"] for item in maps} == {8, 12}
    assert max(item.facts["distance"] for item in maps) == 6


def test_forbidden_windows_are_not_shown() -> None:
    settings = TrainingSettings(window_sides={6: 1.0}, auxiliary_weight=0)
    first = [
        str(item.state)
        for item in islice(training_items(10, settings), 500)
        if item.facts["surface"] in ("ascii", "json", "prose")
    ]
    forbidden = shown_keys([*first[:30], "no window", "{}"])
    assert 1 < len(forbidden) <= 30
    settings = TrainingSettings(window_sides={6: 1.0}, auxiliary_weight=0, forbidden=forbidden)
    for item in islice(training_items(10, settings), 500):
        if item.facts["surface"] in ("ascii", "json", "prose"):
            assert parse_window(str(item.state)).key not in forbidden


def test_recorded_windows_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = TrainingSettings(window_sides={6: 1.0}, auxiliary_weight=0)

    def windows() -> list[Window]:
        return [
            parse_window(str(item.state))
            for item in islice(training_items(10, settings), 500)
            if item.facts["surface"] in ("ascii", "json", "prose")
        ]

    banned = {hashlib.sha256(shown.key.encode()).hexdigest()[:16] for shown in windows()[:30]}
    assert len(recorded.RECORDED_WINDOWS) == 17
    monkeypatch.setattr(recorded, "RECORDED_WINDOWS", frozenset(banned))
    assert not any(recorded.is_recorded(shown) for shown in windows())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"map_sides": {50: 1.0}}, "map_sides: has 50"),
        ({"window_sides": {4: 1.0}}, "window_sides: has 4"),
        ({"questions_per_state": 0}, "questions_per_state: is 0"),
        ({"weights": {"same_line": 1.0}}, "weights: names no training family"),
    ],
)
def test_bad_settings_name_the_field(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        TrainingSettings(**arguments)  # type: ignore[arg-type]


def test_the_recorded_cohorts_own_wording_is_never_trained() -> None:
    for item in islice(training_items(5), 3000):
        assert "same column)" not in item.question
        assert not any("destination of the one-cell" in (text or "") for _, text in item.options)
