"""Which kernels a processor gets, and what happens where they cannot be compiled."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from tests.checkpoint.test_trust import foreign
from tests.engine.native.models import library_of
from thisthat.checkpoint.trust import UntrustedFileError
from thisthat.engine.native import compiler
from thisthat.engine.native.compiler import (
    CannotCompileError,
    compiled,
    library_here,
    variants_here,
)
from thisthat.engine.native.library import Library, Variant
from thisthat.errors import CheckpointError

WIDE = "avx512f avx512bw avx512vl avx512dq"


@pytest.mark.parametrize(
    ("machine", "flags", "variants"),
    [
        (
            "x86_64",
            f"sse2 {WIDE} avx512_vnni amx_tile amx_int8 amx_bf16 avx512_bf16",
            ["amx", "vnni", "avx512", "plain"],
        ),
        ("x86_64", f"sse2 {WIDE} avx512_vnni", ["vnni", "avx512", "plain"]),
        ("x86_64", f"sse2 {WIDE}", ["avx512", "plain"]),
        ("x86_64", "sse2 avx2 avx512_vnni", ["plain"]),
        ("x86_64", f"sse2 avx2 fma f16c {WIDE} avx512_vnni", ["vnni", "avx512", "avx2", "plain"]),
        ("x86_64", "sse2 avx2 fma f16c avx_vnni", ["avxvnni", "avx2", "plain"]),
        ("x86_64", "sse2 avx2 fma f16c", ["avx2", "plain"]),
        ("aarch64", "fp asimd asimdhp asimddp", ["neon", "plain"]),
        ("aarch64", "fp asimd asimddp", ["plain"]),
        ("aarch64", "fp asimd avx512f", ["plain"]),
        ("riscv64", "", ["plain"]),
    ],
)
def test_the_instructions_of_a_processor_decide(
    machine: str, flags: str, variants: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text(f"processor: 0\nflags : {flags}\n")
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert variants_here(info) == variants


def test_a_system_that_does_not_tell_gets_the_plain_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert variants_here(tmp_path / "nowhere") == ["plain"]


def test_an_apple_processor_is_known_without_a_list_of_flags(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    monkeypatch.setattr("sys.platform", "darwin")
    assert variants_here() == ["neon", "plain"]


def test_a_library_is_compiled_once_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[list[str]] = []

    def compile_it(command: list[str]) -> bytes:
        made.append(command)
        return b"a library"

    monkeypatch.setattr(compiler, "_compile", compile_it)
    monkeypatch.setattr("shutil.which", lambda name: __file__)
    first = compiled("plain", "cc", tmp_path)
    assert first.read_bytes() == b"a library"
    assert compiled("plain", "cc", tmp_path) == first
    assert compiled("vnni", "cc", tmp_path) != first
    assert len(made) == 2
    assert "-DVARIANT_PLAIN" in made[0]
    assert "-DVARIANT_VNNI" in made[1]


def test_another_processor_gets_another_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "_compile", lambda command: b"a library")
    monkeypatch.setattr("shutil.which", lambda name: __file__)
    first = compiled("plain", "cc", tmp_path)
    monkeypatch.setattr(compiler, "processor", lambda: "one that no home has")
    assert compiled("plain", "cc", tmp_path) != first


def test_without_a_compiler_there_is_no_library(tmp_path: Path) -> None:
    with pytest.raises(CannotCompileError, match=r"no C compiler \(no-such-compiler\)"):
        compiled("plain", "no-such-compiler", tmp_path)


def test_a_compiler_that_fails_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'it does not know -march=native' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(CannotCompileError, match="does not know -march=native"):
        compiled("plain", str(broken), tmp_path / "store")
    assert not list((tmp_path / "store").glob("*.so"))


def test_a_folder_that_cannot_be_written_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr("shutil.which", lambda name: __file__)
    with pytest.raises(CannotCompileError, match="cannot be written"):
        compiled("plain", "cc", tmp_path / "file" / "below")


def test_the_switch_turns_kernels_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THISTHAT_NATIVE", "0")
    with pytest.raises(CannotCompileError, match="THISTHAT_NATIVE is 0"):
        library_here()


def test_a_slower_variant_takes_the_place_of_one_that_does_not_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_plain(variant: compiler.Variant, command: str, folder: Path) -> Path:
        if variant != "plain":
            raise CannotCompileError(f"{variant} is unknown")
        return folder / "plain.so"

    monkeypatch.setenv("THISTHAT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(compiler, "variants_here", lambda: ["amx", "vnni", "avx512", "plain"])
    monkeypatch.setattr(compiler, "compiled", only_plain)
    monkeypatch.setattr(compiler, "_prove", lambda library: None)
    assert library_here() == Library(tmp_path / "home" / "native" / "plain.so", "plain")


def test_what_a_library_wants_and_costs() -> None:
    wants = {name: Library(Path("x"), name) for name in get_args(Variant)}
    assert [name for name, it in wants.items() if it.order == "by ones"] == ["plain"]
    assert [name for name, it in wants.items() if not it.multiplies_bytes] == ["plain"]
    assert [name for name, it in wants.items() if not it.doubling_costs] == ["amx", "plain"]
    assert [name for name, it in wants.items() if it.levels == 63] == ["avx512", "avx2"]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Libraries that were compiled; none of them really."""
    found: list[Path] = []

    def compile_it(command: list[str]) -> bytes:
        found.append(tmp_path)
        return b"a library"

    monkeypatch.setattr(compiler, "_compile", compile_it)
    monkeypatch.setattr("shutil.which", lambda name: __file__)
    return found


@pytest.mark.parametrize("damage", ["cut", "flipped", "no record", "another record"])
def test_a_damaged_library_is_compiled_again(damage: str, tmp_path: Path, made: list[Path]) -> None:
    path = compiled("plain", "cc", tmp_path)
    library = Library(path, "plain")
    library.note(**library.noted(), proven=True)
    if damage == "cut":
        path.write_bytes(b"a lib")
    elif damage == "flipped":
        path.write_bytes(b"a librarY")
    elif damage == "no record":
        library.record.unlink()
    else:
        library.record.write_text('{"sha256": "0", "proven": true}')
    (tmp_path / f".{path.name}.{0:016x}").touch()
    assert compiled("plain", "cc", tmp_path) == path
    assert path.read_bytes() == b"a library"
    assert len(made) == 2
    assert "proven" not in library.noted()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("which", [".so", ".json"])
@pytest.mark.parametrize("how", ["writable", "foreign"])
def test_a_library_that_can_be_planted_is_refused(
    which: str, how: str, tmp_path: Path, made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = compiled("plain", "cc", tmp_path).with_suffix(which)
    if how == "writable":
        planted.chmod(0o666)
    else:
        foreign(planted, monkeypatch)
    with pytest.raises(UntrustedFileError, match="can have been planted"):
        compiled("plain", "cc", tmp_path)
    assert len(made) == 1


def test_only_the_library_on_record_is_loaded(tmp_path: Path) -> None:
    library = library_of("plain", tmp_path)
    assert library.load() is library.load()
    content = library.path.read_bytes()
    library.note(sha256="0" * 64)
    with pytest.raises(CheckpointError, match="is damaged; delete it"):
        library.load()
    library.path.unlink()  # a library that is loaded and cut short ends this process
    library.path.write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError, match="is damaged; delete it"):
        library.load()
    library.path.unlink()
    with pytest.raises(CheckpointError, match="No such file"):
        library.load()
