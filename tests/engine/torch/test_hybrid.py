"""The delta-rule backbone: states forked for branches and kept for schemas, never masked."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoConfig, AutoModelForCausalLM

from tests.engine import trees
from tests.engine.trees import LABELS, assert_same, path_by_path, question
from thisthat.engine.rows import Row
from thisthat.engine.torch.backbone import Backbone
from thisthat.engine.torch.engine import TorchEngine

NAMES = ["hybrid2", "hybrid4"]


@cache
def model(name: str) -> Any:
    return trees.random_model(name)


@cache
def engine(name: str, prefix_cache_bytes: int = 1 << 20) -> TorchEngine:
    return TorchEngine(model(name), LABELS, prefix_cache_bytes=prefix_cache_bytes, token_budget=64)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=12)
@given(rows=st.lists(trees.rows, max_size=4))
def test_any_tree_agrees_with_the_uncached_full_pass(name: str, rows: list[Row]) -> None:
    wanted = [path_by_path(model(name), row) for row in rows]
    for bytes_kept in (1 << 20, 0):
        found = engine(name, bytes_kept).run(rows)
        for result, answers in zip(found, wanted, strict=True):
            assert_same(result, answers)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=10)
@given(row=trees.rows, order=st.randoms(use_true_random=False))
def test_branches_do_not_see_each_other(name: str, row: Row, order: Any) -> None:
    row = replace(row, branches=tuple(branch for branch in row.branches if branch.slots))
    alone = [engine(name).run([replace(row, branches=(b,))])[0].logits for b in row.branches]
    places = list(range(len(row.branches)))
    order.shuffle(places)
    shuffled = replace(row, branches=tuple(row.branches[place] for place in places))
    wanted = [logits for place in places for logits in alone[place]]
    assert_same(engine(name).run([shuffled])[0], wanted)


@pytest.mark.parametrize("name", NAMES)
def test_the_prefix_is_computed_once_and_stays_as_it_was(name: str) -> None:
    served = TorchEngine(model(name), LABELS)
    prefix = tuple(range(10))
    rows = [
        Row(prefix, tuple(range(20, 20 + length)), (question((60, 61)), question((62,))))
        for length in (5, 9, 9)
    ]
    for _ in range(3):
        for row, result in zip(rows, served.run(rows), strict=True):
            assert_same(result, path_by_path(model(name), row))
    assert served.statistics.computed_tokens == 10 + 3 * sum(row.fresh_tokens for row in rows)
    assert served.statistics.prefixes.misses == 1
    assert served.statistics.prefixes.bytes > 0


def test_states_of_different_prefixes_run_in_one_pass() -> None:
    served = TorchEngine(model("hybrid4"), LABELS)
    rows = [Row((n,) * (n + 1), (7, 8), (question((n, n)),)) for n in range(4)]
    served.run(rows)
    passes = served.statistics.passes
    for row, result in zip(rows, served.run(rows), strict=True):
        assert_same(result, path_by_path(model("hybrid4"), row))
    assert served.statistics.passes == passes + 1


def test_a_trunk_is_read_once_for_all_branches() -> None:
    served = TorchEngine(model("hybrid4"), LABELS)
    row = Row((), tuple(range(20)), tuple(question((n, n)) for n in range(5)))
    served.run([row])
    assert served.statistics.passes == 2
    assert served.statistics.computed_tokens == row.tokens


def test_many_branches_after_a_long_trunk_are_not_all_copied_at_once() -> None:
    served = TorchEngine(model("hybrid4"), LABELS, token_budget=64)
    row = Row((), tuple(n % 60 for n in range(160)), tuple(question((n, n)) for n in range(8)))
    assert_same(served.run([row])[0], path_by_path(model("hybrid4"), row))
    assert served.statistics.passes == 1 + 4
    assert served.statistics.computed_tokens == row.tokens


def test_the_published_wrapping_of_a_text_model_opens() -> None:
    text = model("hybrid2")
    weights = {
        name.replace("model.", "model.language_model.", 1): tensor.numpy()
        for name, tensor in text.state_dict().items()
    }
    checkpoint: Any = SimpleNamespace(
        config={"model_type": "qwen3_5", "text_config": text.config.to_dict()},
        weights=lambda: dict(weights),
        loop=None,
    )
    served = TorchEngine.from_checkpoint(checkpoint, LABELS, device="cpu")
    row = Row((1, 2), (3, 4), (question((5, 6)), question((7,))))
    assert_same(served.run([row])[0], path_by_path(text, row))


def test_the_papers_shape_is_known() -> None:
    config = AutoConfig.for_model(
        "qwen3_5_text",
        hidden_size=2048,
        num_hidden_layers=24,
        intermediate_size=6144,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=256,
        linear_num_key_heads=16,
        linear_num_value_heads=16,
        linear_key_head_dim=128,
        linear_value_head_dim=128,
        linear_conv_kernel_dim=4,
        vocab_size=248_320,
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        paper = AutoModelForCausalLM.from_config(config)
    assert round(sum(parameter.numel() for parameter in paper.parameters()) / 1e9, 2) == 1.88
    backbone = Backbone(paper)
    assert not backbone.branches_in_one_pass
    assert backbone.mixes_lengths
