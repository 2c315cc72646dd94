from __future__ import annotations

import errno
import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import save_file

from tests.checkpoint.tiny import tiny_weights
from thisthat.checkpoint.delta import Delta, apply_delta, inspect_delta, make_delta
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.safetensors_file import SafetensorsFile
from thisthat.errors import CheckpointError, InvalidInputError

HASH = "cd" * 32
NAME = "model.layers.0.mlp.up_proj.weight"
EMBEDDING = "model.embed_tokens.weight"


def _trained(base: Weights, size: float = 0.01, seed: int = 1) -> Weights:
    random = np.random.default_rng(seed)
    return {
        name: tensor + size * random.standard_normal(tensor.shape, dtype=np.float32)
        for name, tensor in base.items()
    }


def _same_bits(first: Weights, second: Weights) -> bool:
    return set(first) == set(second) and all(
        np.array_equal(first[name].view(np.uint32), second[name].view(np.uint32)) for name in first
    )


def _stream(length: int) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.compress(bytes(length)), np.uint8)


def test_lambda_zero_is_the_base_bit_for_bit(tmp_path: Path) -> None:
    base = tiny_weights()
    base[NAME][0, :3] = [-0.0, np.float32(1e-42), 0.0]
    kept = {name: tensor.copy() for name, tensor in base.items()}
    make_delta(base, _trained(base), tmp_path / "d", base_sha256=HASH)
    delta = Delta(tmp_path / "d")
    assert _same_bits(apply_delta(base, delta, 0.0), kept)
    given = dict(base)
    moved = apply_delta(given, delta, 1.0)
    assert not _same_bits(moved, kept)
    assert _same_bits(base, kept)
    assert not given, "the base and the sum would need twice the memory"


def test_the_error_is_small_and_as_reported(tmp_path: Path) -> None:
    base = tiny_weights()
    trained = _trained(base)
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


def test_half_of_lambda_is_half_of_the_way(tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, _trained(base), tmp_path / "d", base_sha256=HASH)
    delta = Delta(tmp_path / "d")
    whole, half = apply_delta(dict(base), delta, 1.0), apply_delta(dict(base), delta, 0.5)
    for name in base:
        np.testing.assert_allclose(half[name], (base[name] + whole[name]) / 2, atol=1e-6)


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
    assert _same_bits(apply_delta(dict(base), Delta(tmp_path / "d"), 1.0), base)


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


@pytest.mark.parametrize("lam", [-0.1, 1.01, float("nan"), float("inf"), True])
def test_a_lambda_outside_its_range_is_refused(lam: float, tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, _trained(base), tmp_path / "d", base_sha256=HASH)
    with pytest.raises(InvalidInputError, match=r"lambda: is .*; it must lie in \[0, 1\]"):
        apply_delta(dict(base), Delta(tmp_path / "d"), lam)


def test_another_base_is_refused(tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, _trained(base), tmp_path / "d", base_sha256=HASH)
    delta = Delta(tmp_path / "d")
    delta.check_base(HASH)
    with pytest.raises(CheckpointError, match=f"was made for the base with sha256 {HASH}"):
        delta.check_base("00" * 32)


def test_a_base_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, _trained(base), tmp_path / "d", base_sha256=HASH)
    delta = Delta(tmp_path / "d")
    short = {name: tensor for name, tensor in base.items() if name != NAME}
    with pytest.raises(CheckpointError, match=f"tensor {NAME} is missing from the base"):
        apply_delta(short, delta, 1.0)
    with pytest.raises(CheckpointError, match=rf"tensor {NAME} has shape \(64, 32\), the base"):
        apply_delta({**base, NAME: base[NAME][:5]}, delta, 1.0)
    with pytest.raises(CheckpointError, match="tensor other is missing from the delta"):
        apply_delta({**base, "other": base[NAME]}, delta, 1.0)


def test_a_trained_model_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    base = tiny_weights()

    def refused(trained: Weights, message: str) -> None:
        with pytest.raises(CheckpointError, match=message):
            make_delta(base, trained, tmp_path / "d", base_sha256=HASH)
        assert not (tmp_path / "d").exists()

    trained = _trained(base)
    refused({n: t for n, t in trained.items() if n != NAME}, f"tensor {NAME} is missing")
    refused({**trained, NAME: trained[NAME][:5]}, rf"{NAME} has shape \(5, 32\), the base")
    refused({**trained, "other": trained[NAME]}, "tensor other is missing from the base")
    for bad in (np.nan, np.inf):
        broken = {**trained, NAME: trained[NAME].copy()}
        broken[NAME][3, 4] = bad
        refused(broken, f"tensor {NAME} holds a number that is not finite")


def test_a_tied_unembedding_is_counted_once(tmp_path: Path) -> None:
    base = tiny_weights()
    trained = _trained(base)
    tied = {**trained, "lm_head.weight": trained[EMBEDDING]}
    report = make_delta(base, tied, tmp_path / "d", base_sha256=HASH)
    assert "lm_head.weight" not in {tensor.name for tensor in report.tensors}
    untied = {**trained, "lm_head.weight": trained[EMBEDDING] + 1}
    with pytest.raises(CheckpointError, match=r"tensor lm_head\.weight is missing from the base"):
        make_delta(base, untied, tmp_path / "d", base_sha256=HASH)


def test_a_size_that_cannot_be_met_is_refused(tmp_path: Path) -> None:
    base = tiny_weights()
    with pytest.raises(InvalidInputError, match="this delta takes at least"):
        make_delta(base, _trained(base), tmp_path / "d", base_sha256=HASH, target_bytes=100)
    with pytest.raises(InvalidInputError, match="not both"):
        make_delta(base, base, tmp_path / "d", base_sha256=HASH, target_bytes=100, bits=3)
    with pytest.raises(InvalidInputError, match=r"bits: is 9; it must lie in \[0\.1, 8\]"):
        make_delta(base, base, tmp_path / "d", base_sha256=HASH, bits=9)


def test_a_full_disk_leaves_the_old_delta(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, _trained(base), tmp_path / "d", base_sha256=HASH)
    before = (tmp_path / "d").read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("thisthat.files.os.fsync", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        make_delta(base, _trained(base, seed=2), tmp_path / "d", base_sha256=HASH)
    assert (tmp_path / "d").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_damaged_delta_is_refused(tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, _trained(base), tmp_path / "d", base_sha256=HASH)
    content = (tmp_path / "d").read_bytes()
    (tmp_path / "cut").write_bytes(content[:-50])
    with pytest.raises(CheckpointError, match="is cut short: tensor"):
        Delta(tmp_path / "cut")
    save_file({"x": np.ones(3, np.float32)}, tmp_path / "other")
    with pytest.raises(CheckpointError, match="is not a delta of format thisthat-delta 1"):
        Delta(tmp_path / "other")


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("numbers", np.zeros(4, np.uint8), "tensor w: is damaged"),
        ("numbers", _stream(1 << 20), "tensor w: it has too few or too many numbers"),
        ("numbers", _stream(15), "tensor w: it has too few or too many numbers"),
        ("rows", np.array([0, 99], np.int32), "tensor w: a row number is out of range"),
        ("rows", np.array([0, 1, 1], np.int32), "tensor w: a row number is out of range"),
        ("doublings", np.zeros(1, np.uint8), "tensor w: it has rows without a step"),
        ("doublings", np.full(2, 255, np.uint8), "tensor w: a step is not finite"),
    ],
)
def test_damaged_parts_are_named(
    part: str,
    value: NDArray[Any],
    message: str,
    tmp_path: Path,
) -> None:
    base = {"w": np.zeros((2, 8), np.float32)}
    make_delta(base, {"w": np.ones((2, 8), np.float32)}, tmp_path / "d", base_sha256=HASH)
    file = SafetensorsFile(tmp_path / "d")
    arrays = {name: np.array(file.stored(name)) for name in file.shapes()}
    arrays[f"w.{part}"] = value
    save_file(arrays, tmp_path / "broken", metadata=file.metadata)
    with pytest.raises(CheckpointError, match=message):
        Delta(tmp_path / "broken").tensor("w")


def test_inspect_says_what_is_inside(tmp_path: Path) -> None:
    base = tiny_weights()
    trained = {**base, NAME: base[NAME] + 1, "model.norm.weight": base["model.norm.weight"] + 1}
    make_delta(base, trained, tmp_path / "d", base_sha256=HASH)
    facts = inspect_delta(tmp_path / "d")
    assert json.loads(json.dumps(facts)) == facts
    assert facts["base_sha256"] == HASH
    assert facts["weights"] == sum(tensor.size for tensor in base.values())
    storage = {tensor["name"]: tensor["storage"] for tensor in facts["tensors"]}
    assert storage.pop(NAME) == "steps"
    assert storage.pop("model.norm.weight") == "exact"
    assert set(storage.values()) == {"zero"}
    sizes = {tensor["name"]: tensor["bytes"] for tensor in facts["tensors"]}
    assert sizes["model.norm.weight"] == 128
