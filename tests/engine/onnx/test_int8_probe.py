from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thisthat.engine.onnx import int8_probe
from thisthat.engine.onnx.int8_probe import SMALL_ACTIVATIONS, SMALL_WEIGHTS, WHOLE, ProbeLimits


class PairsInSixteenBits:
    """Multiplies as a processor without dot-product instructions does."""

    def run(self, _: None, feeds: Mapping[str, Any]) -> list[Any]:
        left, right = (feeds[name].astype(np.int32) for name in ("left", "right"))
        products = left[:, :, None] * right[None]
        pairs = products[:, 0::2] + products[:, 1::2]
        return [np.clip(pairs, -(2**15), 2**15 - 1).sum(axis=1)]


class Exact:
    """Multiplies as a processor with dot-product instructions does."""

    def run(self, _: None, feeds: Mapping[str, Any]) -> list[Any]:
        left, right = (feeds[name].astype(np.int32) for name in ("left", "right"))
        return [left @ right]


def test_products_that_are_cut_off_are_noticed() -> None:
    assert int8_probe.is_exact(Exact())
    assert not int8_probe.is_exact(PairsInSixteenBits())


@pytest.mark.parametrize(
    ("exact", "one_term", "limits"),
    [
        (True, True, WHOLE),
        (True, False, WHOLE),
        (False, True, SMALL_WEIGHTS),
        (False, False, SMALL_ACTIVATIONS),
    ],
)
def test_where_products_are_cut_off_one_factor_is_small(
    exact: bool, one_term: bool, limits: ProbeLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(int8_probe, "multiplies_exactly", lambda: exact)
    assert int8_probe.safe_limits(one_term) == limits


@pytest.mark.parametrize("limits", [SMALL_WEIGHTS, SMALL_ACTIVATIONS])
def test_with_a_small_factor_the_largest_products_are_not_cut_off(limits: ProbeLimits) -> None:
    largest = np.full((1, 2), limits.zero + limits.activation, np.uint8)
    for sign in (1, -1):
        weights = np.full((2, 1), sign * limits.weight, np.int8)
        feeds = {"left": largest, "right": weights}
        assert np.array_equal(PairsInSixteenBits().run(None, feeds), Exact().run(None, feeds))


@given(
    limits=st.sampled_from([SMALL_WEIGHTS, SMALL_ACTIVATIONS]),
    depth=st.integers(1, 20),
    seed=st.integers(0, 2**32 - 1),
)
def test_with_a_small_factor_no_product_is_cut_off(
    limits: ProbeLimits, depth: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    steps = random.integers(-limits.activation, limits.activation + 1, (3, 2 * depth))
    weights = random.integers(-limits.weight, limits.weight + 1, (2 * depth, 4))
    feeds = {"left": (limits.zero + steps).astype(np.uint8), "right": weights.astype(np.int8)}
    assert np.array_equal(PairsInSixteenBits().run(None, feeds), Exact().run(None, feeds))


def test_what_this_processor_is_given_is_exact_here() -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(int8_probe.PROBE, providers=["CPUExecutionProvider"])
    for one_term in (True, False):
        limits = int8_probe.safe_limits(one_term)
        left = np.full((3, 64), limits.zero + limits.activation, np.uint8)
        for sign in (1, -1):
            right = np.full((64, 16), sign * limits.weight, np.int8)
            feeds = {"left": left, "right": right}
            assert np.array_equal(session.run(None, feeds), Exact().run(None, feeds))


def test_the_stored_graph_is_one_product() -> None:
    model = onnx.load_model_from_string(int8_probe.PROBE)
    onnx.checker.check_model(model)
    assert [node.op_type for node in model.graph.node] == ["MatMulInteger"]
