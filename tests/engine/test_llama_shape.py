from typing import Any

import pytest

from tests.engine.trees import MODELS, random_model
from thisthat.checkpoint.card import Loop
from thisthat.engine.llama_shape import read_shape, supports
from thisthat.errors import CheckpointError

CONFIG = random_model("llama").config.to_dict()


@pytest.mark.parametrize("name", sorted(MODELS))
def test_only_plain_llama_and_qwen2_models_are_supported(name: str) -> None:
    config = random_model(name).config.to_dict()
    assert supports(config) == (name in ("llama", "qwen2"))
    if supports(config):
        assert read_shape(config).biased == (name == "qwen2")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "qwen3"}, "model_type 'qwen3'"),
        ({"model_type": None}, "model_type 'None'"),
        ({"model_type": {}}, "model_type '{}'"),
        ({"attention_bias": True}, "attention_bias True"),
        ({"model_type": "qwen2", "use_sliding_window": True}, "use_sliding_window True"),
        ({"hidden_act": "gelu"}, "hidden_act 'gelu'"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "rope_scaling 'llama3'"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_parameters 'yarn'"),
        ({"vocab_size": None}, "no vocab_size"),
    ],
)
def test_what_is_not_supported_is_named(change: dict[str, Any], message: str) -> None:
    assert not supports({**CONFIG, **change})
    with pytest.raises(CheckpointError, match=message):
        read_shape({**CONFIG, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"vocab_size": {}},
        {"hidden_size": "64"},
        {"hidden_size": True},
        {"num_attention_heads": -1},
        {"num_hidden_layers": 10**30},
        {"num_hidden_layers": 10**9},
        {"max_position_embeddings": 1e308},
        {"num_key_value_heads": [2]},
        {"head_dim": 0.5},
        {"rms_norm_eps": "small"},
        {"rms_norm_eps": 10**400},
        {"rms_norm_eps": float("nan")},
        {"rope_parameters": [1]},
        {"rope_parameters": None, "rope_theta": [[]]},
    ],
)
def test_a_hostile_configuration_is_named(change: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match=[*change][-1]):
        read_shape({**CONFIG, **change})


def test_both_spellings_of_the_rotary_base() -> None:
    plain = {key: value for key, value in CONFIG.items() if not key.startswith("rope")}
    assert read_shape({**plain, "rope_theta": 5e5}).rope_base == 5e5
    settings = {"rope_type": "default", "rope_theta": 7e5}
    assert read_shape({**plain, "rope_parameters": settings}).rope_base == 7e5


def test_a_loop_repeats_its_span() -> None:
    config = {**CONFIG, "num_hidden_layers": 5}
    assert read_shape(config, Loop(1, 2, 3)).order == (0, 1, 2, 1, 2, 1, 2, 3, 4)
    with pytest.raises(CheckpointError, match="layers 3 to 5"):
        read_shape(config, Loop(3, 5, 2))
