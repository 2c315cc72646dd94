"""Kernels of our own answer as the whole model does, however rows are cut and threads are many."""

from __future__ import annotations

import concurrent.futures.thread
import gc
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.native.models import (
    Looped,
    engine_of,
    kept_library,
    variants_to_try,
    whole_model,
)
from tests.engine.trees import (
    VOCABULARY,
    assert_same,
    assert_same_features,
    open_rows,
    path_by_path,
    question,
)
from tests.engine.trees import rows as random_rows
from thisthat.checkpoint.card import CARD_FILE, read_card
from thisthat.checkpoint.opening import DEFAULT, SHIPPED
from thisthat.engine import bidirectional
from thisthat.engine.native import engine as native_engine
from thisthat.engine.native import runtime
from thisthat.engine.native.compiler import variants_here
from thisthat.engine.native.engine import NativeEngine
from thisthat.engine.native.library import Variant
from thisthat.engine.protocol import Engine
from thisthat.engine.rows import Branch, Row, RowResult, Slot
from thisthat.engine.torch.looped_layers import loop_layers
from thisthat.errors import CheckpointError, InvalidInputError

TASKS = Path("/proc/self/task")


# Of those that are emulated, the ones that attend in their own way.
TRIED = [one for one in variants_to_try() if one in variants_here() or one != "vnni"]


NEAR: dict[Variant, float] = {
    "plain": 0.02,
    "vnni": 0.05,
    "avxvnni": 0.05,
    "avx512": 0.05,
    "avx2": 0.05,
    "neon": 0.2,
    "amx": 0.4,
}
"""How far logits of about ten may be: two terms of eight bits leave a thousandth, keys kept as
halves, which have eleven bits, a hundredth, attention in halves a few, and in bfloat16, which has
eight, some more."""


def near(variant: Variant) -> float:
    return NEAR[variant]


NEAR_HERE = near(variants_here()[0])


@pytest.fixture(scope="module", params=["llama", "qwen2"])
def model(request: pytest.FixtureRequest) -> Any:
    return whole_model(kind=request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("native")


@pytest.fixture(scope="module", params=TRIED)
def variant(request: pytest.FixtureRequest) -> Variant:
    kept_library(request.param)
    found: Variant = request.param
    return found


@pytest.fixture(scope="module")
def engine(model: Any, folder: Path, variant: Variant) -> NativeEngine:
    return engine_of(model, folder, variant, threads=2)


def long_row(tokens: int, opened: int = 0, seed: int = 5) -> Row:
    random = np.random.default_rng(seed)
    prefix, trunk = (tuple(random.integers(0, VOCABULARY, n).tolist()) for n in (19, tokens))
    return Row(prefix, trunk, (question((8, 9), 12), question((7,) * 20, 12)), opened=opened)


@settings(deadline=None, max_examples=40)
@given(rows=st.lists(random_rows, min_size=1, max_size=4))
def test_every_path_is_answered_as_if_read_alone(
    rows: list[Row], engine: NativeEngine, model: Any, variant: Variant
) -> None:
    for row, found in zip(rows, engine.run(rows), strict=True):
        assert_same(found, path_by_path(model, row), near(variant))


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(open_rows(), min_size=1, max_size=3),
    pass_tokens=st.integers(1, 30),
    block=st.integers(1, 14),
    kept=st.sampled_from([0, 1 << 20]),
    threads=st.integers(1, 3),
)
def test_rows_are_read_in_parts_and_open_trunks_block_by_block(
    rows: list[Row],
    pass_tokens: int,
    block: int,
    kept: int,
    threads: int,
    model: Any,
    folder: Path,
) -> None:
    engine = engine_of(
        model, folder, pass_tokens=pass_tokens, prefix_cache_bytes=kept, threads=threads
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bidirectional, "OPEN_BLOCK", block)
        for _ in range(2):
            for row, found in zip(rows, engine.run(rows), strict=True):
                assert_same(found, path_by_path(model, row), NEAR_HERE)
                assert_same_features(found, model, row, NEAR_HERE)
    engine.close()


@pytest.mark.parametrize(
    ("heads", "shared", "width", "kind"),
    [
        (3, 1, 64, "llama"),
        (2, 2, 64, "llama"),
        (12, 1, 64, "llama"),
        (5, 5, 64, "llama"),
        (4, 2, 64, "llama"),
        (4, 1, 64, "llama"),
        (2, 1, 192, "llama"),
        (4, 2, 64, "qwen2"),
        (12, 2, 128, "qwen2"),
    ],
)
def test_heads_may_share_keys_in_any_number_and_have_any_width(
    heads: int, shared: int, width: int, kind: str, folder: Path, variant: Variant
) -> None:
    model = whole_model(heads, shared, kind, max_position_embeddings=1024, head_dim=width)
    engine = engine_of(model, folder / f"{heads}-{shared}-{width}-{kind}", variant, threads=2)
    for row in (long_row(3), long_row(11), long_row(70, 70), long_row(401), long_row(700, 350)):
        assert_same(engine.run([row])[0], path_by_path(model, row), near(variant))
    engine.close()


def test_a_state_as_long_as_the_default_checkpoint_reads(folder: Path) -> None:
    limits = read_card(SHIPPED[DEFAULT] / CARD_FILE).limits
    model = whole_model(1, 1, max_position_embeddings=limits.row_tokens)
    engine = engine_of(model, folder / "long")
    row = long_row(limits.state_tokens, limits.state_tokens)
    row = replace(row, branches=row.branches[-1:])
    assert_same(engine.run([row])[0], path_by_path(model, row), NEAR_HERE)
    engine.close()


@pytest.mark.parametrize("terms", [1, 2])
def test_asking_for_features_changes_no_answer_and_neighbours_change_no_feature(
    folder: Path, variant: Variant, terms: int
) -> None:
    model = whole_model(max_position_embeddings=2048, num_hidden_layers=4)
    rows = [
        replace(long_row(tokens, opened), state=(1, tokens), layers=layers)
        for tokens, opened, layers in [(9, 0, (1, 3)), (200, 200, (2,)), (420, 300, (1, 2, 3))]
    ]
    for threads in (1, 2):
        engine = engine_of(model, folder / "deep", variant, threads=threads, terms=terms)
        together = engine.run([*rows, long_row(30)])
        for row, found in zip(rows, together, strict=False):
            alone, bare = engine.run([row])[0], engine.run([replace(row, layers=())])[0]
            assert bare.features is None
            assert all(map(np.array_equal, bare.logits, found.logits))
            assert np.array_equal(alone.features, found.features)
            if terms == 2:
                assert_same_features(found, model, row, near(variant))
        assert together[-1].features is None
        engine.close()


@pytest.mark.parametrize("terms", [1, 2])
def test_an_answer_depends_on_neither_threads_nor_neighbours(
    folder: Path, variant: Variant, terms: int
) -> None:
    model = whole_model(max_position_embeddings=1024, intermediate_size=384)
    folder = folder / "several-spans"
    row = long_row(200, 150)
    other_question = question((3, 1, 4), 12)
    behind = replace(row, branches=(*row.branches, other_question))
    before = replace(row, branches=(other_question, *row.branches))
    others = [replace(row, trunk=row.trunk[:n], opened=0) for n in (0, 7, 33, 150)]
    bare = [replace(each, prefix=()) for each in (*others, row)]
    found = []
    for threads in (1, 2, 3, 5):
        engine = engine_of(model, folder, variant, threads=threads, terms=terms)
        found += [engine.run([row])[0].logits, engine.run([behind])[0].logits[:2]]
        found += [engine.run([before])[0].logits[1:], engine.run([*others, row])[-1].logits]
        found += [engine.run([row, *others])[0].logits]
        alone = [engine.run([each])[0].logits for each in bare]
        for one, two in zip(alone, engine.run(bare), strict=True):
            assert all(map(np.array_equal, one, two.logits)), "with nothing kept before them"
        engine.close()
    for other in found[1:]:
        assert all(np.array_equal(one, two) for one, two in zip(found[0], other, strict=True))


@pytest.mark.parametrize("part_seconds", [0.0, 1e-4])
@pytest.mark.parametrize("threads", [1, 3])
def test_others_run_between_the_parts_of_a_pass_and_no_bit_changes(
    folder: Path, variant: Variant, threads: int, part_seconds: float
) -> None:
    model = whole_model(max_position_embeddings=1024, intermediate_size=384)
    engine = engine_of(model, folder / "several-spans", variant, threads=threads, terms=1)
    long = replace(long_row(500, 400), layers=(1,), state=(0, 400))
    middle, short = long_row(260, 200, seed=6), long_row(30, 30, seed=7)
    alone = [engine.run([row])[0] for row in (long, middle, short)]
    shorts: list[RowResult] = []
    middles: list[RowResult] = []

    def let_short_in() -> None:
        shorts.extend(engine.run([short]))

    def let_middle_in() -> None:
        if len(middles) < 4:
            middles.extend(engine.run_in_passes([middle], let_short_in))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "_PART_SECONDS", part_seconds)
        (found,) = engine.run_in_passes([long], let_middle_in)
    assert len(middles) == 4
    assert len(shorts) > 2 * len(middles), "not only before a pass"
    for expected, results in zip(alone, ([found], middles, shorts), strict=True):
        for result in results:
            assert all(map(np.array_equal, result.logits, expected.logits))
    assert np.array_equal(found.features, alone[0].features)  # type: ignore[arg-type]
    engine.close()


@pytest.mark.skipif(not TASKS.exists(), reason="this system does not list threads")
def test_an_engine_that_nobody_holds_ends_its_threads(model: Any, folder: Path) -> None:
    others = threads_here()
    engine = engine_of(model, folder, threads=3)
    engine.run([long_row(40)])
    started = threads_here() - others
    del engine
    gc.collect()
    assert_ended(3, started)


def threads_here() -> set[str]:
    return {task.name for task in TASKS.iterdir()}


def assert_ended(count: int, started: set[str]) -> None:
    """That as many of the threads ended; others of this process start and end as they like."""
    assert len(started) >= count
    until = time.monotonic() + 60
    while len(started - threads_here()) < count and time.monotonic() < until:
        time.sleep(0.01)
    assert len(started - threads_here()) >= count


def test_an_engine_may_be_collected_where_no_job_can_be_submitted(model: Any, folder: Path) -> None:
    held = [engine_of(model, folder)]
    worker = held[0]._worker

    def drop() -> None:
        # As when memory is collected while a thread pool takes a job.
        with worker._shutdown_lock, concurrent.futures.thread._global_shutdown_lock:
            held.clear()
            gc.collect()

    dropping = threading.Thread(target=drop, daemon=True)
    dropping.start()
    dropping.join(10)
    assert not dropping.is_alive()
    until = time.monotonic() + 10
    while not worker._shutdown and time.monotonic() < until:
        time.sleep(0.01)
    assert worker._shutdown


def test_one_term_is_near_and_two_are_nearer(model: Any, folder: Path, variant: Variant) -> None:
    errors = []
    for terms in (1, 2):
        engine = engine_of(model, folder, variant, terms=terms)
        row = long_row(40)
        wanted = path_by_path(model, row)
        found = engine.run([row])[0].logits
        errors.append(max(np.abs(one - two).max() for one, two in zip(found, wanted, strict=True)))
        assert engine.rounds == (terms == 1 and variant != "plain")
        engine.close()
    assert errors[1] < near(variant)
    assert errors[0] < 0.8
    # Attention in bfloat16 rounds about as much off as a single term.
    if variant not in ("amx", "plain"):
        assert errors[0] > errors[1]


def test_many_slots_in_one_branch_and_many_branches(
    engine: NativeEngine, model: Any, variant: Variant
) -> None:
    many = tuple(Slot(place, 5) for place in range(0, 60, 2))
    row = Row((1, 2), (3,) * 5, (Branch(tuple(range(60)), many), *[question((9,), 3)] * 40))
    assert_same(engine.run([row])[0], path_by_path(model, row), near(variant))


def test_a_token_may_hold_several_slots(engine: NativeEngine, model: Any, variant: Variant) -> None:
    branch = Branch((4, 5, 6), (Slot(1, 5), Slot(1, 12), Slot(2, 3)))
    row = Row((1, 2), (3,) * 5, (branch, branch))
    assert_same(engine.run([row])[0], path_by_path(model, row), near(variant))


def test_looped_layers_have_their_own_keys_and_values(folder: Path) -> None:
    looped = whole_model()
    engine = engine_of(looped, folder / "loop", loop=Looped(1, 1, 3))
    loop_layers(looped, 1, 1, 3)
    row = Row((5, 6, 7), (1, 2, 3, 4), (question((8, 9)), question((9, 10, 11))))
    for _ in range(2):
        assert_same(engine.run([row])[0], path_by_path(looped, row), NEAR_HERE)


def test_a_token_without_any_embedding_is_no_trouble(folder: Path, variant: Variant) -> None:
    model = whole_model()
    model.model.embed_tokens.weight.data[7] = 0
    engine = engine_of(model, folder / "zero", variant)
    row = Row((), (7, 7, 7), (question((7,), 12),))
    assert_same(engine.run([row])[0], path_by_path(model, row), 1e-6)


@pytest.mark.parametrize(
    ("name", "times"), [("v_proj", 1e6), ("k_proj", 1e6), ("q_proj", 1e6), ("q_proj", 1e4)]
)
def test_numbers_that_are_too_large_are_told(
    name: str, times: float, folder: Path, variant: Variant
) -> None:
    model = whole_model()
    for layer in model.model.layers:
        getattr(layer.self_attn, name).weight.data *= times
    engine = engine_of(model, folder / f"large-{name}-{times:g}", variant)
    row = long_row(3)
    # Keys and values are kept as halves, or bfloats, which reach as far as other numbers.
    if variant == "neon" or (variant != "amx" and name != "q_proj"):
        told = f"do not fit the {variant} kernels; engine='onnx'"
        with pytest.raises(CheckpointError, match=told):
            engine.run([row])
    else:
        assert all(np.isfinite(logits).all() for logits in engine.run([row])[0].logits)
    engine.close()


def test_prefixes_are_read_once_and_cost_nothing_again(model: Any, folder: Path) -> None:
    engine = engine_of(model, folder)
    prefix = tuple(range(20, 40))
    rows = [Row(prefix, (state, 7), (question((9, 9)),)) for state in range(6)]
    results = engine.run(rows)
    assert engine.statistics.computed_tokens == len(prefix) + sum(row.fresh_tokens for row in rows)
    assert [result.cached_tokens for result in results] == [0, *[len(prefix)] * 5]
    # Keys and values of one shared head, 64 wide, in sixteen bits, for 32 places a layer.
    assert engine.statistics.prefixes.bytes == 2 * 2 * 64 * 32 * len(model.model.layers)


@pytest.mark.skipif(not TASKS.exists(), reason="this system does not list threads")
def test_closing_stops_the_threads(model: Any, folder: Path) -> None:
    for _ in range(3):
        others = threads_here()
        engine = engine_of(model, folder, threads=9)
        engine.run([Row((), (1,), (question((2,)),))])
        started = threads_here() - others
        engine.close()
        assert_ended(9, started)


def test_rows_and_settings_outside_the_limits_are_refused(
    engine: NativeEngine, model: Any, folder: Path
) -> None:
    with pytest.raises(InvalidInputError, match=r"rows\[0\]: has a token id outside 0 to 63"):
        engine.run([Row((), (VOCABULARY,), (question((1,)),))])
    with pytest.raises(InvalidInputError, match="threads: 0"):
        engine_of(model, folder, threads=0)
    with pytest.raises(InvalidInputError, match="pass_tokens: 0"):
        engine_of(model, folder, pass_tokens=0)


def test_it_is_an_engine_and_says_what_it_is(engine: NativeEngine, variant: Variant) -> None:
    checked: Engine = engine
    assert checked.longest == 256
    assert checked.description == f"native kernels ({variant}), cpu, 2 threads, int8"


def test_a_checkpoint_that_cannot_run_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    class Card:
        name = "small"

    class Small:
        config = whole_model(intermediate_size=96).config.to_dict()
        card = Card()

    reason = "intermediate_size is 96, no multiple of 64"
    assert native_engine.why_not_native(Small()) == reason  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match=f"small cannot run on native kernels: {reason}"):
        NativeEngine.from_checkpoint(Small(), ())  # type: ignore[arg-type]
    Small.config = {"model_type": "gpt2"}
    assert native_engine.why_not_native(Small()) == "it is no plain llama-type model"  # type: ignore[arg-type]
