from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from thisthat.engine.onnx.graph_writer import CONTRIB, GraphWriter
from thisthat.engine.onnx.int8_probe import (
    SMALL_ACTIVATIONS,
    SMALL_WEIGHTS,
    WHOLE,
    ProbeLimits,
    multiplies_exactly,
)
from thisthat.engine.onnx.linear_forms import GraphRows, Int8Linear, settle

INPUTS, OUTPUTS = 24, 10
EXACT_HERE = [SMALL_WEIGHTS, SMALL_ACTIVATIONS, *([WHOLE] if multiplies_exactly() else [])]


def session_of(
    weight: np.ndarray, limits: ProbeLimits, folder: Path, one_term: bool = False
) -> Any:
    with (folder / "weights.bin").open("wb") as data:
        graph = GraphWriter(data, "weights.bin")
        places = graph.node("Gather", "rows", graph.constant(np.int64(0)), axis=1)
        form = Int8Linear(limits, one_term)
        product = settle(graph, form.linear(graph, GraphRows("rows", places), weight))
        graph.nodes("Identity", [product], ["product"])
        model = graph.model(
            [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["T", INPUTS])],
            [helper.make_tensor_value_info("product", TensorProto.FLOAT, ["T", OUTPUTS])],
        )
    path = folder / "graph.onnx"
    path.write_bytes(model)
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def on_the_grid(limit: int) -> np.ndarray:
    """Weights that eight bits hold exactly: whole numbers up to ``limit``, times a power of two."""
    random = np.random.default_rng(4)
    whole = random.integers(-limit, limit + 1, (OUTPUTS, INPUTS))
    whole[:, 0] = limit
    return (whole * 2.0 ** random.integers(-8, 3, (OUTPUTS, 1))).astype(np.float32)


@pytest.fixture(scope="module", params=EXACT_HERE)
def exact(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    limits: ProbeLimits = request.param
    weight = on_the_grid(limits.weight)
    return weight, limits, session_of(weight, limits, tmp_path_factory.mktemp("linear"))


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 9),
    outlier=st.floats(1, 300),
)
def test_two_terms_keep_all_but_half_a_fine_step_of_an_activation(
    seed: int, count: int, outlier: float, exact: Any
) -> None:
    weight, limits, session = exact
    rows = np.random.default_rng(seed).normal(size=(count, INPUTS)).astype(np.float32)
    rows[0, 3] *= outlier
    (found,) = session.run(None, {"rows": rows})
    # Half a fine step per input, and a little for float32 sums.
    step = np.abs(rows).max(axis=1, keepdims=True) / limits.activation / (2 * limits.activation)
    bound = 0.51 * step * np.abs(weight).sum(axis=1) + 1e-5 * (np.abs(rows) @ np.abs(weight).T)
    assert (np.abs(found - rows @ weight.T) <= bound).all()


@pytest.mark.parametrize("limits", EXACT_HERE)
def test_one_term_rounds_to_steps_of_a_tokens_size(limits: ProbeLimits, tmp_path: Path) -> None:
    weight = on_the_grid(limits.weight)
    session = session_of(weight, limits, tmp_path, one_term=True)
    rows = np.random.default_rng(5).normal(size=(9, INPUTS)).astype(np.float32)
    (found,) = session.run(None, {"rows": rows})
    step = np.abs(rows).max(axis=1, keepdims=True) / limits.activation
    rounded = np.rint(rows / step) * step
    np.testing.assert_allclose(found, rounded @ weight.T, rtol=1e-4, atol=1e-4)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), before=st.integers(0, 5), after=st.integers(0, 5))
def test_a_token_does_not_feel_the_others(seed: int, before: int, after: int, exact: Any) -> None:
    _, _, session = exact
    random = np.random.default_rng(seed)
    rows = random.normal(size=(before + 1 + after, INPUTS)).astype(np.float32)
    rows *= random.lognormal(0, 3, (len(rows), 1)).astype(np.float32)
    (together,) = session.run(None, {"rows": rows})
    (alone,) = session.run(None, {"rows": rows[before : before + 1]})
    assert np.array_equal(together[before], alone[0])


def test_a_token_of_zeros_gives_zeros(exact: Any) -> None:
    _, _, session = exact
    (found,) = session.run(None, {"rows": np.zeros((2, INPUTS), np.float32)})
    assert np.array_equal(found, np.zeros((2, OUTPUTS)))


@pytest.mark.parametrize("limits", EXACT_HERE)
def test_weights_are_rounded_to_their_limit(limits: ProbeLimits, tmp_path: Path) -> None:
    limit = limits.weight
    weight = np.random.default_rng(0).normal(size=(OUTPUTS, INPUTS)).astype(np.float32)
    session = session_of(weight, limits, tmp_path)
    (columns,) = session.run(None, {"rows": np.eye(INPUTS, dtype=np.float32)})
    whole = columns.T / (np.abs(weight).max(axis=1, keepdims=True) / limit)
    np.testing.assert_allclose(whole, np.rint(whole), atol=1e-3)
    assert np.abs(whole).max() == pytest.approx(limit)
    assert np.abs(columns.T - weight).max() <= 0.51 * np.abs(weight).max() / limit


def test_bytes_are_made_by_operators_that_the_oldest_runtime_has(tmp_path: Path) -> None:
    """onnxruntime 1.23 has none of opset 23; it is the last one for Python 3.10."""
    session_of(on_the_grid(127), WHOLE, tmp_path)
    nodes = onnx.load(str(tmp_path / "graph.onnx"), load_external_data=False).graph.node
    made = [node.domain for node in nodes if node.op_type.endswith("uantizeLinear")]
    assert len(made) == 3, "two terms, and what the first left"
    assert set(made) == {CONTRIB}
