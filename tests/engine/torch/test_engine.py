from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine import trees
from tests.engine.trees import (
    LABELS,
    VOCABULARY,
    assert_same,
    assert_same_features,
    path_by_path,
    question,
)
from thisthat.checkpoint import open_checkpoint
from thisthat.engine import bidirectional
from thisthat.engine.rows import Branch, Row
from thisthat.engine.torch import row_reader
from thisthat.engine.torch.engine import TorchEngine
from thisthat.engine.torch.looped_layers import loop_layers
from thisthat.errors import CheckpointError, DeviceMemoryError, InvalidInputError
from thisthat.prompt.labels import label_ids


@cache
def model(name: str) -> Any:
    return trees.random_model(name)


@cache
def engine(name: str, prefix_cache_bytes: int = 1 << 20, token_budget: int = 64) -> TorchEngine:
    return TorchEngine(
        model(name), LABELS, prefix_cache_bytes=prefix_cache_bytes, token_budget=token_budget
    )


def fresh_engine(name: str, **settings: int) -> TorchEngine:
    return TorchEngine(model(name), LABELS, **settings)


@pytest.mark.parametrize(
    "name", ["llama", "qwen2", "qwen3", "gpt2", "gpt_neo", "gemma2", "mistral", "granite", "bloom"]
)
@settings(deadline=None, max_examples=15)
@given(rows=st.lists(trees.rows, max_size=5))
def test_any_tree_agrees_with_the_whole_model_path_by_path(name: str, rows: list[Row]) -> None:
    wanted = [path_by_path(model(name), row) for row in rows]
    for bytes_kept in (1 << 20, 3_000, 0):
        for row_result, answers in zip(engine(name, bytes_kept).run(rows), wanted, strict=True):
            assert_same(row_result, answers)


@pytest.mark.parametrize("name", ["llama", "qwen3", "gpt2", "granite"])
@settings(deadline=None, max_examples=15)
@given(
    rows=st.lists(trees.open_rows(), max_size=5),
    block=st.integers(1, 14),
    largest_mask=st.sampled_from([1, 100, 1 << 26]),
)
def test_open_trunks_agree_with_the_whole_model_under_the_same_rule(
    name: str, rows: list[Row], block: int, largest_mask: int
) -> None:
    # Opened before the rule changes: an engine tries at its start whether tokens see later ones.
    engines = [engine(name, bytes_kept) for bytes_kept in (1 << 20, 0)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bidirectional, "OPEN_BLOCK", block)
        patch.setattr(row_reader, "LARGEST_MASK", largest_mask)
        wanted = [path_by_path(model(name), row) for row in rows]
        for served in engines:
            found = served.run(rows)
            for row, row_result, answers in zip(rows, found, wanted, strict=True):
                assert_same(row_result, answers)
                assert_same_features(row_result, model(name), row)


@pytest.mark.parametrize("largest_mask", [1 << 20, 1 << 26])
def test_a_long_open_trunk_agrees_in_one_pass_and_block_by_block(
    largest_mask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = trees.random_model("llama", max_position_embeddings=4096)
    row = trees.long_open_row()
    monkeypatch.setattr(row_reader, "LARGEST_MASK", largest_mask)
    served = TorchEngine(long, LABELS)
    assert_same(served.run([row])[0], path_by_path(long, row))
    # The prefix; then all at once, or three blocks, what is not open, and the branches.
    assert served.statistics.passes == (2 if largest_mask > 1 << 25 else 6)
    assert served.statistics.computed_tokens == row.tokens


@pytest.mark.parametrize("name", ["hybrid2", "gemma2", "mistral", "gpt_neo", "bloom"])
def test_models_that_cannot_open_a_trunk_say_so(name: str) -> None:
    served = engine(name)
    closed = Row((), (1, 2), (question((3,)),))
    assert not served.capabilities.bidirectional
    with pytest.raises(InvalidInputError, match=r"rows\[1\]: opens 2 tokens, but .* cannot let"):
        served.run([closed, replace(closed, opened=2)])
    assert engine("llama").capabilities.bidirectional


@settings(deadline=None, max_examples=25)
@given(row=trees.open_rows(), order=st.randoms(use_true_random=False))
def test_branches_do_not_see_each_other(row: Row, order: Any) -> None:
    row = replace(row, branches=tuple(branch for branch in row.branches if branch.slots))
    alone = [engine("llama").run([replace(row, branches=(b,))])[0].logits for b in row.branches]
    places = list(range(len(row.branches)))
    order.shuffle(places)
    shuffled = replace(row, branches=tuple(row.branches[place] for place in places))
    wanted = [logits for place in places for logits in alone[place]]
    assert_same(engine("llama").run([shuffled])[0], wanted)


def test_a_changed_token_in_the_trunk_changes_every_answer() -> None:
    branches = (question((1, 2)), question((3, 4, 5)))
    one, other = engine("llama").run([Row((), (7, 8, 9), branches), Row((), (7, 20, 9), branches)])
    for here, there in zip(one.logits, other.logits, strict=True):
        assert np.abs(here - there).max() > 1e-3


def test_the_prefix_is_computed_once_for_all_states() -> None:
    prefix, slots = tuple(range(10)), (question((60, 61)), question((62, 63)))
    states = [tuple(range(20, 20 + length)) for length in (5, 9, 2, 7)]
    rows = [Row(prefix, state, slots) for state in states]
    served = fresh_engine("llama")
    first, second = served.run(rows), served.run(rows)
    fresh = sum(len(state) + 4 for state in states)
    assert served.statistics.computed_tokens == len(prefix) + 2 * fresh
    assert sorted(result.cached_tokens for result in first) == [0, 10, 10, 10]
    assert [result.cached_tokens for result in second] == [10] * 4
    assert served.statistics.reused_tokens == 70
    assert served.statistics.prefixes.entries == 1
    for one, other in zip(first, second, strict=True):
        assert_same(one, other.logits)


def test_without_a_cache_every_row_reads_its_prefix() -> None:
    served = fresh_engine("llama", prefix_cache_bytes=0)
    rows = [Row((1, 2, 3), (4, 5), (question((6,)),))] * 3
    assert [result.cached_tokens for result in served.run(rows)] == [0, 0, 0]
    assert served.statistics.computed_tokens == 3 * 6


def test_the_cache_stays_within_its_bytes() -> None:
    served = fresh_engine("llama", prefix_cache_bytes=12_000)
    for name in range(6):
        served.run([Row((name,) * 20, (4, 5), (question((6,)),))])
    kept = served.statistics.prefixes
    assert 0 < kept.bytes <= 12_000
    assert kept.evictions == 6 - kept.entries > 0


def test_different_prefixes_share_a_pass() -> None:
    served = fresh_engine("llama")
    rows = [Row((n,) * (n + 1), (7, 8), (question((n, n)),)) for n in range(4)]
    served.run(rows)
    passes = served.statistics.passes
    for row, result in zip(rows, served.run(rows), strict=True):
        assert_same(result, path_by_path(model("llama"), row))
    assert served.statistics.passes == passes + 1


def test_a_long_trunk_is_read_before_its_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row((1, 2), tuple(range(30)), (question((5, 6)), question((7,))))
    wanted = engine("llama").run([row])[0]
    monkeypatch.setattr(row_reader, "LARGEST_MASK", 100)
    served = fresh_engine("llama")
    assert_same(served.run([row])[0], wanted.logits)
    assert served.statistics.passes == 3
    assert served.statistics.computed_tokens == row.tokens


def test_threads_may_share_an_engine() -> None:
    rows = [Row((n % 3, 9), (n, 8), (question((n, 2)),)) for n in range(12)]
    wanted = engine("llama").run(rows)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda row: engine("llama").run([row])[0], rows))
    for one, other in zip(found, wanted, strict=True):
        assert_same(one, other.logits)


def test_no_rows_and_rows_without_slots_cost_nothing() -> None:
    served = fresh_engine("llama")
    assert served.run([]) == []
    result = served.run([Row((1,), (2,), (Branch((3,), ()),))])[0]
    assert (result.logits, result.cached_tokens) == ((), 0)
    assert served.statistics.computed_tokens == 0


@pytest.mark.parametrize(
    "row",
    [
        Row((), (VOCABULARY,), (question((1,)),)),
        Row((1,) * 200, (1,) * 56, (question((1,)),)),
        Row((), (), (question((1,), options=len(LABELS) + 1),)),
    ],
)
def test_rows_the_model_cannot_read_are_refused(row: Row) -> None:
    with pytest.raises(InvalidInputError, match=r"rows\[1\]"):
        engine("llama").run([Row((), (1,), (question((1,)),)), row])


def test_a_model_with_unknown_logit_arithmetic_is_refused() -> None:
    odd = trees.random_model("llama")
    plain = odd.forward

    def doubled(*arguments: Any, **settings: Any) -> Any:
        output = plain(*arguments, **settings)
        output.logits = output.logits * 2
        return output

    odd.forward = doubled
    with pytest.raises(CheckpointError, match="LlamaForCausalLM answers differently"):
        TorchEngine(odd, LABELS)


def test_a_model_whose_state_cannot_be_kept_is_refused() -> None:
    with pytest.raises(CheckpointError, match="MambaForCausalLM does not keep its state"):
        TorchEngine(trees.random_model("mamba"), LABELS)


def test_a_row_too_large_for_memory_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    served = fresh_engine("llama")
    reader = served._reader
    forward = reader._forward

    def small_memory(rectangle: Any, *rest: Any) -> Any:
        if rectangle.ids.size > 20:
            raise torch.OutOfMemoryError("full")
        return forward(rectangle, *rest)

    monkeypatch.setattr(reader, "_forward", small_memory)
    rows = [Row((), (n,) * 8, (question((1, 2)),)) for n in range(8)]
    for row, result in zip(rows, served.run(rows), strict=True):
        assert_same(result, path_by_path(model("llama"), row))
    with pytest.raises(DeviceMemoryError, match="32 tokens and 1 branches"):
        served.run([Row((), (1,) * 30, (question((1, 2)),))])


def as_checkpoint(source: Any, loop: Any = None) -> Any:
    """An opened checkpoint of a model: what the engine needs of one."""
    weights = {name: tensor.numpy() for name, tensor in source.state_dict().items()}
    return SimpleNamespace(
        config=source.config.to_dict(),
        weights=lambda: dict(weights),
        loop=loop,
    )


def test_a_checkpoint_opens_and_answers_like_its_model() -> None:
    row = Row((1, 2), (3, 4), (question((5, 6)), question((7,))))
    for name in ("llama", "qwen3", "hybrid2"):
        served = TorchEngine.from_checkpoint(as_checkpoint(model(name)), LABELS, device="cpu")
        assert_same(served.run([row])[0], path_by_path(model(name), row))
        assert "cpu, float32" in served.description
        assert served.longest == 256


def test_broken_checkpoints_are_refused_by_name() -> None:
    lacking = as_checkpoint(model("llama"))
    kept = lacking.weights()
    del kept["model.norm.weight"]
    lacking.weights = lambda: kept
    with pytest.raises(CheckpointError, match=r"missing tensors: model\.norm\.weight"):
        TorchEngine.from_checkpoint(lacking, LABELS, device="cpu")
    misshapen = as_checkpoint(model("llama"))
    wrong = misshapen.weights() | {"model.norm.weight": np.ones(31, np.float32)}
    misshapen.weights = lambda: wrong
    with pytest.raises(
        CheckpointError, match=r"model\.norm\.weight is \[31\] and should be \[32\]"
    ):
        TorchEngine.from_checkpoint(misshapen, LABELS, device="cpu")
    unknown = as_checkpoint(model("llama"))
    unknown.config["model_type"] = "no_such_model"
    with pytest.raises(CheckpointError, match="no_such_model"):
        TorchEngine.from_checkpoint(unknown, LABELS, device="cpu")
    with pytest.raises(InvalidInputError, match="dtype"):
        TorchEngine.from_checkpoint(as_checkpoint(model("llama")), LABELS, dtype="float8")


def test_a_checkpoints_loop_is_applied() -> None:
    loop = SimpleNamespace(first=0, last=0, times=2)
    looped = trees.random_model("llama")
    loop_layers(looped, loop.first, loop.last, loop.times)
    row = Row((1, 2), (3, 4), (question((5, 6)),))
    served = TorchEngine.from_checkpoint(as_checkpoint(model("llama"), loop), LABELS, device="cpu")
    assert_same(served.run([row])[0], path_by_path(looped, row))


def test_half_precision_stays_close() -> None:
    half = TorchEngine(trees.random_model("llama").to(torch.bfloat16), LABELS)
    row = Row((1, 2), (3, 4), (question((5, 6)), question((7,))))
    wanted = path_by_path(model("llama"), row)
    assert_same(half.run([row])[0], wanted, tolerance=0.1 * float(np.abs(wanted).max()))


@pytest.mark.weights
def test_the_default_checkpoint_answers_like_its_whole_model() -> None:
    checkpoint = open_checkpoint("default")
    labels = label_ids(checkpoint.encode)
    served = TorchEngine.from_checkpoint(checkpoint, labels, device="cpu")
    asked = [
        tuple(checkpoint.encode(f"\n\nQuestion: {text}\nOptions:\n(A) no\n(B) yes\nAnswer: ("))
        for text in ("Is this refund within policy?", "Is the customer angry?")
    ]
    state = tuple(checkpoint.encode("Context:\nBought ten days ago; refunds are open for thirty."))
    row = Row((), state, tuple(question(text, options=2) for text in asked))
    for text, found in zip(asked, served.run([row])[0].logits, strict=True):
        with torch.no_grad():
            logits = served._model(torch.tensor([state + text])).logits[0, -1]
        np.testing.assert_allclose(found, logits[list(labels[:2])].numpy(), atol=1e-3, rtol=0)
