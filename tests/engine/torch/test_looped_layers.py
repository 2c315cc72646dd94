import copy

import pytest
import torch

from tests.engine import trees
from tests.engine.trees import LABELS, assert_same, path_by_path, question
from thisthat.engine.rows import Row
from thisthat.engine.torch.engine import TorchEngine
from thisthat.engine.torch.looped_layers import loop_layers
from thisthat.errors import InvalidInputError


@pytest.mark.parametrize("name", ["llama", "hybrid2"])
def test_a_loop_equals_a_deeper_model_with_repeated_weights(name: str) -> None:
    looped = trees.random_model(name)
    kind, settings = trees.MODELS[name]
    deeper = dict(settings, num_hidden_layers=4)
    if "layer_types" in settings:
        deeper["layer_types"] = [settings["layer_types"][source] for source in (0, 1, 1, 1)]
    trees.MODELS["deeper"] = (kind, deeper)
    try:
        wanted = trees.random_model("deeper")
    finally:
        del trees.MODELS["deeper"]
    weights = looped.state_dict()
    for source, place in ((1, 2), (1, 3)):
        start = f"model.layers.{source}."
        weights |= {
            name.replace(start, f"model.layers.{place}."): tensor
            for name, tensor in weights.items()
            if name.startswith(start)
        }
    wanted.load_state_dict(weights)
    before = sum(parameter.numel() for parameter in looped.parameters())
    loop_layers(looped, 1, 1, 3)
    assert sum(parameter.numel() for parameter in looped.parameters()) == before
    row = Row((1, 2, 3), (4, 5, 6), (question((7, 8)), question((9,))))
    assert_same(TorchEngine(looped, LABELS).run([row])[0], path_by_path(wanted, row))


def test_once_changes_nothing() -> None:
    model = trees.random_model("llama")
    ids = torch.tensor([[1, 2, 3]])
    wanted = copy.deepcopy(model)(ids).logits
    loop_layers(model, 0, 1, 1)
    assert torch.equal(model(ids).logits, wanted)


@pytest.mark.parametrize(
    ("name", "span", "message"),
    [
        ("llama", (0, 2, 2), "layers 0 to 2, but the model has layers 0 to 1"),
        ("llama", (1, 0, 2), "layers 1 to 0"),
        ("llama", (0, 1, 0), "loop.times"),
        ("gpt2", (0, 1, 2), "GPT2LMHeadModel has no plain list of layers"),
    ],
)
def test_a_loop_that_cannot_be_is_refused(
    name: str, span: tuple[int, int, int], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        loop_layers(trees.random_model(name), *span)
