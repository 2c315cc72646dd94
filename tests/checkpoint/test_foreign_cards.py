from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from thisthat.checkpoint.card import Card, HubBase
from thisthat.checkpoint.foreign_cards import card_for
from thisthat.errors import CheckpointError

CONFIG = {"max_position_embeddings": 262_144}


def _decider(tmp_path: Path, content: dict[str, Any]) -> Card:
    (tmp_path / "decider_config.json").write_text(json.dumps(content))
    return card_for("Mapika/decider-2b", HubBase("Mapika/decider-2b"), tmp_path, CONFIG)


def test_decider_config_becomes_a_card(tmp_path: Path) -> None:
    card = _decider(
        tmp_path,
        {
            "version": "v10",
            "base": "somebody/base",
            "release_date": "2026-09-17",
            "max_options": 255,
            "temperature": 1.3,
            "temperature_by_type": {"choice": 1.48, "noul": 2.22, "score": 1.38},
            "temperature_schema_first": 1.18,
            "temperature_schema_first_by_type": {"noul": 3.0},
            "layout": "chat",
            "isolated_levels": True,
            "neutralize_none": False,
            "schema_first": True,
        },
    )
    assert (card.name, card.version) == ("Mapika/decider-2b", "v10")
    assert card.released == date(2026, 9, 17)
    assert card.prompt.family == "decider"
    assert card.prompt.chat
    assert card.prompt.isolated_levels
    assert card.layouts == ("state-first", "schema-first")
    assert (card.limits.state_tokens, card.limits.row_tokens) == (32_768, 262_144)
    of = card.temperatures.of
    assert of("boolean", 2, "state-first") == 2.22
    assert of("choice", 5, "state-first") == 1.48
    assert of("boolean", 2, "schema-first") == 3.0
    assert of("choice", 5, "schema-first") == 1.18


def test_schema_first_falls_back_to_the_state_first_temperatures(tmp_path: Path) -> None:
    card = _decider(tmp_path, {"temperature": 1.3, "temperature_by_type": {"score": 1.4}})
    assert card.temperatures.of("score", 4, "schema-first") == 1.4
    assert card.temperatures.of("choice", 4, "schema-first") == 1.3
    assert card.layouts == ("state-first",)


def test_temperature_by_options(tmp_path: Path) -> None:
    card = _decider(tmp_path, {"temperature_by_options": {"a": 10.12, "b": -1.63}})
    assert card.temperatures.of("choice", 1000, "state-first") == max(
        0.05, 10.12 - 1.63 * 6.907755278982137
    )
    assert card.temperatures.of("choice", 1000, "schema-first") == 1.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"tempreature": 1.0}, "decider_config.json: unknown key 'tempreature'"),
        ({"temperature": 0}, "temperature.default: is 0.0; it must be a positive number"),
        ({"release_date": "autumn"}, "release_date: expected YYYY-MM-DD, found 'autumn'"),
        ({"layout": "wide"}, "layout: 'wide' is not one of 'plain', 'chat'"),
        ({"temperature_by_type": {"bool": 1.0}}, "temperature_by_type: unknown key 'bool'"),
        ({"temperature_by_options": {"a": 1.0}}, "temperature_by_options: b: is missing"),
        ({"neutralize_none": True}, "neutralize_none: options are never renamed here"),
    ],
)
def test_a_wrong_decider_config_is_refused(
    content: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(CheckpointError) as caught:
        _decider(tmp_path, content)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "ref",
    [
        "flock-io/this-that-model-1.0",
        "models/this-that-model-1.0",
        "hub/models--flock-io--this-that-model-1.0/snapshots/abc",
    ],
)
def test_flock_is_recognised(ref: str, tmp_path: Path) -> None:
    card = card_for(ref, HubBase("x/y"), tmp_path, CONFIG)
    assert card.prompt.family == "flock"
    assert not card.prompt.legend
    assert card.limits.state_tokens == 32_768  # the longest that its scripts set
    assert card.temperatures.of("choice", 3, "state-first") == 1.0


def test_decider_without_a_config_is_recognised_by_its_name(tmp_path: Path) -> None:
    card = card_for("Mapika/decider-4b", HubBase("Mapika/decider-4b"), tmp_path, CONFIG)
    assert card.prompt.family == "decider"
    assert card.limits.state_tokens == 32_768


def test_a_plain_model_gets_its_limits_from_its_configuration(tmp_path: Path) -> None:
    nested = {"text_config": {"max_position_embeddings": 4096}}
    card = card_for("models/some-model", HubBase("x/y"), tmp_path, nested)
    assert (card.name, card.prompt.family) == ("some-model", "thisthat")
    assert (card.limits.state_tokens, card.limits.row_tokens) == (3584, 4096)
    with pytest.raises(CheckpointError, match="names no max_position_embeddings"):
        card_for("models/some-model", HubBase("x/y"), tmp_path, {})
