from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoConfig, AutoModelForCausalLM

from tests.engine.trees import (
    LABELS,
    MODELS,
    VOCABULARY,
    assert_same,
    assert_same_features,
    long_open_row,
    open_rows,
    path_by_path,
    question,
    random_model,
)
from tests.engine.trees import rows as random_rows
from thisthat.engine import bidirectional
from thisthat.engine.llama_shape import read_shape
from thisthat.engine.onnx.engine import OnnxEngine
from thisthat.engine.onnx.llama_form import Form, FormSource, open_llama_form
from thisthat.engine.protocol import Engine
from thisthat.engine.rows import Branch, Row, Slot
from thisthat.engine.torch.looped_layers import loop_layers
from thisthat.errors import InvalidInputError


@dataclass(frozen=True)
class Span:
    first: int
    last: int
    times: int


def engine_of(
    model: Any,
    folder: Path,
    form: Form = "float32",
    loop: Span | None = None,
    **settings_: Any,
) -> OnnxEngine:
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    shape = read_shape(model.config.to_dict(), loop)
    source = FormSource(
        identity="test",
        shape=shape,
        label_ids=LABELS,
        weights=lambda: weights,
    )
    graph = open_llama_form(source, form, folder)
    return OnnxEngine(graph, shape, len(LABELS), form=form, threads=1, **settings_)


@pytest.fixture(scope="module", params=["llama", "qwen2"])
def model(request: pytest.FixtureRequest) -> Any:
    return random_model(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forms")


@pytest.fixture(scope="module")
def engine(model: Any, folder: Path) -> OnnxEngine:
    return engine_of(model, folder)


@settings(deadline=None, max_examples=40)
@given(rows=st.lists(random_rows, min_size=1, max_size=5))
def test_every_path_is_answered_as_if_read_alone(
    rows: list[Row], engine: OnnxEngine, model: Any
) -> None:
    for row, found in zip(rows, engine.run(rows), strict=True):
        assert_same(found, path_by_path(model, row))


@settings(deadline=None, max_examples=40)
@given(rows=st.lists(random_rows, min_size=1, max_size=4), pass_tokens=st.integers(1, 9))
def test_rows_longer_than_a_pass_are_read_in_parts(
    rows: list[Row], pass_tokens: int, model: Any, folder: Path
) -> None:
    engine = engine_of(model, folder, pass_tokens=pass_tokens)
    for row, found in zip(rows, engine.run(rows), strict=True):
        assert_same(found, path_by_path(model, row))


def test_others_are_answered_between_the_passes_of_a_row(model: Any, folder: Path) -> None:
    engine = engine_of(model, folder, pass_tokens=4)
    long = Row((), tuple(range(1, 23)), (Branch((3,), (Slot(0, 4),)),))
    short = Row((1, 2), (5,), (Branch((3,), (Slot(0, 4),)),))
    between: list[Any] = []
    (found,) = engine.run_in_passes([long], lambda: between.append(engine.run([short])[0]))
    assert len(between) == 6
    assert_same(found, path_by_path(model, long))
    for each in between:
        assert_same(each, path_by_path(model, short))

    def leave() -> None:
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError, match="gone"):
        engine.run_in_passes([long], leave)
    assert_same(engine.run([long])[0], path_by_path(model, long))


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(open_rows(), min_size=1, max_size=4),
    pass_tokens=st.integers(1, 30),
    block=st.integers(1, 14),
    kept=st.sampled_from([0, 1 << 20]),
)
def test_open_trunks_are_read_whole_block_by_block(
    rows: list[Row], pass_tokens: int, block: int, kept: int, model: Any, folder: Path
) -> None:
    engine = engine_of(model, folder, pass_tokens=pass_tokens, prefix_cache_bytes=kept)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bidirectional, "OPEN_BLOCK", block)
        for _ in range(2):
            for row, found in zip(rows, engine.run(rows), strict=True):
                assert_same(found, path_by_path(model, row))
                assert_same_features(found, model, row)


def test_a_long_open_trunk_takes_a_pass_per_block_and_then_is_closed(folder: Path) -> None:
    model = random_model("llama", max_position_embeddings=4096)
    row = long_open_row()
    wanted = path_by_path(model, row)
    for kept in (1 << 30, 0):
        engine = engine_of(model, folder / "long", prefix_cache_bytes=kept)
        assert_same(engine.run([row])[0], wanted)
        # The prefix, three blocks, the ten closed tokens, a branch of 7 and one of 300 in halves.
        assert engine.statistics.passes == 1 + 3 + 1 + 1 + 2
        assert engine.statistics.computed_tokens == row.tokens
    closed = path_by_path(model, replace(row, opened=0))
    assert max(np.abs(one - two).max() for one, two in zip(wanted, closed, strict=True)) > 0.01


def test_a_short_open_row_is_one_pass(model: Any, folder: Path) -> None:
    engine = engine_of(model, folder)
    row = Row((), tuple(range(40)), (question((8, 9)), question((7,))), opened=40)
    assert_same(engine.run([row])[0], path_by_path(model, row))
    assert engine.statistics.passes == 1


@settings(deadline=None, max_examples=25)
@given(rows=st.lists(random_rows, min_size=1, max_size=4))
def test_kept_prefixes_change_nothing(rows: list[Row], model: Any, folder: Path) -> None:
    keeping = engine_of(model, folder)
    never = engine_of(model, folder, prefix_cache_bytes=0)
    keeping.run(rows)
    plain = never.run(rows)
    for row, warm, cold in zip(rows, keeping.run(rows), plain, strict=True):
        assert warm.cached_tokens == (len(row.prefix) if row.slots else 0)
        assert cold.cached_tokens == 0
        assert_same(warm, cold.logits)


@settings(deadline=None, max_examples=40)
@given(row=open_rows(), other=random_rows, data=st.data())
def test_a_question_apart_does_not_feel_the_others(
    row: Row, other: Row, data: st.DataObject, engine: OnnxEngine
) -> None:
    branches = data.draw(st.permutations([*row.branches, *other.branches]))
    mixed = engine.run([replace(row, branches=tuple(branches))])[0]
    place = 0
    for branch in branches:
        alone = engine.run([replace(row, branches=(branch,))])[0]
        here = mixed.logits[place : place + len(branch.slots)]
        place += len(branch.slots)
        for one, two in zip(here, alone.logits, strict=True):
            np.testing.assert_allclose(one, two, atol=1e-4, rtol=0)


@settings(deadline=None, max_examples=25)
@given(row=open_rows(), other=random_rows)
def test_in_int8_an_answer_stays_when_questions_are_added(
    row: Row, other: Row, model: Any, folder: Path
) -> None:
    engine = engine_of(model, folder, "int8")
    (alone,) = engine.run([row])
    (more,) = engine.run([replace(row, branches=row.branches + other.branches)])
    for one, two in zip(alone.logits, more.logits, strict=False):
        np.testing.assert_allclose(one, two, atol=1e-3, rtol=0)


def test_prefill_is_counted_as_prefix_once_and_each_state_once(model: Any, folder: Path) -> None:
    engine = engine_of(model, folder)
    prefix = tuple(range(20, 40))
    rows = [Row(prefix, (state, state + 1, 7), (question((9, 9)),)) for state in range(6)]
    results = engine.run(rows)
    assert engine.statistics.computed_tokens == len(prefix) + sum(row.fresh_tokens for row in rows)
    assert [result.cached_tokens for result in results] == [0, *[len(prefix)] * 5]
    engine.run(rows)
    assert engine.statistics.reused_tokens == 11 * len(prefix)
    assert engine.statistics.padding_tokens == 0


def test_an_answer_does_not_depend_on_the_rows_beside_it(model: Any, folder: Path) -> None:
    engine = engine_of(model, folder, pass_tokens=20)
    rows = [Row((), (1, 2, 3), (question((4, n)),)) for n in range(1, 9)]
    together = engine.run(rows)
    assert engine.statistics.passes == 8
    for row, beside in zip(rows, together, strict=True):
        (alone,) = engine.run([row])
        assert np.array_equal(alone.logits[0], beside.logits[0])


def test_a_prefix_too_large_to_keep_is_still_read_once_for_its_rows(
    model: Any, folder: Path
) -> None:
    engine = engine_of(model, folder, prefix_cache_bytes=1)
    rows = [Row((1, 2, 3, 4), (state,), (question((9,)),)) for state in range(3)]
    results = engine.run(rows)
    assert engine.statistics.computed_tokens == 4 + 3 * 2
    assert [result.cached_tokens for result in results] == [0, 4, 4]
    assert engine.statistics.prefixes.refused == 1


@pytest.mark.parametrize("times", [1, 3])
def test_looped_layers_have_their_own_keys_and_values(times: int, folder: Path) -> None:
    looped = random_model("llama")
    engine = engine_of(looped, folder, loop=Span(1, 1, times))
    loop_layers(looped, 1, 1, times)
    row = Row((5, 6, 7), (1, 2, 3, 4), (question((8, 9)), question((9, 10, 11))))
    assert_same(engine.run([row])[0], path_by_path(looped, row))
    assert_same(engine.run([row])[0], path_by_path(looped, row))


def test_untied_and_tied_label_rows(folder: Path) -> None:
    kind, sizes = MODELS["llama"]
    for tied in (True, False):
        torch.manual_seed(3)
        config = AutoConfig.for_model(kind, **sizes, tie_word_embeddings=tied)
        model = AutoModelForCausalLM.from_config(config).eval()
        engine = engine_of(model, folder / str(tied))
        row = Row((), (1, 2), (question((3, 4)),))
        assert_same(engine.run([row])[0], path_by_path(model, row))


@pytest.mark.parametrize("form", ["int8", "block8"])
def test_eight_bit_forms_stay_close_and_do_not_depend_on_the_pass(
    form: Form, model: Any, folder: Path
) -> None:
    engine = engine_of(model, folder, form)
    random = np.random.default_rng(2)
    rows = [
        Row((), tuple(random.integers(0, VOCABULARY, 20).tolist()), (question((8, 9), 12),))
        for _ in range(10)
    ]
    together = engine.run(rows)
    for row, found in zip(rows, together, strict=True):
        wanted = path_by_path(model, row)[0]
        error = np.abs(found.logits[0] - wanted).max()
        assert 0 < error < 0.05 * np.abs(wanted).max()
        assert_same(engine.run([row])[0], found.logits)


def test_a_token_without_any_embedding_is_no_trouble_for_int8(folder: Path) -> None:
    model = random_model("llama")
    with torch.no_grad():
        model.model.embed_tokens.weight[7] = 0
    engine = engine_of(model, folder / "zero", "int8")
    row = Row((), (7, 7, 7), (question((7,), 12),))
    found = engine.run([row])[0].logits[0]
    np.testing.assert_allclose(found, path_by_path(model, row)[0], atol=1e-6)


def test_rows_without_slots_cost_nothing(engine: OnnxEngine) -> None:
    before = engine.statistics.passes
    idle = Row((1,), (2,), (Branch((3,), ()),))
    (result,) = engine.run([idle])
    assert result.logits == ()
    assert result.cached_tokens == 0
    assert engine.statistics.passes == before
    assert engine.run([]) == []


def test_rows_outside_the_limits_are_refused(engine: OnnxEngine) -> None:
    with pytest.raises(InvalidInputError, match=r"rows\[0\]: has a token id outside 0 to 63"):
        engine.run([Row((), (VOCABULARY,), (question((1,)),))])
    with pytest.raises(InvalidInputError, match="300 tokens, but the model reads 256"):
        engine.run([Row((), (1,) * 299, (question((1,)),))])
    with pytest.raises(InvalidInputError, match="slot at 1, outside"):
        engine.run([Row((), (1,), (Branch((1,), (Slot(1, 2),)),))])
    with pytest.raises(InvalidInputError, match="13 options"):
        engine.run([Row((), (1,), (question((1,), 13),))])


def test_settings_outside_their_limits_are_refused(model: Any, folder: Path) -> None:
    with pytest.raises(InvalidInputError, match="pass_tokens: 0"):
        engine_of(model, folder, pass_tokens=0)


def test_it_is_an_engine_and_says_what_it_is(engine: OnnxEngine) -> None:
    checked: Engine = engine
    assert checked.longest == 256
    assert checked.description.startswith("onnxruntime ")
    assert checked.description.endswith("cpu, 1 thread, float32")
