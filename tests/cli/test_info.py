"""`thisthat --version`, and what `thisthat pull` says of the engine."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import thisthat
from thisthat import checkpoint
from thisthat.cli import app
from thisthat.decide import opening
from thisthat.engine.native import engine as native_engine


def test_the_version_is_shown_without_a_command() -> None:
    found = CliRunner().invoke(app, ["--version"])
    assert (found.exit_code, found.output) == (0, f"thisthat {thisthat.__version__}\n")


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("native kernels (vnni), cpu, 2 threads, int8", False),
        ("onnxruntime 1.31.1, cpu, 2 threads, int8", True),
        ("onnxruntime 1.31.1, cpu, 2 threads, float32", False),
    ],
)
def test_pull_says_why_the_fastest_engine_does_not_answer(
    engine: str, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider = SimpleNamespace(
        open_all=lambda: None,
        source=SimpleNamespace(name="small", version="1", lam=1.0),
        engine=SimpleNamespace(description=engine),
    )
    monkeypatch.setattr(opening, "open_decider", lambda _: decider)
    monkeypatch.setattr(checkpoint, "open_checkpoint", lambda _: None)
    monkeypatch.setattr(native_engine, "why_not_faster", lambda _: "there is no C compiler (cc)")
    found = CliRunner().invoke(app, ["pull"])
    assert found.output.startswith(f"small 1, λ = 1: {engine}\n")
    assert ("there is no C compiler (cc)" in found.output) == said
