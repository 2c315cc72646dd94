"""A result file: what was measured, on what, with which questions, and every caveat.

The report and the results page read nothing else. A file written by another schema version is
refused by name, never half understood.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from thisthat import __version__
from thisthat.errors import ThisThatError
from thisthat.files import write_atomically
from thisthat.items.metrics import Interval

SCHEMA = 1
_KERNELS = re.compile(r"native kernels \((\w+)\)")


class ResultError(ThisThatError):
    """A result file that cannot be read: not JSON, cut off, or of another schema version."""


@dataclass(frozen=True)
class Line:
    """One headline number. ``anchor`` names the number in anchors.json to show beside it."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    unit: str = "share"
    anchor: str | None = None

    @classmethod
    def of(
        cls, label: str, interval: Interval, anchor: str | None = None, unit: str = "share"
    ) -> Line:
        """A line out of an interval."""
        return cls(
            label,
            _finite(interval.value),
            _finite(interval.low),
            _finite(interval.high),
            interval.method,
            unit,
            anchor,
        )


@dataclass(frozen=True)
class Group:
    """Counts for one part of the questions: a family, a surface, a map side, a λ."""

    by: str
    name: str
    questions: int
    right: int
    unanswered: int
    low: float
    high: float
    chance: float
    anchor: str | None = None

    @property
    def accuracy(self) -> float:
        """The share answered rightly, unanswered counted as wrong."""
        return self.right / self.questions if self.questions else math.nan


@dataclass(frozen=True)
class Timing:
    """How long one system takes for one workload, in milliseconds per call or per state.

    ``low`` and ``high`` hold the median with 95 %; ``ratio`` is its median over that of the first
    system of the workload. ``same`` of ``compared`` answers were that system's too.
    """

    workload: str
    system: str
    per: str
    calls: int
    p50: float
    p90: float
    low: float
    high: float
    p25: float
    p75: float
    ratio: float | None = None
    same: int = 0
    compared: int = 0


@dataclass(frozen=True)
class Bar:
    """A number that has to be reached. ``value`` None: not measured; ``note`` says why.

    A bar set for one kind of ``machine``, or for one kind of our kernels, is neither reached nor
    missed on another. A stored bar keeps the limit it was judged by.
    """

    label: str
    value: float | None
    limit: float
    at_least: bool
    unit: str = "number"
    note: str = ""
    machine: str | None = None

    def reached(self, machine: str) -> bool | None:
        """Whether it is, on a machine of these kinds; None where that cannot be said."""
        if self.value is None or self.machine not in (None, *machine.split()):
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(frozen=True)
class Result:
    """One measurement of one system."""

    measurement: str
    title: str
    system: Mapping[str, Any]
    questions: Mapping[str, Any]
    lines: Sequence[Line]
    groups: Sequence[Group] = ()
    timings: Sequence[Timing] = ()
    bars: Sequence[Bar] = ()
    problems: Mapping[str, int] = field(default_factory=dict)
    series: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, Any] = field(default_factory=dict)
    caveats: Sequence[str] = ()
    hardware: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    seconds: float = 0.0
    finished: str = ""

    @property
    def label(self) -> str:
        """The system in a few words, for legends and headings."""
        name, lam = self.system["name"], self.system.get("lambda")
        return f"{name}, λ = {lam:g}" if isinstance(lam, (int, float)) and lam != 1 else str(name)

    @property
    def machine(self) -> str:
        """What bars may be set for: the kind of machine and, where they ran, of our kernels."""
        kinds = (self.hardware.get("machine"), kernels_of(str(self.system.get("engine", ""))))
        return " ".join(str(kind) for kind in kinds if kind)

    def line(self, anchor: str) -> Line | None:
        """The headline number of that anchor, if this result has it."""
        return next((line for line in self.lines if line.anchor == anchor), None)

    def grouped(self, by: str) -> list[Group]:
        """The groups of one kind, in their order."""
        return [group for group in self.groups if group.by == by]


def kernels_of(engine: str) -> str | None:
    """The kind of our kernels that an engine describes itself with; None if it has none."""
    found = _KERNELS.search(engine)
    return found[1] if found else None


def write_result(path: Path, result: Result) -> None:
    """Write the result completely or not at all."""
    body = {"schema": SCHEMA, **vars(result)}
    body["lines"] = [_without_none(vars(line)) for line in result.lines]
    body["groups"] = [_without_none(vars(group)) for group in result.groups]
    body["timings"] = [_without_none(vars(timing)) for timing in result.timings]
    body["bars"] = [_without_none(vars(bar)) for bar in result.bars]
    text = json.dumps(body, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomically(path, _short_lists(text) + "\n")


def read_result(path: Path) -> Result:
    """The result in a file. Raises ResultError naming the file and what is wrong with it."""
    try:
        body = json.loads(path.read_bytes())
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{path}: is no result file, or was cut off: {error}") from None
    if not isinstance(body, dict) or "schema" not in body:
        raise ResultError(f"{path}: is no result file: it has no schema version")
    version = body.pop("schema")
    if version != SCHEMA:
        raise ResultError(
            f"{path}: has schema version {version!r}; this version of thisthat reads {SCHEMA}"
        )
    try:
        body["lines"] = [Line(**line) for line in body["lines"]]
        body["groups"] = [Group(**group) for group in body.get("groups", [])]
        body["timings"] = [Timing(**timing) for timing in body.get("timings", [])]
        body["bars"] = [Bar(**bar) for bar in body.get("bars", [])]
        return Result(**body)
    except (TypeError, KeyError) as error:
        raise ResultError(f"{path}: does not have the fields of a result: {error}") from None


def hardware() -> dict[str, Any]:
    """The machine in words; the GPU only where torch is already loaded."""
    found: dict[str, Any] = {
        "machine": platform.machine(),
        "processor": processor(),
        "cores": _cores(),
        "system": platform.system(),
    }
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name(0)
        found["cuda"] = f"CUDA {torch.version.cuda}"
    return found


def _cores() -> int | str | None:
    """How many there are, and how many of them this process was given where that is not all."""
    there = os.cpu_count()
    given = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there
    return there if given == there else f"{given} of {there} cores"


def versions() -> dict[str, str]:
    """Versions of what can move a number."""
    found = {"thisthat": __version__, "python": platform.python_version()}
    for name in (
        "numpy",
        "onnxruntime",
        "torch",
        "transformers",
        "triton",
        "flash-linear-attention",
        "scikit-learn",
        "setfit",
        "sentence-transformers",
        "llama_cpp_python",
        "outlines",
    ):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def now() -> str:
    """The time of day in UTC, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


_ARM_PARTS = {
    ("0x41", "0xd0c"): "Neoverse-N1",
    ("0x41", "0xd40"): "Neoverse-V1",
    ("0x41", "0xd49"): "Neoverse-N2",
    ("0x41", "0xd4f"): "Neoverse-V2",
}
"""Processors of servers that Linux knows by number alone."""


def processor(cpu_info: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name as the system tells it; for an ARM one without a name, its numbers."""
    try:
        lines = cpu_info.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    pairs = (line.partition(":") for line in lines)
    told = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if "model name" in told:
        return told["model name"]
    numbers = told.get("cpu implementer", ""), told.get("cpu part", "")
    if all(numbers):
        return _ARM_PARTS.get(numbers, f"ARM implementer {numbers[0]}, part {numbers[1]}")
    return platform.processor() or "unknown"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _without_none(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None or key == "value"}


def _short_lists(text: str) -> str:
    """Indented JSON with every list of plain numbers and texts on one line."""
    lines: list[str] = []
    buffer: list[str] | None = None
    for line in text.split("\n"):
        bare = line.strip()
        if bare.endswith("["):
            if buffer is not None:
                lines.extend(buffer)
            buffer = [line]
        elif buffer is not None and bare in ("]", "],"):
            inner = " ".join(part.strip() for part in buffer[1:])
            lines.append(buffer[0] + inner + bare)
            buffer = None
        elif buffer is not None and bare.endswith(("{", "}", "},")):
            lines.extend([*buffer, line])
            buffer = None
        elif buffer is not None:
            buffer.append(line)
        else:
            lines.append(line)
    return "\n".join(lines)
