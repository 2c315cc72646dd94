from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from thisthat.engine import int8_probe


class PairsInSixteenBits:
    """Multiplies as a processor without dot-product instructions does."""

    def run(self, _: None, feeds: Mapping[str, Any]) -> list[Any]:
        left, right = (feeds[name].astype(np.int32) for name in ("left", "right"))
        products = left[:, :, None] * right[None]
        pairs = products[:, 0::2] + products[:, 1::2]
        return [np.clip(pairs, -(2**15), 2**15 - 1).sum(axis=1)]


def test_this_processor_gets_an_answer() -> None:
    assert int8_probe.weight_limit() in (int8_probe.FULL_LIMIT, int8_probe.SAFE_LIMIT)


def test_products_that_are_cut_off_ask_for_smaller_weights() -> None:
    assert int8_probe.limit_of(PairsInSixteenBits()) == int8_probe.SAFE_LIMIT


def test_the_smaller_weights_are_never_cut_off() -> None:
    largest = np.full((1, 2), 255, np.uint8)
    for sign in (1, -1):
        weights = np.full((2, 1), sign * int8_probe.SAFE_LIMIT, np.int8)
        (product,) = PairsInSixteenBits().run(None, {"left": largest, "right": weights})
        assert product[0, 0] == 2 * 255 * sign * int8_probe.SAFE_LIMIT


def test_the_stored_graph_is_one_product() -> None:
    model = onnx.load_model_from_string(int8_probe.PROBE)
    onnx.checker.check_model(model)
    assert [node.op_type for node in model.graph.node] == ["MatMulInteger"]
