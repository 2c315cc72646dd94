from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.checkpoint.tiny import tiny_config, tiny_tokenizer, tiny_weights, write_tiny_gguf
from thisthat.checkpoint import open_checkpoint
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
