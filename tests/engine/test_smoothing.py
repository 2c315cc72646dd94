from typing import Any

import numpy as np
import pytest
import torch

from tests.engine.trees import VOCABULARY, random_model
from thisthat.engine.linear_forms import Int8Linear
from thisthat.engine.llama_shape import read_shape
from thisthat.engine.smoothing import smooth


@pytest.fixture(scope="module")
def model() -> Any:
    return random_model("llama")


def weights_of(model: Any) -> dict[str, np.ndarray]:
    return {name: value.numpy().copy() for name, value in model.state_dict().items()}


TEXT = tuple(np.random.default_rng(1).integers(0, VOCABULARY, 60).tolist())


def logits(model: Any) -> np.ndarray:
    with torch.no_grad():
        return np.asarray(model(torch.tensor([TEXT])).logits[0].numpy())


def test_the_smoothed_model_is_the_same_function(model: Any) -> None:
    weights = weights_of(model)
    smoothed = smooth(weights, read_shape(model.config.to_dict()), [TEXT])
    changed = [name for name in weights if not np.array_equal(weights[name], smoothed[name])]
    assert len(changed) == 9 * 2  # Every linear layer and both norms of both layers.
    assert all(smoothed[name].dtype == np.float32 for name in weights)
    other = random_model("llama")
    other.load_state_dict({name: torch.from_numpy(value) for name, value in smoothed.items()})
    np.testing.assert_allclose(logits(other), logits(model), atol=2e-5)


def test_a_channel_with_outliers_is_made_smaller(model: Any) -> None:
    weights = weights_of(model)
    name = "model.layers.0.input_layernorm.weight"
    weights[name][3] = 50
    smoothed = smooth(weights, read_shape(model.config.to_dict()), [TEXT])
    spread = [values[name].max() / np.median(values[name]) for values in (weights, smoothed)]
    assert spread[1] < spread[0] / 3


def test_weights_stay_within_their_limit() -> None:
    class Recorder:
        def __init__(self) -> None:
            self.stored: list[Any] = []

        def constant(self, values: Any, dtype: Any = None) -> str:
            self.stored.append(np.asarray(values, dtype))
            return "constant"

        def node(self, *_: Any, **__: Any) -> str:
            return "node"

    for limit in (64, 127):
        recorder: Any = Recorder()
        from thisthat.engine.linear_forms import Rows

        weight = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
        Int8Linear(limit).linear(recorder, Rows("x"), weight)
        stored = next(array for array in recorder.stored if array.dtype == np.int8)
        assert np.abs(stored).max() == limit
