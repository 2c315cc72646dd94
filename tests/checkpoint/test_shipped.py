"""The checkpoints inside the package, without their bases: card, delta and base belong together."""

from __future__ import annotations

import numpy as np
import pytest

from thisthat.checkpoint.card import CARD_FILE, WheelBase, read_card
from thisthat.checkpoint.delta import Delta
from thisthat.checkpoint.opening import SHIPPED
from thisthat.checkpoint.store import hash_file


def test_both_are_known_by_name() -> None:
    assert set(SHIPPED) == {"default", "large"}


@pytest.mark.parametrize("name", ["default", "large"])
def test_the_delta_is_the_one_of_the_card_and_made_for_its_base(name: str) -> None:
    card = read_card(SHIPPED[name] / CARD_FILE)
    assert card.delta is not None
    file = SHIPPED[name] / card.delta.file
    assert hash_file(file) == card.delta.sha256
    assert isinstance(card.base, WheelBase)
    Delta(file).check_base(card.base.sha256)


def test_the_large_delta_is_products_of_rank_32_on_every_linear_layer() -> None:
    delta = Delta(SHIPPED["large"] / "delta.safetensors")
    products = [name for name, entry in delta.entries.items() if entry.storage == "product"]
    assert len(products) == 28 * 7
    assert all(".layers." in name and name.endswith("_proj.weight") for name in products)
    others = {entry.storage for name, entry in delta.entries.items() if name not in products}
    assert others == {"zero"}
    moved = delta.tensor("model.layers.0.self_attn.k_proj.weight")
    assert moved is not None
    assert moved.shape == (256, 1536)
    sizes = np.linalg.svd(moved, compute_uv=False)
    assert sizes[32] < 1e-4 * sizes[31]
