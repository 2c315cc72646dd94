"""Inputs that are much larger than the others are found, and carried apart."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.engine.native.models import kept_library, variants_to_try, whole_model
from thisthat.engine.llama_shape import read_shape
from thisthat.engine.native.library import Variant
from thisthat.engine.native.loud_inputs import LOUD, Listener
from thisthat.engine.native.plain_step import plain_norm, plain_step
from thisthat.engine.native.product import Product
from thisthat.engine.rope import rotary_tables


def _layers(model: object) -> list[dict[str, np.ndarray]]:
    return [
        {
            name.removesuffix(".weight").split(".")[-1]: value.numpy()
            for name, value in layer.state_dict().items()
        }
        for layer in model.model.layers  # type: ignore[attr-defined]
    ]


def test_columns_with_large_norms_are_heard_in_every_layer() -> None:
    model = whole_model(4, 2)
    columns = [list(range(3 + layer, 3 + layer + 7 * LOUD, 7)) for layer in range(2)]
    with torch.no_grad():
        for layer, loud in zip(model.model.layers, columns, strict=True):
            layer.input_layernorm.weight[loud] *= 30
            layer.post_attention_layernorm.weight[[column + 1 for column in loud]] *= 30
    shape = read_shape(model.config.to_dict())
    listener = Listener(shape, model.model.embed_tokens.weight.detach().numpy())
    for layer, loud in zip(_layers(model), columns, strict=True):
        heard = listener.hear(layer)
        assert heard == {"projections": loud, "gate_up": [column + 1 for column in loud]}


def test_a_plain_step_is_the_model_s_own() -> None:
    model = whole_model(4, 2)
    shape = read_shape(model.config.to_dict())
    ids = np.arange(7, 29)
    hidden = model.model.embed_tokens.weight.detach().numpy()[ids].astype(np.float64)
    for layer in _layers(model):
        seen = np.tri(len(ids), dtype=np.bool_)
        hidden = plain_step(shape, layer, hidden, rotary_tables(shape, len(ids)), seen).hidden
    found = plain_norm(hidden, model.model.norm.weight.detach().numpy(), shape.epsilon)
    with torch.no_grad():
        wanted = model.model(torch.tensor(ids)[None]).last_hidden_state[0].numpy()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("variant", sorted(set(variants_to_try()) - {"amx", "plain"}))
def test_loud_inputs_coarsen_no_others(variant: Variant) -> None:
    random = np.random.default_rng(1)
    whole = random.integers(-127, 128, (64, 192), np.int8)
    values = random.standard_normal((30, 192)).astype(np.float32)
    loud = range(0, 12 * LOUD, 12)
    values[:, loud] *= 40
    wanted = values.astype(np.float64) @ whole.T.astype(np.float64)

    def error(apart: range | tuple[()]) -> float:
        library = kept_library(variant)
        found = Product(library, whole, np.ones(64, np.float32), apart)(values, 1)
        return float(np.sqrt(np.mean((found - wanted) ** 2)))

    assert error(loud) * 15 < error(())
