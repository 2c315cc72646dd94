import pytest
import torch

from tests.train.test_packs import CPU, WEIGHTS, row
from tests.train.tiny import config
from thisthat.errors import InvalidInputError
from thisthat.train.backbone import Backbone, build_backbone
from thisthat.train.config import Loop, Model
from thisthat.train.joined_layer import rounded
from thisthat.train.packs import Packs, packed_shapes
from thisthat.train.stream import feed_batch

SHAPE = packed_shapes(100, 40)


def logits(backbone: Backbone) -> torch.Tensor:
    packs = Packs(SHAPE)
    for number in range(3):
        packs.add(row(20 + number, number))
    (batch,) = packs.flush()
    fed = feed_batch(batch, pin=False)
    made: torch.Tensor = backbone(fed.tokens, fed.row, fed.at, fed.sight(CPU))
    return made


def pair(settings: Model) -> tuple[Backbone, Backbone]:
    joined, plain = (
        build_backbone(config(), WEIGHTS, range(255), settings, CPU, packed=True) for _ in range(2)
    )
    assert joined.joined
    plain.joined = False
    return joined, plain


def test_a_joined_layer_computes_what_transformers_computes() -> None:
    joined, plain = pair(Model())
    torch.testing.assert_close(logits(joined), logits(plain), rtol=1e-4, atol=1e-5)


def test_gradients_reach_every_weight_and_are_the_same() -> None:
    joined, plain = pair(Model(loop=Loop(first=0, last=1, times=2)))
    for backbone in (joined, plain):
        logits(backbone).square().mean().backward()  # type: ignore[no-untyped-call]
    expected = dict(plain.named_parameters())
    for name, parameter in joined.named_parameters():
        assert parameter.grad is not None
        assert expected[name].grad is not None
        torch.testing.assert_close(parameter.grad, expected[name].grad, rtol=1e-3, atol=1e-5)


def test_adapters_and_checkpointing_keep_the_layers_of_transformers() -> None:
    for settings in (
        Model(train="lora"),
        Model(checkpointing=True),
        Model(train="last", last_layers=1),
    ):
        backbone = build_backbone(config(), WEIGHTS, range(255), settings, CPU, packed=True)
        assert not backbone.joined


def test_rounded_rows_have_at_most_255_values_and_gradients_pass() -> None:
    rows = torch.randn(5, 300, generator=torch.Generator().manual_seed(1), requires_grad=True)
    found = rounded(rows)
    steps = rows.detach().abs().amax(-1, keepdim=True) / 127
    whole = found.detach() / steps
    torch.testing.assert_close(whole, whole.round(), atol=1e-3, rtol=0)
    assert ((found - rows).detach().abs() <= steps / 2 + 1e-6).all()
    found.sum().backward()  # type: ignore[no-untyped-call]
    assert rows.grad is not None
    assert (rows.grad == 1).all()


def test_eight_bits_change_logits_a_little_and_need_plain_layers() -> None:
    joined, _ = pair(Model())
    exact = logits(joined)
    joined.eight_bit = True
    off = (logits(joined) - exact).abs().max()
    assert 0 < off < 0.05 * exact.abs().max()
    settings = Model(checkpointing=True, eight_bit=True)
    with pytest.raises(InvalidInputError, match=r"model\.eight_bit: is for whole, plain"):
        build_backbone(config(), WEIGHTS, range(255), settings, CPU, packed=True)
