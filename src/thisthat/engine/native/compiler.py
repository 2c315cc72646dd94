"""The kernels as a library for this very processor: compiled on first use and kept.

Which instructions there are decides on the variant. Knows processors, compilers and the store;
nothing of models.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from thisthat.checkpoint.locks import locked
from thisthat.checkpoint.store import home
from thisthat.engine.native.library import Library, Variant
from thisthat.environment import NATIVE
from thisthat.files import remove_leftovers, write_atomically

FOLDER = Path(__file__).parent / "kernels"
SOURCE = FOLDER / "kernels.c"

_CPU_INFO = Path("/proc/cpuinfo")
_FLAGS = ("-O3", "-std=gnu11", "-fPIC", "-shared", "-Wno-psabi")
_INSTRUCTIONS = {
    "amx": ("-march=native", "-mamx-tile", "-mamx-int8", "-mamx-bf16", "-mavx512bf16"),
    "vnni": ("-march=native", "-mavx512vnni"),
    "avx512": ("-march=native",),
    # Vectors of 512 bits would be counted in other blocks.
    "avxvnni": ("-march=native", "-mno-avx512f", "-mavxvnni"),
    "avx2": ("-march=native", "-mno-avx512f", "-mavx2", "-mfma", "-mf16c"),
    "neon": ("-mcpu=native",),
    "plain": ("-march=native" if platform.machine() == "x86_64" else "-mcpu=native",),
}
_PATIENCE = 120

_logger = logging.getLogger("thisthat.store")


class CannotCompileError(Exception):
    """There is no library, for the reason given."""


def variants_here(cpu_info: Path = _CPU_INFO) -> list[Variant]:
    """The variants that this processor can run, the fastest first."""
    machine = platform.machine().lower()
    if machine == "arm64" and sys.platform == "darwin":
        return ["neon", "plain"]
    try:
        flags = set(cpu_info.read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        flags = set()
    found: list[Variant] = []
    if machine == "aarch64" and {"asimddp", "asimdhp"} <= flags:
        found.append("neon")
    if machine == "x86_64" and {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= flags:
        if {"amx_tile", "amx_int8", "amx_bf16", "avx512_bf16"} <= flags:
            found.append("amx")
        if "avx512_vnni" in flags:
            found.append("vnni")
        found.append("avx512")
    if machine == "x86_64" and {"avx2", "fma", "f16c"} <= flags:
        found += ["avxvnni", "avx2"] if "avx_vnni" in flags else ["avx2"]
    return [*found, "plain"]


def library_here() -> Library:
    """The fastest library for this processor, compiled and tried now unless it is kept.

    Raises CannotCompileError when no variant can be compiled and gives right numbers, or the switch
    says no; UntrustedFileError for a kept one that another user can have planted.
    """
    return _library(os.environ.get(NATIVE), os.environ.get("CC"), home())


@cache
def _library(switch: str | None, compiler: str | None, store: Path) -> Library:
    if switch == "0":
        raise CannotCompileError(f"{NATIVE} is 0")
    reasons: list[str] = []
    for variant in variants_here():
        try:
            library = Library(compiled(variant, compiler or "cc", store / "native"), variant)
            _prove(library)
        except CannotCompileError as error:
            reasons.append(str(error))
        else:
            return library
    raise CannotCompileError(reasons[0])


def _prove(library: Library) -> None:
    """Try the kernels once; their record says that they gave right numbers.

    Raises CannotCompileError when they did not.
    """
    known = library.noted()
    if known.get("proven") is True:
        return
    # It imports models and runtimes, which a proven library does not need.
    from thisthat.engine.native.proof import why_wrong

    reason = why_wrong(library)
    if reason is not None:
        raise CannotCompileError(reason)
    with suppress(OSError):  # Without a record they are tried again the next time.
        library.note(**{**known, "proven": True})


def compiled(variant: Variant, compiler: str, folder: Path) -> Path:
    """The file of this variant's library in ``folder``, compiled now unless a whole one is there.

    Raises CannotCompileError when there is no such compiler or it fails, and UntrustedFileError for
    a library that another user can have planted.
    """
    found = shutil.which(compiler)
    if found is None:
        raise CannotCompileError(f"there is no C compiler ({compiler})")
    command = [found, *_FLAGS, *_INSTRUCTIONS[variant], f"-DVARIANT_{variant.upper()}"]
    path = folder / f"{_key(command)}.so"
    library = Library(path, variant)
    if not library.is_whole():
        try:
            with locked(path.with_suffix(".lock")):
                if not library.is_whole():
                    _keep(library, command)
        except OSError as error:
            raise CannotCompileError(f"{path} cannot be written: {error}") from error
    return path


def _keep(library: Library, command: list[str]) -> None:
    if library.noted():
        _logger.warning("%s is damaged and is compiled again", library.path)
    for path in (library.path, library.record):
        remove_leftovers(path)
    made = _compile(command)
    write_atomically(library.path, made, mode=0o644)
    library.note(sha256=hashlib.sha256(made).hexdigest())


def _key(command: list[str]) -> str:
    """Differs whenever the library would: other source, compiler, flags or processor."""
    compiler = Path(command[0]).resolve()
    found = compiler.stat()
    about = [*command, str(compiler), str(found.st_size), str(found.st_mtime_ns), processor()]
    about.append(sources())
    return hashlib.sha256("\0".join(about).encode()).hexdigest()[:32]


def sources() -> str:
    """All that is compiled, as text."""
    files = [*sorted(FOLDER.glob("*.h")), SOURCE]
    return "\0".join(file.read_text(encoding="utf-8") for file in files)


def processor() -> str:
    """What tells one kind of processor from another, as far as the system says."""
    try:
        lines = _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part", "CPU implementer")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))


def _compile(command: list[str]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "kernels.so"
        whole = [*command, str(SOURCE), "-o", str(made), "-lm", "-lpthread"]
        try:
            done = subprocess.run(
                whole, capture_output=True, text=True, timeout=_PATIENCE, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CannotCompileError(f"{command[0]} did not run: {error}") from error
        if done.returncode or not made.is_file():
            said = done.stderr.strip().splitlines()
            raise CannotCompileError(f"{command[0]} failed: {said[0] if said else 'nothing said'}")
        return made.read_bytes()
