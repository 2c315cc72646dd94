from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from thisthat.errors import InvalidInputError
from thisthat.items.files import write_items
from thisthat.items.item import Item, dump_row
from thisthat_lab.suites.contamination import ContaminationError, check_contamination
from thisthat_lab.suites.spatial import held_out_sets, published_sets, released
from thisthat_lab.suites.spatial.registry import SEARCH_FAMILIES, benchmark_families
from thisthat_lab.suites.spatial.training import TrainingSettings, training_items
from thisthat_lab.worlds.render.window import parse_window


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return released.released_items()


def test_regenerated_bit_for_bit(items: list[Item]) -> None:
    assert released.released_sha256(items) == released.SHA256


def test_the_file_of_the_package_holds_what_is_drawn(items: list[Item]) -> None:
    assert [item.as_dict() for item in released.read_released()] == [
        json.loads(dump_row(item.as_dict())) for item in items
    ]


def test_a_file_that_was_changed_is_refused(
    items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(released, "FILE", tmp_path / "released.jsonl.zst")
    write_items(released.FILE, items[:-1])
    with pytest.raises(InvalidInputError, match="not the released benchmark"):
        released.read_released()


def test_size_states_and_chance(items: list[Item]) -> None:
    assert len(items) == 7305
    assert len({item.state_hash for item in items}) == 6525
    assert len({item.fingerprint for item in items}) == 7305
    assert all(item.facts["fingerprint"] == item.fingerprint for item in items)
    chance = sum(1 / len(item.options) for item in items) / len(items)
    assert chance == pytest.approx(0.343, abs=0.0005)


def test_exactly_balanced_by_answer(items: list[Item]) -> None:
    by_family: dict[str, list[Item]] = {}
    for item in items:
        by_family.setdefault(item.family, []).append(item)
    assert set(by_family) == set(benchmark_families())
    for name, group in by_family.items():
        answers = Counter(item.answer for item in group)
        assert set(answers.values()) == {len(group) // len(group[0].options)}, name
        beginning = Counter(item.answer for item in group[:60])
        assert max(beginning.values()) - min(beginning.values()) <= 1
        assert len({item.options for item in group}) == 1


def test_search_families_have_equal_shares_of_sides(items: list[Item]) -> None:
    search = [item for item in items if item.family in SEARCH_FAMILIES]
    assert len(search) == 1500
    for name in SEARCH_FAMILIES:
        group = [item for item in search if item.family == name]
        sides = Counter(item.facts["size"] for item in group)
        assert sides == dict.fromkeys((8, 16, 32), len(group) // 3)
        assert {item.facts["topology"] for item in group} == {
            "corridor",
            "tree",
            "loops",
            "random_obstacle",
        }


def test_surfaces_are_drawn_at_random_in_every_window_family(items: list[Item]) -> None:
    for name, family in benchmark_families().items():
        if family.scene_kind == "window":
            group = [item for item in items if item.family == name]
            surfaces = Counter(item.facts["surface"] for item in group)
            assert set(surfaces) == {"ascii", "json", "prose"}
            assert min(surfaces.values()) > 0.25 * len(group)
            assert all(parse_window(str(item.state)) for item in group)


def test_training_and_evaluation_do_not_touch(items: list[Item]) -> None:
    evaluation = [
        *items,
        *held_out_sets.local_geometry(20),
        *held_out_sets.noisy_actuator(20),
        *published_sets.noisy_actuator(20),
        *held_out_sets.distance_bands(20),
        *held_out_sets.held_out_family_items(60),
        *held_out_sets.two_ways(60),
    ]
    # Small mazes and the recorded style make a shared state as likely as it can be.
    settings = TrainingSettings(
        map_sides={8: 1.0}, window_sides={8: 1.0}, recorded_share=1.0, fixed_share=1.0
    )
    training = list(islice(training_items(5, settings), 3000))
    report = check_contamination(training, evaluation)
    assert report.training_items == 3000
    assert report.same_state == 0
    groups = {item.facts.get("group") for item in evaluation} - {None}
    trained = {item.facts.get("group") for item in training}
    assert groups.isdisjoint(trained)


def test_a_planted_item_is_found(items: list[Item]) -> None:
    clean = list(islice(training_items(6), 50))
    with pytest.raises(ContaminationError, match="1 of 51 training items ask") as caught:
        check_contamination([*clean, items[100]], items)
    assert caught.value.report.same_state == 1
