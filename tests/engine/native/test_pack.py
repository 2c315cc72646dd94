"""Weights in the order that kernels read them."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.native.models import whole_model
from tests.engine.trees import LABELS
from thisthat.engine.llama_shape import read_shape
from thisthat.engine.native.loud_inputs import LOUD
from thisthat.engine.native.pack import (
    common_of_keys,
    inner_size,
    obstacle,
    packed,
    packed_parts,
    span_of,
    span_sums,
    tensor_bytes,
    write_packed,
)
from thisthat.engine.native.plain_step import plain_rope
from thisthat.engine.native.proof import SHAPE
from thisthat.engine.rope import rotary_tables
from thisthat.errors import CheckpointError


@given(panels=st.integers(1, 3), blocks=st.integers(1, 3), seed=st.integers(0, 99))
def test_every_weight_stands_where_its_kernel_looks(panels: int, blocks: int, seed: int) -> None:
    outputs, inputs = 32 * panels, 64 * blocks
    weights = np.random.default_rng(seed).integers(-127, 128, (outputs, inputs)).astype(np.int8)
    ones, fours = packed(weights, "by ones"), packed(weights, "by fours")
    for output in (0, 15, 16, outputs - 1):
        for entry in (0, 3, 4, inputs - 1):
            panel, within = divmod(output, 32)
            assert ones[(panel * inputs + entry) * 32 + within] == weights[output, entry]
            block, lane = divmod(output, 16)
            place = (block * inputs + entry // 4 * 4) * 16 + lane * 4 + entry % 4
            assert fours[place] == weights[output, entry]


@given(
    st.integers(1, 3),
    st.sampled_from(
        [("down", 64, 64), ("gate_up", 320, 64), ("gate_up", 576, 288), ("down", 1536, 96)]
    ),
)
def test_weights_are_summed_span_by_span(panels: int, sizes: tuple[str, int, int]) -> None:
    name, inputs, span = sizes
    assert span_of(name, inputs) == span
    weights = np.random.default_rng(panels).integers(-127, 128, (32 * panels, inputs))
    found = span_sums(weights.astype(np.int8), span).reshape(panels, inputs // span, 32)
    for output in range(32 * panels):
        for part in range(inputs // span):
            wanted = weights[output, part * span : (part + 1) * span].sum()
            assert found[output // 32, part, output % 32] == wanted


@pytest.mark.parametrize(
    ("changes", "inner", "reason"),
    [
        ({}, 1536, None),
        ({"width": 96}, 1536, "hidden_size is 96, no multiple of 64"),
        ({}, 1500, "intermediate_size is 1500, no multiple of 64"),
        ({"head_width": 32, "heads": 18}, 1536, "head_dim is 32, no multiple of 64"),
        ({"heads": 64, "shared_heads": 2}, 1536, "64 heads of 64 on 2 shared ones"),
        ({"heads": 9, "shared_heads": 2}, 1536, "9 heads of 64 on 2 shared ones"),
        ({"head_width": 576, "heads": 1, "shared_heads": 1}, 1536, "1 heads of 576 on 1"),
    ],
)
def test_sizes_that_the_kernels_do_not_take_are_named(
    changes: dict[str, Any], inner: int, reason: str | None
) -> None:
    found = obstacle(replace(SHAPE, **changes), inner)
    assert found == reason if reason is None else found is not None and found.startswith(reason)


def test_the_index_says_where_everything_begins() -> None:
    model = whole_model()
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    shape = read_shape(model.config.to_dict())
    file = io.BytesIO()
    index = json.loads(write_packed(weights, shape, LABELS, "by fours", file))
    data = file.getvalue()
    assert all(start % 64 == 0 for start in index.values())
    norm = np.frombuffer(data, np.float32, shape.width, index["norm"])
    assert np.array_equal(norm, weights["model.norm.weight"])
    wanted = weights["model.layers.1.mlp.down_proj.weight"]
    inner = inner_size(model.config.to_dict())
    whole = np.frombuffer(data, np.int8, shape.width * inner, index["1.down"])
    steps = np.frombuffer(data, np.float32, shape.width, index["1.down.steps"])
    unpacked = whole.reshape(-1, inner // 4, 16, 4).transpose(0, 2, 1, 3).reshape(shape.width, -1)
    np.testing.assert_allclose(unpacked * steps[:, None], wanted, rtol=0, atol=1e-6)
    sums = span_sums(unpacked, span_of("down", inner)).reshape(-1)
    assert np.array_equal(np.frombuffer(data, np.int32, sums.size, index["1.down.sums"]), sums)
    sizes = tensor_bytes(shape, inner, len(LABELS))
    starts = sorted(index.items(), key=lambda entry: entry[1])
    ends = [start for _, start in starts[1:]] + [len(data)]
    for (name, start), end in zip(starts, ends, strict=True):
        assert start + sizes[name] <= end < start + sizes[name] + 4096, name


def test_weights_of_loud_inputs_are_there_once_more() -> None:
    whole = np.random.default_rng(0).integers(-127, 128, (32, 128)).astype(np.int8)
    loud = range(5, 5 + 3 * LOUD, 3)
    found = packed_parts(whole, "by fours", 64, loud)
    assert np.array_equal(found[".loud"], loud)
    assert np.array_equal(found[".loud_weights"], packed(whole[:, loud], "by fours"))
    assert np.array_equal(found[".loud_sums"], whole[:, loud].sum(axis=1, dtype=np.int32))
    assert np.array_equal(found[""], packed(whole, "by fours"))
    assert set(packed_parts(whole, "by fours", 64)) == {"", ".sums"}


def test_what_keys_have_in_common_is_most_of_a_bias_that_hardly_turns() -> None:
    shape = replace(SHAPE, rope_base=1e6, heads=2, shared_heads=2, longest=32_768)
    bias = np.random.default_rng(0).standard_normal(2 * shape.head_width).astype(np.float32)
    cosine, sine = (table[:1024] for table in rotary_tables(shape, shape.longest))
    keys = plain_rope(np.tile(bias.reshape(1, 2, -1), (1024, 1, 1)), cosine, sine)
    common = common_of_keys(bias, shape).reshape(2, -1)
    np.testing.assert_allclose(common, keys.mean(axis=0), atol=1e-5)
    left = np.abs(keys - common).max(axis=(0, 1)).reshape(2, -1)
    # The last eighth turns by a three hundredth of a circle or less.
    assert left[:, -4:].max() < 0.02 * np.abs(bias).max()


def test_a_missing_tensor_is_named() -> None:
    model = whole_model()
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    del weights["model.layers.1.self_attn.o_proj.weight"]
    shape = read_shape(model.config.to_dict())
    with pytest.raises(CheckpointError, match=r"layers\.1\.self_attn\.o_proj\.weight is missing"):
        write_packed(weights, shape, LABELS, "by ones", io.BytesIO())
