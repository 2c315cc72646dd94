from __future__ import annotations

import errno
import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checkpoint.tiny import tiny_weights
from tests.checkpoint.trained import same_bits, with_low_rank, with_noise
from thisthat.checkpoint.delta import Delta, apply_delta
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.packing import make_delta
from thisthat.checkpoint.safetensors_file import SafetensorsFile
from thisthat.errors import CheckpointError, InvalidInputError

HASH = "cd" * 32
NAME = "model.layers.0.mlp.up_proj.weight"
EMBEDDING = "model.embed_tokens.weight"


def test_the_error_is_small_and_as_reported(tmp_path: Path) -> None:
    base = tiny_weights()
    trained = with_noise(base)
    report = make_delta(base, trained, tmp_path / "d", base_sha256=HASH, bits=8)
    got = apply_delta(dict(base), Delta(tmp_path / "d"), 1.0)
    squared = sum(float(((got[n] - trained[n]) ** 2).sum()) for n in base)
    size = sum(float(((base[n] - trained[n]) ** 2).sum()) for n in base)
    assert report.relative_error == pytest.approx((squared / size) ** 0.5, rel=0.01)
    assert report.relative_error < 0.1
    assert report.bytes == (tmp_path / "d").stat().st_size
    norms = [tensor for tensor in report.tensors if len(tensor.shape) == 1]
    assert norms
    assert all(tensor.storage == "exact" and tensor.relative_error == 0 for tensor in norms)


def test_fewer_bytes_mean_a_larger_error(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    base = {"w": np.zeros((256, 512), np.float32)}
    trained = {"w": random.standard_normal((256, 512), dtype=np.float32)}
    reports = [
        make_delta(base, trained, tmp_path / "d", base_sha256=HASH, bits=bits)
        for bits in (2.0, 3.0, 4.5, 6.0)
    ]
    for report, bits in zip(reports, (2.0, 3.0, 4.5, 6.0), strict=True):
        assert 0.95 * bits < report.bits_per_weight <= bits
    errors = [report.relative_error for report in reports]
    assert errors == sorted(errors, reverse=True)
    # The theory of entropy-coded steps gives 2**(2.05 - 4.5) / 12**0.5 for normal numbers.
    assert errors[2] < 1.2 * 2 ** (2.05 - 4.5) / 12**0.5


def test_rows_that_did_not_change_take_no_room(tmp_path: Path) -> None:
    base = {EMBEDDING: np.ones((1000, 64), np.float32)}
    trained = {EMBEDDING: base[EMBEDDING].copy()}
    trained[EMBEDDING][[3, 500]] += np.linspace(-1, 1, 64, dtype=np.float32)
    report = make_delta(base, trained, tmp_path / "d", base_sha256=HASH, bits=8)
    assert report.bytes < 1500
    stored = SafetensorsFile(tmp_path / "d").stored(f"{EMBEDDING}.rows")
    assert stored.tolist() == [3, 500]
    got = apply_delta(dict(base), Delta(tmp_path / "d"), 1.0)[EMBEDDING]
    unchanged = np.setdiff1d(np.arange(1000), [3, 500])
    assert np.array_equal(got[unchanged], base[EMBEDDING][unchanged])


def test_an_unchanged_model_is_an_empty_delta(tmp_path: Path) -> None:
    base = tiny_weights()
    report = make_delta(base, base, tmp_path / "d", base_sha256=HASH)
    assert {tensor.storage for tensor in report.tensors} == {"zero"}
    assert report.relative_error == 0
    assert same_bits(apply_delta(dict(base), Delta(tmp_path / "d"), 1.0), base)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    outlier=st.sampled_from([0.0, 1.0, 1e3, 1e6]),
    size=st.sampled_from([1e-20, 1e-6, 1.0, 1e6]),
)
def test_any_finite_difference_survives(
    seed: int, outlier: float, size: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    random = np.random.default_rng(seed)
    difference = (size * random.standard_normal((8, 40))).astype(np.float32)
    difference[random.integers(8), random.integers(40)] += np.float32(size * outlier)
    path = tmp_path_factory.mktemp("delta") / "d"
    base = {"w": np.zeros((8, 40), np.float32)}
    make_delta(base, {"w": difference}, path, base_sha256=HASH)
    got = apply_delta(dict(base), Delta(path), 1.0)["w"]
    largest = np.abs(difference).max(axis=1, keepdims=True)
    root = np.sqrt((difference.astype(np.float64) ** 2).mean())
    assert (np.abs(got - difference) <= np.maximum(largest / 127, root / 64)).all()


def test_a_trained_model_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    base = tiny_weights()

    def refused(trained: Weights, message: str) -> None:
        with pytest.raises(CheckpointError, match=message):
            make_delta(base, trained, tmp_path / "d", base_sha256=HASH)
        assert not (tmp_path / "d").exists()

    trained = with_noise(base)
    refused({n: t for n, t in trained.items() if n != NAME}, f"tensor {NAME} is missing")
    refused({**trained, NAME: trained[NAME][:5]}, rf"{NAME} has shape \(5, 32\), the base")
    refused({**trained, "other": trained[NAME]}, "tensor other is missing from the base")
    for bad in (np.nan, np.inf):
        broken = {**trained, NAME: trained[NAME].copy()}
        broken[NAME][3, 4] = bad
        refused(broken, f"tensor {NAME} holds a number that is not finite")


def test_a_tied_unembedding_is_counted_once(tmp_path: Path) -> None:
    base = tiny_weights()
    trained = with_noise(base)
    tied = {**trained, "lm_head.weight": trained[EMBEDDING]}
    report = make_delta(base, tied, tmp_path / "d", base_sha256=HASH)
    assert "lm_head.weight" not in {tensor.name for tensor in report.tensors}
    untied = {**trained, "lm_head.weight": trained[EMBEDDING] + 1}
    with pytest.raises(CheckpointError, match=r"tensor lm_head\.weight is missing from the base"):
        make_delta(base, untied, tmp_path / "d", base_sha256=HASH)


def test_a_size_that_cannot_be_met_is_refused(tmp_path: Path) -> None:
    base = tiny_weights()
    with pytest.raises(InvalidInputError, match="this delta takes at least"):
        make_delta(base, with_noise(base), tmp_path / "d", base_sha256=HASH, target_bytes=100)
    with pytest.raises(InvalidInputError, match="not both"):
        make_delta(base, base, tmp_path / "d", base_sha256=HASH, target_bytes=100, bits=3)
    with pytest.raises(InvalidInputError, match=r"bits: is 9; it must lie in \[0\.1, 8\]"):
        make_delta(base, base, tmp_path / "d", base_sha256=HASH, bits=9)


def test_a_rank_that_cannot_be_met_is_refused(tmp_path: Path) -> None:
    base = tiny_weights()

    def refused(message: str, **asked: Any) -> None:
        with pytest.raises(InvalidInputError, match=message):
            make_delta(base, with_noise(base), tmp_path / "d", base_sha256=HASH, **asked)
        assert not (tmp_path / "d").exists()

    refused("rank: is 0; it must be at least 1", rank=0)
    refused("rank: give either bits or rank, not both", rank=2, bits=2)
    refused(r"rank: is 4; this delta takes \d+ bytes, 100 are allowed", rank=4, target_bytes=100)
    report = make_delta(base, with_noise(base), tmp_path / "d", base_sha256=HASH, rank=4)
    size = report.bytes
    make_delta(base, with_noise(base), tmp_path / "d", base_sha256=HASH, rank=4, target_bytes=size)


def test_a_full_disk_leaves_the_old_delta(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, with_noise(base), tmp_path / "d", base_sha256=HASH)
    before = (tmp_path / "d").read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("thisthat.files.os.fsync", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        make_delta(base, with_noise(base, seed=2), tmp_path / "d", base_sha256=HASH)
    assert (tmp_path / "d").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_product_holds_what_low_rank_adapters_learn(tmp_path: Path) -> None:
    base = tiny_weights()
    trained = with_low_rank(base, 3)
    trained[EMBEDDING] = base[EMBEDDING]
    report = make_delta(base, trained, tmp_path / "d", base_sha256=HASH, rank=3)
    assert report.bytes == (tmp_path / "d").stat().st_size
    assert 0 < report.relative_error < 0.01
    for tensor in report.tensors:
        flat = len(tensor.shape) == 1
        storage = "zero" if tensor.name == EMBEDDING else "exact" if flat else "product"
        assert tensor.storage == storage
        assert tensor.rank == (3 if storage == "product" else None)
        assert tensor.relative_error < 0.01
    delta = Delta(tmp_path / "d")
    got = apply_delta(dict(base), delta, 1.0)
    for name in base:
        far = np.linalg.norm(trained[name] - base[name])
        assert np.linalg.norm(got[name] - trained[name]) <= 0.01 * far
    assert same_bits(apply_delta(base, delta, 0.0), base)
    assert same_bits(got, apply_delta(dict(base), Delta(tmp_path / "d"), 1.0))
    again = make_delta(base, trained, tmp_path / "again", base_sha256=HASH, rank=3)
    assert again == report
    assert (tmp_path / "again").read_bytes() == (tmp_path / "d").read_bytes()


def test_the_error_of_a_product_is_that_of_the_best_one(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    difference = random.standard_normal((120, 60), dtype=np.float32)
    sizes = np.linalg.svd(difference, compute_uv=False)
    base = {"w": np.zeros_like(difference)}
    for rank in (1, 8, 40, 60, 100):
        report = make_delta(base, {"w": difference}, tmp_path / "d", base_sha256=HASH, rank=rank)
        best = np.linalg.norm(sizes[rank:]) / np.linalg.norm(sizes)
        assert report.tensors[0].rank == min(rank, 60)
        assert report.relative_error == pytest.approx(np.hypot(best, 0.0085), rel=0.01)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    outlier=st.sampled_from([0.0, 1.0, 1e3, 1e6]),
    size=st.sampled_from([1e-44, 1e-30, 1e-6, 1.0, 1e6]),
    shape=st.sampled_from([(8, 40), (40, 8), (1, 5), (5, 1), (4, 3, 7), (9, 9)]),
)
def test_any_finite_difference_survives_as_a_product(
    seed: int,
    outlier: float,
    size: float,
    shape: tuple[int, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    random = np.random.default_rng(seed)
    difference = (size * random.standard_normal(shape)).astype(np.float32)
    difference.reshape(-1)[random.integers(difference.size)] += np.float32(size * outlier)
    path = tmp_path_factory.mktemp("delta") / "d"
    base = {"w": np.zeros(shape, np.float32)}
    make_delta(base, {"w": difference}, path, base_sha256=HASH, rank=9)
    got = apply_delta(dict(base), Delta(path), 1.0)["w"]
    assert got.shape == shape
    far = np.linalg.norm(difference.astype(np.float64))
    # Below float32's normal numbers a scale has few bits itself.
    allowed = 0.012 if far > 1e-36 else 1.0
    assert np.linalg.norm(got - difference.astype(np.float64)) <= allowed * far


def test_products_are_made_one_after_another(tmp_path: Path) -> None:
    base = {f"{number}": np.zeros((512, 512), np.float32) for number in range(32)}
    trained = with_low_rank(base, 2)
    tracemalloc.start()
    make_delta(base, trained, tmp_path / "d", base_sha256=HASH, rank=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * base["0"].nbytes
