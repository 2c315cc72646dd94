"""Kernels are tried once before they answer anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.native.models import kept_library, library_of, variants_to_try
from thisthat.engine.native import compiler, proof
from thisthat.engine.native.compiler import CannotCompileError
from thisthat.engine.native.library import Library, Variant


@pytest.mark.parametrize("variant", variants_to_try())
def test_kernels_agree_with_plain_arithmetic(variant: Variant) -> None:
    library = kept_library(variant)
    assert proof.largest_error(library) < proof.LARGEST_ERROR
    assert proof.largest_rounding(library) < proof.LARGEST_ROUNDING
    assert proof.why_wrong(library) is None


@pytest.mark.parametrize(
    ("file", "right", "wrong", "told"),
    [
        ("attention.h", "1 / sqrtf(width)", "1.02f / sqrtf(width)", "a logit is wrong by"),
        ("plain_sums.h", "k < inputs", "k < inputs - (inputs == 128)", "a product is wrong by"),
    ],
)
def test_kernels_that_count_otherwise_are_found_out(
    file: str, right: str, wrong: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    for source in compiler.FOLDER.glob("*.[ch]"):
        text = source.read_text()
        if source.name == file:
            assert right in text
            text = text.replace(right, wrong)
        (sources / source.name).write_text(text)
    monkeypatch.setattr(compiler, "SOURCE", sources / "kernels.c")
    monkeypatch.setattr(compiler, "FOLDER", sources)
    reason = proof.why_wrong(library_of("plain", tmp_path / "store"))
    assert reason is not None
    assert reason.startswith(f"the plain kernels fail here: {told}")


def test_a_library_that_ends_the_process_ends_only_the_trial(tmp_path: Path) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    wrong = proof.why_wrong(Library(broken, "plain"))
    assert wrong is not None
    assert "the plain kernels fail here" in wrong


def test_a_library_is_tried_once_and_a_wrong_one_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Variant] = []

    def why_wrong(library: Library) -> str | None:
        tried.append(library.variant)
        return "wrong numbers" if library.variant == "vnni" else None

    def compiled(variant: Variant, command: str, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{variant}.so"

    monkeypatch.setattr(proof, "why_wrong", why_wrong)
    monkeypatch.setattr(compiler, "compiled", compiled)
    monkeypatch.setattr(compiler, "variants_here", lambda: ["vnni", "plain"])
    for _ in range(2):
        compiler._library.cache_clear()
        assert compiler._library(None, None, tmp_path).variant == "plain"
    assert tried == ["vnni", "plain", "vnni"]
    monkeypatch.setattr(compiler, "variants_here", lambda: ["vnni"])
    compiler._library.cache_clear()
    with pytest.raises(CannotCompileError, match="wrong numbers"):
        compiler._library(None, None, tmp_path)
    compiler._library.cache_clear()
