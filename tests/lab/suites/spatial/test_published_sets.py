from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.lab.suites.spatial.slow_answers import Known, Seen, go
from tests.lab.suites.spatial.test_held_out_sets import digest, direction_of
from thisthat_lab.suites.spatial import held_out_sets, published_sets


def test_steps_are_ours_in_other_words() -> None:
    ours, theirs = held_out_sets.local_geometry(4), published_sets.local_geometry(4)
    assert [item.state for item in theirs] == [item.state for item in ours]
    for item in theirs:
        seen = Seen(str(item.state))
        assert item.answer == seen.free(go(seen.agent, direction_of(item)))
        assert item.options == (("no", None), ("yes", None))
    assert "one cell east (col+1), will" in theirs[1].question


def test_the_ladder_asks_in_those_words_on_both_arms() -> None:
    items = published_sets.context_ladder(1)
    assert Counter(item.facts["size"] for item in items) == dict.fromkeys(
        held_out_sets.LADDER_SIDES, 8
    )
    for item in items:
        shown = str(item.state)
        free = Known(shown).free if item.facts["arm"] == "whole" else None
        agent = Known(shown).agent if free else Seen(shown).agent
        there = go(agent, direction_of(item))
        assert item.answer == (there in free if free else Seen(shown).free(there))
        assert "Use the local map" in item.question


def test_distances_have_a_level_for_every_band() -> None:
    for item in published_sets.distance_bands(8):
        distance = Known(str(item.state)).distance
        assert item.kind == "score"
        assert item.answer == 1 + sum(distance > top for top in (4, 16, 64, 256))


def test_the_actuator_is_described_below_the_map() -> None:
    items = published_sets.noisy_actuator(4)
    assert Counter(item.facts["size"] for item in items) == dict.fromkeys((8, 16, 32, 50), 16)
    for item in items:
        shown, _, line = str(item.state).rpartition("\n")
        said = re.fullmatch(
            r"Actuator: execute (\w+) with probability (0\.\d); otherwise choose uniformly among "
            r"(\w+), (\w+), (\w+)\.",
            line,
        )
        assert said is not None
        intended, rho, *others = said.groups()
        assert [way for way in ("north", "south", "east", "west") if way != intended] == others
        known = Known(shown)
        exits = [way for way in (intended, *others) if go(known.agent, way) in known.free]
        assert intended in exits
        assert len(exits) > 1
        q = sum(float(rho) if way == intended else (1 - float(rho)) / 3 for way in exits)
        assert item.facts["q"] == pytest.approx(q)
    assert digest(items) == "cc4b70e5148461a4"
