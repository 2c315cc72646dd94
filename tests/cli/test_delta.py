from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.checkpoint.tiny import tiny_config, tiny_tokenizer, tiny_weights, write_tiny_gguf
from thisthat.checkpoint import open_checkpoint
from thisthat.checkpoint.card import CARD_FILE, Loop, PathBase, read_card, write_card
from thisthat.checkpoint.safetensors_weights import write_model
from thisthat.cli.delta import app
from thisthat.errors import InvalidInputError


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
