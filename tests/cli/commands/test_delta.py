from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.checkpoint.tiny import tiny_config, tiny_tokenizer, tiny_weights, write_tiny_gguf
from thisthat.checkpoint import open_checkpoint
from thisthat.checkpoint.card import CARD_FILE, Limits, Loop, PathBase, read_card, write_card
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.safetensors_weights import write_model
from thisthat.checkpoint.ship import ship_heads, ship_taught
from thisthat.cli.commands.delta import app
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.temperature import Temperatures


@pytest.fixture(autouse=True)
def _own_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THISTHAT_HOME", str(tmp_path / "store"))


def _run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_make_inspect_apply(tmp_path: Path) -> None:
    base, trained, out = tmp_path / "base.gguf", tmp_path / "trained", tmp_path / "out"
    start = tiny_weights()
    end = {name: tensor + np.float32(0.1) for name, tensor in start.items()}
    write_tiny_gguf(base, start)
    write_model(trained, end, tiny_config(), tiny_tokenizer())

    report = json.loads(_run("make", trained, out, "--base", base, "--bits", 6, "--json"))
    assert report["bits_per_weight"] <= 6
    assert "bits per weight" in _run("make", trained, out, "--base", base)
    assert open_checkpoint(out).card.name == "out"

    shown = _run("inspect", out / "delta.safetensors")
    assert f"base sha256      {open_checkpoint(base).base_sha256}" in shown
    facts = json.loads(_run("inspect", out / "delta.safetensors", "--json"))
    assert len(facts["tensors"]) == len(start)

    _run("apply", out / "delta.safetensors", tmp_path / "zero", "--base", base, "--lambda", 0)
    zero = open_checkpoint(tmp_path / "zero").weights()
    assert all(np.array_equal(zero[name], start[name]) for name in start)
    _run("apply", out / "delta.safetensors", tmp_path / "one", "--base", base)
    one = open_checkpoint(tmp_path / "one").weights()
    expected = open_checkpoint(out).weights()
    assert all(np.array_equal(one[name], expected[name]) for name in start)
    with pytest.raises(InvalidInputError, match="lambda: is 2"):
        _run("apply", out / "delta.safetensors", tmp_path / "two", "--base", base, "--lambda", 2)


def test_make_with_a_rank(tmp_path: Path) -> None:
    base, trained, out = tmp_path / "base.gguf", tmp_path / "trained", tmp_path / "out"
    start = tiny_weights()
    end = {name: tensor + np.float32(0.1) for name, tensor in start.items()}
    write_tiny_gguf(base, start)
    write_model(trained, end, tiny_config(), tiny_tokenizer())
    made = _run("make", trained, out, "--base", base, "--rank", 2)
    assert "relative error of the delta: 0.00" in made
    delta = out / "delta.safetensors"
    matrices = sum(tensor.ndim == 2 for tensor in start.values())
    shown = _run("inspect", delta)
    assert f"{matrices} as products" in shown
    assert "largest rank     1\n" in shown
    opened = open_checkpoint(out).weights()
    for name, tensor in end.items():
        np.testing.assert_allclose(opened[name], tensor, atol=0.002)
    with pytest.raises(InvalidInputError, match="rank: give either bits or rank, not both"):
        _run("make", trained, out, "--base", base, "--rank", 2, "--bits", 2)


def test_open_states_stay_with_the_weights_that_learned_them(tmp_path: Path) -> None:
    base, open_base, trained = tmp_path / "base.gguf", tmp_path / "open", tmp_path / "trained"
    start = tiny_weights()
    write_tiny_gguf(base, start)
    write_model(trained, start, tiny_config(), tiny_tokenizer())
    plain = open_checkpoint(base).card
    form = replace(plain.prompt, open_state=True)
    card = replace(
        plain, base=PathBase(str(base)), prompt=form, loop=Loop(0, 0, 2), byte_activations=True
    )
    open_base.mkdir()
    write_card(card, open_base / CARD_FILE)

    _run("make", trained, tmp_path / "causal", "--base", open_base)
    causal = read_card(tmp_path / "causal" / CARD_FILE)
    assert (causal.prompt, causal.loop, causal.byte_activations) == (plain.prompt, None, False)

    write_card(replace(plain, base=PathBase("."), prompt=form), trained / CARD_FILE)
    _run("make", trained, tmp_path / "out", "--base", base)
    delta = tmp_path / "out" / "delta.safetensors"
    for lam, is_open in ((0, False), (0.5, True), (1, True)):
        _run("apply", delta, tmp_path / f"whole {lam}", "--base", base, "--lambda", lam)
        assert open_checkpoint(tmp_path / f"whole {lam}").prompt.open_state is is_open


def test_applied_weights_are_those_the_checkpoint_answers_with(tmp_path: Path) -> None:
    base, trained, out = tmp_path / "base.gguf", tmp_path / "trained", tmp_path / "out"
    start = tiny_weights()
    random = np.random.default_rng(3)
    end = {
        name: tensor + random.normal(scale=0.1, size=tensor.shape).astype(np.float32)
        for name, tensor in start.items()
    }
    write_tiny_gguf(base, start)
    write_model(trained, end, tiny_config(), tiny_tokenizer())
    _run("make", trained, out, "--base", base)
    write_card(replace(read_card(out / CARD_FILE), byte_weights=True), out / CARD_FILE)
    _run("apply", out / "delta.safetensors", tmp_path / "whole", "--base", base)
    whole = open_checkpoint(tmp_path / "whole").weights()
    expected = open_checkpoint(out).weights()
    assert all(np.array_equal(whole[name], expected[name]) for name in start)


def _near(start: Weights, seed: int) -> Weights:
    random = np.random.default_rng(seed)
    return {
        name: tensor + np.float32(0.1) * random.standard_normal(tensor.shape, dtype=np.float32)
        for name, tensor in start.items()
    }


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A base, `first` on it and `second` on `first`."""
    write_tiny_gguf(tmp_path / "base.gguf", tiny_weights())
    base = open_checkpoint(tmp_path / "base.gguf")
    card = replace(base.card, name="first")
    ship_taught(base, _near(base.weights(), 1), tmp_path / "first", card, bits=8)
    first = open_checkpoint(tmp_path / "first")
    hot = replace(
        first.card, name="second", temperatures=Temperatures(4.0), limits=Limits(100, 120)
    )
    ship_taught(first, _near(first.weights(), 2), tmp_path / "second", hot, bits=8)
    return tmp_path


def test_inspect_shows_the_stack(two: Path) -> None:
    shown = _run("inspect", two / "second", "--lambda", 0.5)
    changed = f"{len(tiny_weights())} of {len(tiny_weights())}"
    for text in ("second", "first", "base", "weights", "0.5", changed):
        assert text in shown
    assert shown.endswith("second: limits: its own above λ = 0, the layer below's at 0\n")
    facts = json.loads(_run("inspect", two / "second", "--json"))
    assert [layer["name"] for layer in facts["layers"]] == ["first", "second"]
    assert {layer["changed"] for layer in facts["layers"]} == {len(tiny_weights())}
    opened = open_checkpoint(two / "second")
    assert [layer["sha256"] for layer in facts["layers"]] == [x.sha256 for x in opened.layers]
    assert facts["identity"] == opened.identity
    assert facts["layers"][0]["bytes"] == (two / "first" / "delta.safetensors").stat().st_size


def test_stack_puts_a_delta_on_another_parent(two: Path) -> None:
    first, second = open_checkpoint(two / "first"), open_checkpoint(two / "second")
    cooler = replace(first.card, temperatures=Temperatures(0.5))
    write_card(cooler, two / "first" / CARD_FILE)
    with pytest.raises(CheckpointError, match="thisthat delta stack"):
        open_checkpoint(two / "second")
    # What it was moved from need not open any more: its own parent is what changed.
    said = _run("stack", two / "second", two / "again", "--on", two / "first")
    assert "Not trained for this parent" in said
    again = open_checkpoint(two / "again")
    assert again.card.name == "again"
    assert again.card.version != second.card.version
    found, wanted = again.weights(), second.weights()
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)
    assert open_checkpoint(two / "again", 0).in_force.temperatures == Temperatures(0.5)

    _run("stack", two / "again", two / "on base", "--on", two / "base.gguf")
    assert len(open_checkpoint(two / "on base").layers) == 1
    with pytest.raises(InvalidInputError, match="has no delta of its own"):
        _run("stack", two / "base.gguf", two / "nothing")
    small = {"intermediate_size": 32}
    write_model(two / "small", tiny_weights(**small), tiny_config(**small), tiny_tokenizer())
    with pytest.raises(CheckpointError, match=r"gate_proj\.weight has shape"):
        _run("stack", two / "again", two / "misfit", "--on", two / "small")
    assert not (two / "misfit").exists()


def test_flatten_makes_one_delta_on_the_base(two: Path) -> None:
    assert "relative error" in _run("flatten", two / "second", two / "flat")
    flat, stacked = open_checkpoint(two / "flat"), open_checkpoint(two / "second")
    assert flat.parent is None
    assert len(flat.layers) == 1
    assert flat.card.temperatures == Temperatures(4.0)
    assert flat.card.provenance["flattened"][1].startswith("second unversioned+")
    assert flat.card.version == f"{stacked.card.version}.flat"
    for name, tensor in stacked.weights().items():
        error = np.linalg.norm(flat.weights()[name] - tensor)
        assert error < 0.01 * np.linalg.norm(tensor - tiny_weights()[name]), name
    _run("flatten", two / "second", two / "half", "--lambda", 0.5)
    heat = open_checkpoint(two / "half").in_force.temperatures.of("score", 5, "schema-first")
    assert heat == pytest.approx(2.0)


def test_apply_adds_a_stacked_delta_to_its_parent(two: Path) -> None:
    for lam in (0, 0.5, 1):
        delta = two / "second" / "delta.safetensors"
        _run("apply", delta, two / f"whole {lam}", "--lambda", lam)
        whole, stacked = open_checkpoint(two / f"whole {lam}"), open_checkpoint(two / "second", lam)
        wanted = stacked.weights()
        assert all(np.array_equal(whole.weights()[name], wanted[name]) for name in wanted)
        heats = [c.in_force.temperatures.of("choice", 3, "state-first") for c in (whole, stacked)]
        assert heats[0] == heats[1]


def test_heads_are_stacked_but_never_made_weights(two: Path) -> None:
    second = open_checkpoint(two / "second")
    ship_heads(second, b"heads", two / "headed", second.card)
    assert "heads" in _run("inspect", two / "headed")
    _run("stack", two / "headed", two / "moved", "--on", two / "first")
    assert open_checkpoint(two / "moved").heads == [(two / "moved" / "heads.safetensors", 1.0)]
    with pytest.raises(CheckpointError, match="heads cannot become weights"):
        _run("flatten", two / "headed", two / "flat")
    assert not (two / "flat").exists()
    _run("flatten", two / "headed", two / "flat", "--lambda", 0)
