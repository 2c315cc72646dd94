from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from tests.checkpoint.tiny import tiny_weights
from tests.checkpoint.trained import same_bits, with_low_rank, with_noise
from thisthat.checkpoint.delta import Delta, apply_delta, inspect_delta
from thisthat.checkpoint.packing import make_delta
from thisthat.checkpoint.safetensors_file import SafetensorsFile
from thisthat.errors import CheckpointError, InvalidInputError

HASH = "cd" * 32
NAME = "model.layers.0.mlp.up_proj.weight"


def _stream(length: int) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.compress(bytes(length)), np.uint8)


def test_lambda_zero_is_the_base_bit_for_bit(tmp_path: Path) -> None:
    base = tiny_weights()
    base[NAME][0, :3] = [-0.0, np.float32(1e-42), 0.0]
    kept = {name: tensor.copy() for name, tensor in base.items()}
    make_delta(base, with_noise(base), tmp_path / "d", base_sha256=HASH)
    delta = Delta(tmp_path / "d")
    assert same_bits(apply_delta(base, delta, 0.0), kept)
    given = dict(base)
    moved = apply_delta(given, delta, 1.0)
    assert not same_bits(moved, kept)
    assert same_bits(base, kept)
    assert not given, "the base and the sum would need twice the memory"


def test_half_of_lambda_is_half_of_the_way(tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, with_noise(base), tmp_path / "d", base_sha256=HASH)
    delta = Delta(tmp_path / "d")
    whole, half = apply_delta(dict(base), delta, 1.0), apply_delta(dict(base), delta, 0.5)
    for name in base:
        np.testing.assert_allclose(half[name], (base[name] + whole[name]) / 2, atol=1e-6)


@pytest.mark.parametrize("lam", [-0.1, 1.01, float("nan"), float("inf"), True])
def test_a_lambda_outside_its_range_is_refused(lam: float, tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, with_noise(base), tmp_path / "d", base_sha256=HASH)
    with pytest.raises(InvalidInputError, match=r"lambda: is .*; it must lie in \[0, 1\]"):
        apply_delta(dict(base), Delta(tmp_path / "d"), lam)


def test_another_base_is_refused(tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, with_noise(base), tmp_path / "d", base_sha256=HASH)
    delta = Delta(tmp_path / "d")
    delta.check_base(HASH)
    with pytest.raises(CheckpointError, match=f"was made for the base with sha256 {HASH}"):
        delta.check_base("00" * 32)


def test_a_base_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, with_noise(base), tmp_path / "d", base_sha256=HASH)
    delta = Delta(tmp_path / "d")
    short = {name: tensor for name, tensor in base.items() if name != NAME}
    with pytest.raises(CheckpointError, match=f"tensor {NAME} is missing from the base"):
        apply_delta(short, delta, 1.0)
    with pytest.raises(CheckpointError, match=rf"tensor {NAME} has shape \(64, 32\), the base"):
        apply_delta({**base, NAME: base[NAME][:5]}, delta, 1.0)
    with pytest.raises(CheckpointError, match="tensor other is missing from the delta"):
        apply_delta({**base, "other": base[NAME]}, delta, 1.0)


def test_a_damaged_delta_is_refused(tmp_path: Path) -> None:
    base = tiny_weights()
    make_delta(base, with_noise(base), tmp_path / "d", base_sha256=HASH)
    content = (tmp_path / "d").read_bytes()
    (tmp_path / "cut").write_bytes(content[:-50])
    with pytest.raises(CheckpointError, match="is cut short: tensor"):
        Delta(tmp_path / "cut")
    save_file({"x": np.ones(3, np.float32)}, tmp_path / "other")
    with pytest.raises(CheckpointError, match="is not a delta of format thisthat-delta 1 or 2"):
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
    _change(tmp_path / "d", {f"w.{part}": value})
    with pytest.raises(CheckpointError, match=message):
        Delta(tmp_path / "d").tensor("w")


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """A delta with one tensor, stored as a product of rank 2."""
    path = tmp_path / "d"
    trained = with_low_rank({"w": np.zeros((6, 8), np.float32)}, 2)
    make_delta({"w": np.zeros((6, 8), np.float32)}, trained, path, base_sha256=HASH, rank=2)
    return path


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("numbers", np.zeros(4, np.uint8), "tensor w: is damaged"),
        ("numbers", _stream(1 << 20), "tensor w: it has too few or too many numbers"),
        ("numbers", _stream(55), "tensor w: it has too few or too many numbers"),
        ("scales", np.ones(1, np.float32), "tensor w: it has not 2 scales"),
        ("scales", np.ones((2, 1), np.float32), "tensor w: it has not 2 scales"),
        ("scales", np.ones(2, np.int32), "tensor w.scales has type I32, not a floating type"),
        ("scales", np.array([1, np.nan], np.float32), "tensor w: its product is not finite"),
        ("scales", np.full(2, 3e38, np.float32), "tensor w: its product is not finite"),
    ],
)
def test_damaged_parts_of_a_product_are_named(
    part: str, value: NDArray[Any], message: str, product: Path
) -> None:
    _change(product, {f"w.{part}": value})
    with pytest.raises(CheckpointError, match=message):
        Delta(product).tensor("w")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rank": 0}, "rank: is 0; at least 1 is needed"),
        ({"rank": 7}, "the rank 7 is larger than 6"),
        ({"rank": None}, "rank: is missing"),
        ({"rank": 1 << 70, "shape": [1 << 80, 1 << 80]}, "the shape .* is not possible"),
        ({"shape": [8]}, "the rank 2 is larger than 0"),
        ({"storage": "steps"}, "unknown key 'rank'"),
    ],
)
def test_a_product_that_cannot_be_is_refused(
    changed: dict[str, object], message: str, product: Path
) -> None:
    listed = json.loads(SafetensorsFile(product).metadata["tensors"])
    listed["w"] |= changed
    _change(product, {}, tensors=json.dumps(listed))
    with pytest.raises(CheckpointError, match=message):
        Delta(product)


def test_only_files_with_products_have_the_version_that_older_readers_refuse(product: Path) -> None:
    assert SafetensorsFile(product).metadata["version"] == "2"
    assert inspect_delta(product)["format"] == "thisthat-delta 2"
    _change(product, {}, version="1")
    with pytest.raises(CheckpointError, match="'product' is not one of 'zero', 'exact', 'steps'"):
        Delta(product)
    _change(product, {}, version="3")
    with pytest.raises(CheckpointError, match="is not a delta of format thisthat-delta 1 or 2"):
        Delta(product)
    base = tiny_weights()
    make_delta(base, with_noise(base), product, base_sha256=HASH)
    assert SafetensorsFile(product).metadata["version"] == "1"


def _change(path: Path, arrays: dict[str, NDArray[Any]], **metadata: str) -> None:
    file = SafetensorsFile(path)
    kept = {name: np.array(file.stored(name)) for name in file.shapes()}
    save_file({**kept, **arrays}, path, metadata={**file.metadata, **metadata})


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
    assert {tensor["rank"] for tensor in facts["tensors"]} == {None}


def test_inspect_knows_ranks_and_bytes_of_products(tmp_path: Path) -> None:
    base = tiny_weights()
    report = make_delta(base, with_low_rank(base, 3), tmp_path / "d", base_sha256=HASH, rank=5)
    facts = inspect_delta(tmp_path / "d")
    found = [(each["storage"], each["rank"], each["bytes"]) for each in facts["tensors"]]
    assert found == [(each.storage, each.rank, each.bytes) for each in report.tensors]
    assert {each["rank"] for each in facts["tensors"]} == {3, None}
