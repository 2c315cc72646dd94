import pytest
import torch

from tests.lab.train.data.test_packs import CPU, WEIGHTS, row
from tests.lab.train.tiny import config
from thisthat.errors import InvalidInputError
from thisthat_lab.train.config import Loop, Model
from thisthat_lab.train.data.buckets import Shape
from thisthat_lab.train.data.packs import packed_shapes
from thisthat_lab.train.data.stream import fed_batches
from thisthat_lab.train.model.backbone import TrainedBackbone, build_backbone

PACKED, PADDED = packed_shapes(600, 40), [Shape(4, 30)]


def logits(backbone: TrainedBackbone, packed: bool, opened: bool) -> torch.Tensor:
    """Of three rows; the padded batch has a fourth that is all padding."""
    rows = [row(20 + number, number, (2, 9) if opened else (0, 0)) for number in range(3)]
    (fed,) = fed_batches(rows, PACKED if packed else PADDED)
    made: torch.Tensor = backbone(fed.tokens, fed.row, fed.at, fed.sight(CPU))
    return made


def pair(settings: Model, packed: bool) -> tuple[TrainedBackbone, TrainedBackbone]:
    joined, plain = (
        build_backbone(config(), WEIGHTS, range(255), settings, CPU, packed) for _ in range(2)
    )
    assert joined.joined
    plain.joined = False
    return joined, plain


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("opened", [True, False])
def test_a_joined_layer_computes_what_transformers_computes(packed: bool, opened: bool) -> None:
    joined, plain = pair(Model(), packed)
    found, wanted = logits(joined, packed, opened), logits(plain, packed, opened)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("opened", [True, False])
def test_gradients_reach_every_weight_and_are_the_same(packed: bool, opened: bool) -> None:
    joined, plain = pair(Model(loop=Loop(first=0, last=1, times=2)), packed)
    for backbone in (joined, plain):
        logits(backbone, packed, opened).square().mean().backward()  # type: ignore[no-untyped-call]
    expected = dict(plain.named_parameters())
    for name, parameter in joined.named_parameters():
        assert parameter.grad is not None
        assert expected[name].grad is not None
        torch.testing.assert_close(parameter.grad, expected[name].grad, rtol=1e-3, atol=1e-5)


def test_a_frozen_embedding_leaves_the_other_gradients_as_they_are() -> None:
    whole, _ = pair(Model(), False)
    trunk, _ = pair(Model(train="trunk"), False)
    for backbone in (whole, trunk):
        logits(backbone, False, False).square().mean().backward()  # type: ignore[no-untyped-call]
    expected = dict(whole.trained())
    assert len(trunk.trained()) == len(expected) - 1
    for name, parameter in trunk.trained():
        torch.testing.assert_close(parameter.grad, expected[name].grad)


def test_adapters_and_checkpointing_keep_the_layers_of_transformers() -> None:
    for settings in (
        Model(train="lora"),
        Model(checkpointing=True),
        Model(train="last", last_layers=1),
    ):
        backbone = build_backbone(config(), WEIGHTS, range(255), settings, CPU, packed=True)
        assert not backbone.joined


@pytest.mark.parametrize("packed", [True, False])
def test_eight_bits_change_logits_a_little_and_need_plain_layers(packed: bool) -> None:
    joined, _ = pair(Model(), packed)
    exact = logits(joined, packed, False)
    joined.eight_bit = True
    off = (logits(joined, packed, False) - exact).abs().max()
    assert 0 < off < 0.05 * exact.abs().max()
    settings = Model(checkpointing=True, eight_bit=True)
    with pytest.raises(InvalidInputError, match=r"model\.eight_bit: is for whole, plain"):
        build_backbone(config(), WEIGHTS, range(255), settings, CPU, packed)


def test_eight_bits_round_frozen_layers_too() -> None:
    whole, _ = pair(Model(eight_bit=True), False)
    last, _ = pair(Model(train="last", last_layers=1, eight_bit=True), False)
    torch.testing.assert_close(logits(last, False, False), logits(whole, False, False))
    for backbone in (whole, last):
        logits(backbone, False, False).square().mean().backward()  # type: ignore[no-untyped-call]
    expected = dict(whole.trained())
    assert 0 < len(last.trained()) < len(expected)
    for name, parameter in last.trained():
        torch.testing.assert_close(parameter.grad, expected[name].grad)


@pytest.mark.parametrize("opened", [True, False])
def test_eight_bits_are_the_same_packed_and_padded(opened: bool) -> None:
    found = [logits(pair(Model(eight_bit=True), p)[0], p, opened) for p in (True, False)]
    torch.testing.assert_close(found[0], found[1], rtol=1e-2, atol=1e-3)


def test_joined_layers_are_never_compiled() -> None:
    joined, _ = pair(Model(), False)
    joined.compile_layers(dynamic=True)
    assert not any(layer._compiled_call_impl for layer in joined.trunk.layers)
