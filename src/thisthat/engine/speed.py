"""How fast the CPU engines read a checkpoint here: timed once, kept beside its runtime forms.

Candidates take turns on a short row, so that a machine that is busy for a while slows all of them.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from thisthat.checkpoint.trust import read_trusted
from thisthat.cpus import usable_cores
from thisthat.engine.native.compiler import processor, sources
from thisthat.engine.protocol import Engine
from thisthat.engine.rows import Branch, Row, Slot
from thisthat.engine.runtime_form import forms_folder
from thisthat.errors import ThisThatError
from thisthat.files import write_atomically

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint

CpuEngine: TypeAlias = Literal["native", "onnx"]
TOKENS, TURNS = 64, 5
GAIN = 0.9
"""A later candidate takes this share of the time of the one before it, or less, to be preferred."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An engine with so many threads."""

    engine: CpuEngine
    threads: int

    def __str__(self) -> str:
        return f"{self.engine}, {self.threads} thread{'s' * (self.threads > 1)}"


@dataclass(frozen=True, slots=True)
class Speed:
    """Milliseconds for a row of 64 tokens, of each candidate; the first is used.

    They are infinite for one that did not open.
    """

    timed: tuple[tuple[Candidate, float], ...]

    def __str__(self) -> str:
        told = "; ".join(f"{one}: {_told(value)}" for one, value in self.timed)
        (used, spent), *_ = self.timed
        if spent == min(value for _, value in self.timed):
            return told
        return f"{told}; {used}, since nothing else takes {1 - GAIN:.0%} less time"


def _told(milliseconds: float) -> str:
    return "did not open" if milliseconds == float("inf") else f"{milliseconds:.1f} ms"


def known_speed(checkpoint: Checkpoint) -> Speed | None:
    """What was measured here for this checkpoint; None where nothing was, or it is damaged.

    Raises UntrustedFileError for a record that another user can have planted.
    """
    try:
        said = json.loads(read_trusted(_record(checkpoint)))
        timed = [(Candidate(**row["candidate"]), _read(row["milliseconds"])) for row in said]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    whole = all(
        one.engine in get_args(CpuEngine) and isinstance(one.threads, int) and one.threads > 0
        for one, _ in timed
    )
    return Speed(tuple(timed)) if timed and whole else None


def _read(milliseconds: float | None) -> float:
    return float("inf") if milliseconds is None else float(milliseconds)


def open_fastest(
    checkpoint: Checkpoint, candidates: Mapping[Candidate, Callable[[], Engine]]
) -> Engine:
    """The fastest candidate, opened; it is timed now unless these were. The first opens or raises.

    A later one is used only where it is clearly faster, and left out where it does not open.
    """
    known = known_speed(checkpoint)
    if known is not None and {one for one, _ in known.timed} == set(candidates):
        return candidates[known.timed[0][0]]()
    first, *others = candidates
    opened = {first: candidates[first]()}
    for other in others:
        with suppress(ThisThatError, ImportError):
            opened[other] = candidates[other]()
    timed = _timed(opened)
    best = first
    for other in others:
        if timed.get(other, float("inf")) < GAIN * timed[best]:
            best = other
    for engine in opened.values():
        engine.close()
    order = [best, *(one for one in candidates if one != best)]
    rows = [
        {"candidate": asdict(one), "milliseconds": round(timed[one], 3) if one in timed else None}
        for one in order
    ]
    with suppress(OSError):  # Without a record they are timed again the next time.
        path = _record(checkpoint)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(rows), mode=0o644)
    return candidates[best]()


def _timed(engines: Mapping[Candidate, Engine]) -> dict[Candidate, float]:
    """The least milliseconds of each; one option a slot, so that no call is close."""
    tokens = min(TOKENS, *(engine.longest for engine in engines.values())) - 1
    row = Row((), (0,) * tokens, (Branch((0,), (Slot(0, 1),)),))
    best = dict.fromkeys(engines, float("inf"))
    for turn in range(TURNS + 1):
        for one, engine in engines.items():
            before = time.perf_counter()
            engine.run([row])
            if turn:
                best[one] = min(best[one], 1000 * (time.perf_counter() - before))
    return best


def _record(checkpoint: Checkpoint) -> Path:
    """Another one for other weights, processors, kernels, or another number of usable cores."""
    about = "\0".join([checkpoint.fingerprint, processor(), sources(), str(usable_cores())])
    return forms_folder() / f"{hashlib.sha256(about.encode()).hexdigest()[:32]}.speed.json"
