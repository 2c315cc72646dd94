"""Fused kernels and graphs on a real CUDA device: right numbers, the same bits beside any
neighbour, everything recorded at the start, memory that runs out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from tests.engine.cuda.plain_ops import PlainOps
from tests.engine.trees import open_mask
from thisthat.engine.cuda.batch_sizes import Grid
from thisthat.engine.cuda.capture import GraphRecorder, NoRecorder, Recorder
from thisthat.engine.cuda.open import fused_model, open_runner, runner_of
from thisthat.engine.cuda.runner import PackedRunner
from thisthat.engine.rows import Branch, Logits, Row, Slot
from thisthat.engine.torch.engine import TorchEngine
from thisthat.engine.torch.label_head import LabelHead
from thisthat.environment import GRAPHS
from thisthat.errors import DeviceMemoryError
from thisthat_lab.bench.timing.gpu_variants import LARGE_SHAPE

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.skipif(find_spec("triton") is None, reason="needs triton"),
]

VOCABULARY = 4096
LABELS = tuple(range(1000, 1255))
SIZES = (64, 256, 512, 2048, 8192)
SHARED = {"vocab_size": VOCABULARY, "max_position_embeddings": 1 << 20}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    # The layers of the 1.88 B shape, fewer of them.
    "hybrid": (
        "qwen3_5_text",
        {
            **LARGE_SHAPE,
            **SHARED,
            "num_hidden_layers": 4,
        },
    ),
    # The layers of the 135 M default.
    "llama": (
        "llama",
        {
            **SHARED,
            "hidden_size": 576,
            "num_hidden_layers": 6,
            "intermediate_size": 1536,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "head_dim": 64,
            "tie_word_embeddings": True,
        },
    ),
}
NAMES = list(MODELS)
NEAR = 2e-2 if find_spec("fla") else 2e-3
"""How near a model's own float32 is: flash-linear-attention reads it in ten bits."""


@cache
def model(name: str, dtype: torch.dtype) -> Any:
    torch.manual_seed(5)
    kind, settings = MODELS[name]
    config = AutoConfig.for_model(kind, **settings)
    with torch.device("cuda"):
        made = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    rotation = made.base_model.rotary_emb
    frequencies = rotation.inv_freq.clone()
    made.to(dtype)
    # A loaded model keeps its frequencies in float32, whatever its weights are in.
    rotation.inv_freq = frequencies
    return made


def packed(
    sizes: tuple[int, ...] = SIZES,
    make: Callable[[], Recorder] | None = None,
    *,
    float8: bool = False,
) -> Callable[[Any, LabelHead, int], PackedRunner]:
    def opened(model: Any, head: LabelHead, prefix_bytes: int) -> PackedRunner:
        fused = fused_model(model, head, prefix_bytes, float8=float8)
        assert not isinstance(fused, str), fused
        recorder = make() if make else GraphRecorder(model.device)
        return runner_of(fused, model, head, Grid(sizes), recorder)

    return opened


@cache
def engine(name: str, dtype: torch.dtype = torch.bfloat16) -> TorchEngine:
    return TorchEngine(model(name, dtype), LABELS, open_packed=packed())


@cache
def float8(name: str) -> TorchEngine:
    return TorchEngine(model(name, torch.bfloat16), LABELS, open_packed=packed(float8=True))


def tokens(count: int, seed: int) -> tuple[int, ...]:
    drawn = np.random.default_rng(seed).integers(0, VOCABULARY, count)
    return tuple(int(token) for token in drawn)


def row(trunk: int, branches: tuple[int, ...] = (24,), seed: int = 0) -> Row:
    texts = [tokens(length, seed * 100 + number) for number, length in enumerate(branches, 1)]
    slots = [(Slot(len(text) - 1, len(LABELS)),) for text in texts]
    trees = tuple(Branch(text, slot) for text, slot in zip(texts, slots, strict=True))
    return Row((), tokens(trunk, seed * 100), trees)


ROWS = [
    row(232),
    row(256, (24, 24, 24, 24), 1),
    row(300, (17, 3, 70), 2),
    row(1, (1, 2), 3),
    row(64, (64,), 4),
    row(63, (2, 130), 5),
    row(1000, (5,), 6),
]


OPEN_ROWS = [
    replace(given, prefix=tokens(prefix, 900 + prefix), opened=opened)
    for given, prefix, opened in (
        (row(232), 0, 232),
        (row(256, (24, 24), 1), 40, 256),
        (row(300, (17, 3, 70), 2), 7, 290),
        (row(1500, (30, 20), 3), 100, 1500),
        (row(2300, (5,), 4), 0, 2290),
    )
]


def exactly(name: str, dtype: torch.dtype, given: Row) -> Logits:
    """Each path read alone by the model itself, the unembedding in float32."""
    own = model(name, dtype)
    labels = own.get_output_embeddings().weight[list(LABELS)].float()
    found = []
    with torch.inference_mode():
        for branch in given.branches:
            path = torch.tensor([given.prefix + given.trunk + branch.tokens], device="cuda")
            mask = open_mask(given, path.shape[1]).to("cuda", dtype) if given.opened else None
            output = own.base_model(path, attention_mask=mask, use_cache=False)
            hidden = output.last_hidden_state[0, -1]
            found.append((hidden.float() @ labels.t()).cpu().numpy())
    return np.stack(found)


def answers(served: TorchEngine, rows: list[Row]) -> list[Logits]:
    return [np.stack(result.logits) for result in served.run(rows)]


@contextmanager
def at_most(more_bytes: int) -> Iterator[None]:
    """No more memory than what is held now and so much."""
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + more_bytes) / total)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()


@pytest.mark.parametrize("name", NAMES)
def test_float32_agrees_with_the_model(name: str) -> None:
    for given, found in zip(ROWS, answers(engine(name, torch.float32), ROWS), strict=True):
        wanted = exactly(name, torch.float32, given)
        assert np.abs(found - wanted).max() <= NEAR * np.abs(wanted).max()


def test_open_trunks_agree_with_the_model() -> None:
    served = engine("llama", torch.float32)
    for given, found in zip(OPEN_ROWS, answers(served, OPEN_ROWS), strict=True):
        wanted = exactly("llama", torch.float32, given)
        assert np.abs(found - wanted).max() <= 2e-3 * np.abs(wanted).max()
        closed = answers(served, [replace(given, opened=0)])[0]
        assert np.abs(found - closed).max() > 1e-2 * np.abs(wanted).max()


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_prefix_gives_the_bits_it_gave_when_it_was_read(name: str) -> None:
    served = TorchEngine(model(name, torch.bfloat16), LABELS, open_packed=packed())
    prefix = tokens(181, 77)
    rows = [replace(given, prefix=prefix) for given in ROWS]
    first = served.run(rows)
    assert [result.cached_tokens for result in first] == [0, *[181] * (len(rows) - 1)]
    for given, wanted in zip(rows, first, strict=True):
        again = served.run([row(50, seed=3), given])[1]
        assert again.cached_tokens == 181
        np.testing.assert_array_equal(np.stack(again.logits), np.stack(wanted.logits))
    exact = engine(name, torch.float32)
    for given, found in zip(rows, answers(exact, rows), strict=True):
        wanted = exactly(name, torch.float32, given)
        assert np.abs(found - wanted).max() <= NEAR * np.abs(wanted).max()


def test_open_trunks_give_the_same_bits_whatever_stands_beside() -> None:
    served = engine("llama")
    alone = [answers(served, [given])[0] for given in OPEN_ROWS]
    among = answers(served, [row(100), *OPEN_ROWS, row(200, seed=9)])[1:-1]
    for one, other in zip(alone, among, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", NAMES)
def test_bfloat16_is_as_near_to_float32_as_the_model_itself(name: str) -> None:
    wanted = np.concatenate([exactly(name, torch.float32, given) for given in ROWS])
    theirs = np.concatenate([exactly(name, torch.bfloat16, given) for given in ROWS])
    ours = np.concatenate(answers(engine(name), ROWS))
    assert np.isfinite(ours).all()
    error = float(np.linalg.norm(ours - wanted))
    assert error <= 1.5 * float(np.linalg.norm(theirs - wanted))


@pytest.mark.parametrize("name", NAMES)
def test_float8_is_near(name: str) -> None:
    wanted = np.concatenate([exactly(name, torch.float32, given) for given in ROWS])
    ours = np.concatenate(answers(float8(name), ROWS))
    error = float(np.linalg.norm(ours - wanted) / np.linalg.norm(wanted))
    print(f"{name}: float8 is {error:.3f} away")
    assert error < 0.3


@pytest.mark.parametrize("name", NAMES)
def test_float8_products_are_those_of_the_definition(name: str) -> None:
    from thisthat.engine.cuda.fused_ops import FusedOps

    generator = torch.Generator("cuda").manual_seed(3)
    size = model(name, torch.bfloat16).config.hidden_size
    for tokens_, outputs in ((64, 3 * size), (300, 512), (8192, size)):
        x = torch.randn(tokens_, size, generator=generator, device="cuda", dtype=torch.bfloat16)
        weight = torch.randn(outputs, size, generator=generator, device="cuda").bfloat16()
        ours, plain = FusedOps(), PlainOps()
        left, right = ours.rounded(x), ours.rounded(weight)
        for found, wanted in ((left, plain.rounded(x)), (right, plain.rounded(weight))):
            torch.testing.assert_close(found.scales, wanted.scales)
            same = (found.values.float() == wanted.values.float()).float().mean()
            assert float(same) > 0.999
        found = ours.rounded_product(left, right).float()
        wanted = plain.rounded_product(left, right).float()
        assert float((found - wanted).norm() / wanted.norm()) < 0.01


@pytest.mark.parametrize("others", [1, 31, 127])
@pytest.mark.parametrize("name", NAMES)
def test_float8_gives_the_same_bits_whatever_stands_beside(name: str, others: int) -> None:
    given = row(100, (20, 30), 8)
    alone = answers(float8(name), [given])[0]
    beside = [row(200 + 3 * n % 50, seed=20 + n) for n in range(others)]
    np.testing.assert_array_equal(answers(float8(name), [*beside, given])[-1], alone)


@pytest.mark.parametrize("name", NAMES)
def test_recording_changes_no_bit(name: str) -> None:
    unrecorded = TorchEngine(
        model(name, torch.bfloat16), LABELS, open_packed=packed(make=NoRecorder)
    )
    for _ in range(2):
        for one, other in zip(answers(engine(name), ROWS), answers(unrecorded, ROWS), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("others", [1, 2, 7, 31, 127])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_bits_whatever_stands_beside(name: str, others: int) -> None:
    served = engine(name)
    for given in (row(232, seed=7), row(100, (20, 30), 8)):
        alone = answers(served, [given])[0]
        beside = [row(200 + 3 * n % 50, seed=20 + n) for n in range(others)]
        for place in {0, others // 2, others}:
            among = answers(served, [*beside[:place], given, *beside[place:]])[place]
            np.testing.assert_array_equal(among, alone)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bits_outside_the_grid(name: str) -> None:
    small = TorchEngine(model(name, torch.bfloat16), LABELS, open_packed=packed((64,)))
    given = row(232, seed=9)
    np.testing.assert_array_equal(answers(small, [given])[0], answers(engine(name), [given])[0])


def test_every_capture_is_made_at_the_start_and_rows_outside_are_counted() -> None:
    served = TorchEngine(model("llama", torch.bfloat16), LABELS, open_packed=packed((64, 256)))
    served.run([row(20), row(180, seed=1)])
    assert served.statistics.compiles_after_start == 0
    for _ in range(2):
        served.run([row(20), row(180, seed=1), row(400, seed=2)])
    counts = served.statistics
    assert counts.captures_at_start == 2
    assert counts.captures_after_start == 0
    assert counts.eager_rows_outside_grid == 2


def test_the_switch_opens_the_usual_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    own = model("llama", torch.bfloat16)
    head = LabelHead(own, LABELS)
    monkeypatch.setenv(GRAPHS, "0")
    assert GRAPHS in str(open_runner(own, head))
    monkeypatch.setenv(GRAPHS, "1")
    with torch.inference_mode():
        opened = open_runner(own, head)
    assert isinstance(opened, PackedRunner)
    assert opened.left_out == ()
    assert opened.statistics.captures_at_start == len(opened.grid.sizes)


def test_a_request_too_large_for_the_device_fails_alone() -> None:
    served = TorchEngine(model("hybrid", torch.bfloat16), LABELS, open_packed=packed((64, 256)))
    small = row(100, (20, 30), 1)
    before = answers(served, [small])[0]
    with at_most(512 << 20):
        with pytest.raises(DeviceMemoryError, match="100001 tokens and 1 branches"):
            served.run([row(100_000, (1,))])
        np.testing.assert_array_equal(answers(served, [small])[0], before)
    np.testing.assert_array_equal(answers(served, [small])[0], before)


def test_a_grid_that_does_not_fit_shrinks_and_says_so() -> None:
    own = model("hybrid", torch.bfloat16)
    with torch.inference_mode():
        wanted = fused_model(own, LabelHead(own, LABELS))
    assert not isinstance(wanted, str)
    with at_most(512 << 20), torch.inference_mode():
        head = LabelHead(own, LABELS)
        runner = runner_of(wanted, own, head, Grid((64, 256, 131_072)), GraphRecorder(own.device))
    assert runner.grid.sizes == (64, 256)
    assert "131072 tokens did not fit" in runner.note
    with torch.inference_mode():
        assert np.isfinite(runner.begin([row(100)]).answers()[0].logits).all()
