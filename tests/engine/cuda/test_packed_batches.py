"""Packed models against their own full pass, the counters, and what happens outside the grid."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine import trees
from tests.engine.cuda.plain_ops import PlainOps
from tests.engine.trees import LABELS, assert_same, path_by_path, question
from thisthat.engine import bidirectional
from thisthat.engine.cuda import ops
from thisthat.engine.cuda import packed_batch as layout
from thisthat.engine.cuda.batch_sizes import Grid
from thisthat.engine.cuda.capture import NoRecorder, Work
from thisthat.engine.cuda.host_buffers import HOST_BUFFERS
from thisthat.engine.cuda.model import (
    MOST_PREFIX_SLOTS,
    TOKENS_PER_STATE,
    PackedModel,
    why_not,
)
from thisthat.engine.cuda.open import (
    left_out,
    open_float8_runner,
    open_runner,
    why_not_float8,
)
from thisthat.engine.cuda.ops import DeviceTables
from thisthat.engine.cuda.products import Float8, Own
from thisthat.engine.cuda.runner import PackedRunner
from thisthat.engine.rows import Row
from thisthat.engine.torch.engine import TorchEngine
from thisthat.engine.torch.label_head import LabelHead
from thisthat.engine.torch.looped_layers import loop_layers
from thisthat.environment import GRAPHS
from thisthat.errors import DeviceMemoryError, InvalidInputError

PACKED = ["llama", "qwen3", "hybrid2", "hybrid4"]
NOT_PACKED = ["gpt2", "gemma2", "mistral", "gpt_neo", "mamba", "granite", "bloom"]


class TooSmall(NoRecorder):
    """A device on which work of more than a few recordings does not fit."""

    def __init__(self, refused: int) -> None:
        self._refused = refused

    def record(self, work: Work) -> Work:
        self._refused -= 1
        if self._refused >= 0:
            raise torch.OutOfMemoryError
        return super().record(work)


def plainly(
    sizes: tuple[int, ...] = (16, 64),
    recorder: NoRecorder | None = None,
    form: type[Own | Float8] = Own,
) -> Callable[[Any, LabelHead, int], PackedRunner]:
    def packed(model: Any, head: LabelHead, prefix_bytes: int) -> PackedRunner:
        ops = PlainOps()
        laid = PackedModel(model, head, ops, prefix_bytes, form(ops))
        return PackedRunner(
            laid,
            device=model.device,
            labels=head.labels,
            grid=Grid(sizes),
            recorder=recorder or NoRecorder(),
            prefix_slots=laid.prefix_slots,
            float8=laid.float8,
        )

    return packed


@cache
def model(name: str) -> Any:
    return trees.random_model(name)


@cache
def engine(name: str) -> TorchEngine:
    return TorchEngine(model(name), LABELS, open_packed=plainly())


@pytest.mark.parametrize("name", PACKED)
@settings(deadline=None, max_examples=12)
@given(rows=st.lists(trees.rows, max_size=4))
def test_any_trees_agree_with_the_full_pass(name: str, rows: list[Row]) -> None:
    found = engine(name).run(rows)
    for row, result in zip(rows, found, strict=True):
        assert_same(result, path_by_path(model(name), row))


@pytest.mark.parametrize("name", ["llama", "qwen3"])
@settings(deadline=None, max_examples=15)
@given(rows=st.lists(trees.open_rows(), max_size=4), block=st.integers(1, 14))
def test_open_trunks_agree_with_the_full_pass_under_the_same_rule(
    name: str, rows: list[Row], block: int
) -> None:
    served = engine(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bidirectional, "OPEN_BLOCK", block)
        layout._tables_of.cache_clear()
        found = served.run(rows)
        layout._tables_of.cache_clear()
        for row, result in zip(rows, found, strict=True):
            assert_same(result, path_by_path(model(name), row))


def test_a_long_open_trunk_agrees_outside_the_grid() -> None:
    long = trees.random_model("llama", max_position_embeddings=4096)
    row = trees.long_open_row()
    served = TorchEngine(long, LABELS, open_packed=plainly())
    assert_same(served.run([row])[0], path_by_path(long, row))


def test_a_packed_hybrid_refuses_open_trunks() -> None:
    with pytest.raises(InvalidInputError, match=r"rows\[0\]: opens 2 tokens"):
        engine("hybrid2").run([Row((), (1, 2), (question((3,)),), opened=2)])


def test_layers_that_run_twice_do_so_in_a_packed_batch() -> None:
    looped = trees.random_model("llama")
    loop_layers(looped, 0, 0, 3)
    row = Row((1, 2), (3, 4), (question((5, 6)), question((7,))))
    found = TorchEngine(looped, LABELS, open_packed=plainly()).run([row])[0]
    assert_same(found, path_by_path(looped, row))


def test_the_model_itself_still_answers_after_its_weights_were_fused() -> None:
    fresh, fused = trees.random_model("hybrid4"), trees.random_model("hybrid4")
    TorchEngine(fused, LABELS, open_packed=plainly())
    ids = torch.tensor([[1, 2, 3, 4]])
    with torch.no_grad():
        assert torch.equal(fresh(ids).logits, fused(ids).logits)


def test_every_capture_is_made_at_the_start_and_rows_outside_are_counted() -> None:
    served = TorchEngine(model("llama"), LABELS, open_packed=plainly((16, 32)))
    small, large = Row((), (1, 2), (question((3,)),)), Row((), (1,) * 40, (question((3,)),))
    for _ in range(2):
        for row, result in zip([small, large], served.run([small, large]), strict=True):
            assert_same(result, path_by_path(model("llama"), row))
    counts = served.statistics
    assert counts.captures_at_start == 2
    assert counts.captures_after_start == 0
    assert counts.eager_rows_outside_grid == 2


def test_a_grid_that_does_not_fit_shrinks_and_says_so() -> None:
    served = TorchEngine(model("llama"), LABELS, open_packed=plainly((16, 32, 64), TooSmall(2)))
    assert served.statistics.captures_at_start == 1
    assert "1 graphs of 16 to 16 tokens; 32, 64 tokens did not fit" in served.description
    row = Row((), (1,) * 30, (question((3,)),))
    assert_same(served.run([row])[0], path_by_path(model("llama"), row))


def test_a_grid_of_which_nothing_fits_leaves_everything_outside() -> None:
    served = TorchEngine(model("llama"), LABELS, open_packed=plainly((16,), TooSmall(1)))
    row = Row((), (1, 2), (question((3,)),))
    assert_same(served.run([row])[0], path_by_path(model("llama"), row))
    assert "no graphs; 16 tokens did not fit" in served.description


def test_a_row_too_large_for_the_device_fails_alone() -> None:
    def packed(model: Any, head: LabelHead, prefix_bytes: int) -> PackedRunner:
        inner = PackedModel(model, head, PlainOps())

        def forward(tables: DeviceTables) -> torch.Tensor:
            if tables.ids.shape[0] > 64:
                raise torch.OutOfMemoryError
            return inner(tables)

        return PackedRunner(
            forward,
            device=model.device,
            labels=head.labels,
            grid=Grid((16,)),
            recorder=NoRecorder(),
        )

    served = TorchEngine(model("llama"), LABELS, open_packed=packed)
    small, large = Row((), (1, 2), (question((3,)),)), Row((), (1,) * 80, (question((3,)),))
    with pytest.raises(DeviceMemoryError, match="81 tokens and 1 branches"):
        served.run([small, large])
    assert_same(served.run([small])[0], path_by_path(model("llama"), small))


def test_what_stands_beside_a_row_does_not_change_it() -> None:
    served = engine("hybrid4")
    row = Row((), tuple(range(12)), (question((5, 6)), question((7,))))
    alone = served.run([row])[0].logits
    others = [Row((), (n,) * (n + 3), (question((9,)),)) for n in range(3)]
    among = served.run([*others, row])[3].logits
    np.testing.assert_allclose(np.stack(alone), np.stack(among), atol=1e-5)


MOST_STATES = MOST_PREFIX_SLOTS // TOKENS_PER_STATE
ONE_PLACE = 2 * 2 * 16 * 4
"""Bytes of a prefix slot of the tiny llama: keys and values of two layers in float32."""


def after(prefix: tuple[int, ...], seed: int) -> Row:
    trunk = tuple((seed + at) % 50 for at in range(6))
    return Row(prefix, trunk, (question((5, seed)), question((7,))), opened=4)


def test_a_prefix_is_read_once_and_kept() -> None:
    served = TorchEngine(model("llama"), LABELS, open_packed=plainly())
    prefix = tuple(range(10, 22))
    rows = [after(prefix, seed) for seed in range(3)]
    first = served.run(rows)
    assert [result.cached_tokens for result in first] == [0, 12, 12]
    computed = served.statistics.computed_tokens
    again = served.run([rows[1]])[0]
    assert again.cached_tokens == 12
    assert served.statistics.computed_tokens - computed == rows[1].fresh_tokens
    assert served.statistics.reused_tokens == 36
    for row, result in zip(rows, first, strict=True):
        assert_same(result, path_by_path(model("llama"), row))
    np.testing.assert_allclose(np.stack(again.logits), np.stack(first[1].logits), atol=1e-5)


@pytest.mark.parametrize("places", [0, 5, 13, 30])
def test_more_prefixes_than_there_are_slots_for_are_read_wave_by_wave(places: int) -> None:
    served = TorchEngine(
        model("llama"), LABELS, open_packed=plainly(), prefix_cache_bytes=places * ONE_PLACE
    )
    prefixes = [tuple(range(start, start + 3 + start % 9)) for start in range(8)]
    rows = [after(prefixes[n % 8], n) for n in range(20)]
    for _ in range(2):
        for row, result in zip(rows, served.run(rows), strict=True):
            assert_same(result, path_by_path(model("llama"), row))
    counts = served.statistics.prefixes
    assert counts.most_bytes == places * ONE_PLACE
    assert counts.bytes <= counts.most_bytes
    assert (counts.entries > 0) == (places > 0)


def test_a_prefix_that_could_not_be_read_is_not_taken_for_kept() -> None:
    broken = False

    def packed(model: Any, head: LabelHead, prefix_bytes: int) -> PackedRunner:
        inner = PackedModel(model, head, PlainOps(), prefix_bytes)

        def forward(tables: DeviceTables) -> torch.Tensor:
            if broken:
                raise RuntimeError("the device is gone")
            return inner(tables)

        return PackedRunner(
            forward,
            device=model.device,
            labels=head.labels,
            grid=Grid((64,)),
            recorder=NoRecorder(),
            prefix_slots=inner.prefix_slots,
        )

    served = TorchEngine(model("llama"), LABELS, open_packed=packed)
    row = after(tuple(range(10, 22)), 1)
    broken = True
    with pytest.raises(RuntimeError, match="gone"):
        served.run([row])
    broken = False
    assert_same(served.run([row])[0], path_by_path(model("llama"), row))


def test_counting_starts_when_the_engine_is_open() -> None:
    counts = TorchEngine(model("llama"), LABELS, open_packed=plainly()).statistics
    assert counts.passes == counts.computed_tokens == counts.padding_tokens == 0
    assert counts.prefixes.entries == counts.prefixes.misses == 0


def test_answers_may_be_taken_late_and_in_any_order() -> None:
    served = TorchEngine(model("llama"), LABELS, open_packed=plainly((64,)))
    rows = [after(tuple(range(n % 5, 20)), n) for n in range(2 * HOST_BUFFERS + 3)]
    begun = [served.begin([row]) for row in rows]
    for row, results in reversed(list(zip(rows, begun, strict=True))):
        assert_same(results()[0], path_by_path(model("llama"), row))


def test_threads_may_share_packed_batches() -> None:
    served = TorchEngine(model("llama"), LABELS, open_packed=plainly((64,)))
    rows = [after(tuple(range(n % 7, 20)), n) for n in range(40)]
    wanted = [path_by_path(model("llama"), row) for row in rows]
    with ThreadPoolExecutor(8) as pool:
        for found, expected in zip(
            pool.map(lambda row: served.run([row]), rows), wanted, strict=True
        ):
            assert_same(found[0], expected)


def test_a_prefix_outside_the_grid_is_kept_too() -> None:
    served = TorchEngine(model("llama"), LABELS, open_packed=plainly((16,)))
    row = after(tuple(range(40)), 3)
    for cached in (0, 40):
        found = served.run([row])[0]
        assert found.cached_tokens == cached
        assert_same(found, path_by_path(model("llama"), row))
    assert served.statistics.eager_rows_outside_grid == 1


def test_a_prefix_too_long_for_the_slots_is_counted_as_refused() -> None:
    served = TorchEngine(
        model("llama"), LABELS, open_packed=plainly(), prefix_cache_bytes=ONE_PLACE * 5
    )
    row = after(tuple(range(9)), 1)
    assert_same(served.run([row])[0], path_by_path(model("llama"), row))
    assert served.statistics.prefixes.refused == 1


@pytest.mark.parametrize("name", ["hybrid2", "hybrid4"])
@pytest.mark.parametrize("length", [1, 2, 3, 12, 70])
def test_a_recurrent_model_keeps_the_state_after_a_prefix(name: str, length: int) -> None:
    served = TorchEngine(model(name), LABELS, open_packed=plainly())
    prefix = tuple((7 * at + 3) % 50 for at in range(length))
    rows = [replace(after(prefix, seed), opened=0) for seed in range(3)]
    bare = Row(prefix, (), (question((5, 6)), question((7,))))
    for cached in (0, length):
        found = served.run([*rows, bare])
        assert [result.cached_tokens for result in found] == [cached, *[length] * 3]
        for row, result in zip([*rows, bare], found, strict=True):
            assert_same(result, path_by_path(model(name), row))
    assert served.statistics.computed_tokens == length + 2 * sum(
        row.fresh_tokens for row in [*rows, bare]
    )


@pytest.mark.parametrize("states", [0, 1, 3])
def test_more_prefixes_than_there_are_states_for_are_read_wave_by_wave(states: int) -> None:
    full = TorchEngine(model("hybrid4"), LABELS, open_packed=plainly()).statistics.prefixes
    kept = states * full.most_bytes // MOST_STATES
    served = TorchEngine(model("hybrid4"), LABELS, open_packed=plainly(), prefix_cache_bytes=kept)
    prefixes = [tuple(range(start, start + 3 + start % 9)) for start in range(5)]
    rows = [replace(after(prefixes[n % 5], n), opened=0) for n in range(9)]
    for _ in range(2):
        for row, result in zip(rows, served.run(rows), strict=True):
            assert_same(result, path_by_path(model("hybrid4"), row))
    counts = served.statistics.prefixes
    assert counts.most_bytes == kept
    assert counts.entries == states
    assert counts.bytes <= counts.most_bytes


@pytest.mark.parametrize("name", NOT_PACKED)
def test_other_models_say_why_they_stay_off(name: str) -> None:
    assert why_not(model(name), fused=False)


@pytest.mark.parametrize("name", PACKED)
def test_small_heads_are_not_for_the_fused_kernels(name: str) -> None:
    assert why_not(model(name), fused=False) is None
    assert "8 columns" in str(why_not(model(name), fused=True))


def test_without_a_gpu_the_engine_says_that_there_are_no_graphs() -> None:
    head = LabelHead(model("llama"), LABELS)
    assert open_runner(model("llama"), head) == "no graphs off CUDA"


@pytest.mark.parametrize(
    ("chosen", "capability", "reason"),
    [
        (None, (9, 0), None),
        (None, (8, 0), "proven on devices of capability 9.0, this one has 8.0"),
        ("1", (8, 0), None),
        ("0", (9, 0), "THISTHAT_GRAPHS=0"),
    ],
)
def test_graphs_are_for_devices_they_were_proven_on_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch,
    chosen: str | None,
    capability: tuple[int, int],
    reason: str | None,
) -> None:
    monkeypatch.delenv(GRAPHS, raising=False)
    if chosen is not None:
        monkeypatch.setenv(GRAPHS, chosen)
    found = left_out(capability)
    assert found == reason if reason is None else found is not None and reason in found


TREE = Row((1, 2), (3, 4, 9), (question((5, 6)), question((7,))))


@pytest.mark.parametrize("name", ["llama", "qwen3", "hybrid2"])
def test_float8_is_near_the_model(name: str) -> None:
    wanted = np.stack(path_by_path(model(name), TREE))
    served = TorchEngine(model(name), LABELS, open_packed=plainly(form=Float8))
    assert "products in float8" in served.description
    difference = np.abs(np.stack(served.run([TREE])[0].logits) - wanted).max()
    assert 0 < difference < 0.5 * np.abs(wanted).max()


@pytest.mark.parametrize("name", PACKED)
def test_float8_differs_from_the_model_by_its_rounding_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops, "FLOAT8", torch.float32)
    unrounded = TorchEngine(model(name), LABELS, open_packed=plainly(form=Float8))
    assert_same(unrounded.run([TREE])[0], path_by_path(model(name), TREE))


def test_float8_keeps_prefixes_and_opens_trunks() -> None:
    served = TorchEngine(model("llama"), LABELS, open_packed=plainly(form=Float8))
    row = replace(TREE, opened=3)
    first, again = served.run([row])[0], served.run([row])[0]
    assert (first.cached_tokens, again.cached_tokens) == (0, 2)
    np.testing.assert_array_equal(np.stack(first.logits), np.stack(again.logits))


@settings(deadline=None)
@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=40))
def test_float8_rounds_by_a_sixteenth_of_a_number_at_most(values: list[float]) -> None:
    row = torch.tensor([values])
    rounded = PlainOps().rounded(row)
    back = rounded.values.float() * rounded.scales[:, None]
    # Below 2^-6 the steps are even: half of 2^-9.
    even = rounded.scales[:, None] * 2**-10
    assert bool(((back - row).abs() <= torch.maximum(row.abs() / 16, even) * 1.0001).all())


def test_float8_off_cuda_is_refused_and_says_why() -> None:
    own = model("llama")
    with pytest.raises(InvalidInputError, match=r"dtype: float8 is .* no graphs off CUDA"):
        open_float8_runner(own, LabelHead(own, LABELS))


def test_float8_names_a_matrix_that_does_not_fit() -> None:
    odd = trees.random_model("llama", intermediate_size=40)
    assert why_not_float8(odd) == (
        "layers.0.mlp.gate_proj is 40 x 32, and float8 takes multiples of 16"
    )
    assert why_not_float8(trees.random_model("llama", intermediate_size=48)) is None
