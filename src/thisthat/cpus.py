"""The processors this process may run on: how many deserve a thread, and how busy they are."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from thisthat.environment import THREADS
from thisthat.errors import InvalidInputError

_TOPOLOGY = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_COUNTERS = Path("/proc/stat")
_IDLE = slice(3, 5)
"""The columns of a processor's line that count idle time: idle, and waiting for a disk."""


@dataclass(frozen=True, slots=True)
class Cores:
    """The machine's physical cores, and how many each limit leaves; None where there is none.

    Where the system does not distinguish physical cores, every logical one counts.
    """

    there: int
    affinity: int
    quota: int | None
    wanted: int | None

    @property
    def usable(self) -> int:
        """What all limits together leave, at least 1."""
        limits = (self.affinity, self.quota, self.wanted)
        return max(1, min(limit for limit in limits if limit is not None))


def count_cores(topology: Path = _TOPOLOGY, quota: Path = _QUOTA) -> Cores:
    """The cores of this machine, within affinity, container's quota and OMP_NUM_THREADS.

    Raises InvalidInputError for an OMP_NUM_THREADS that is not a number of threads.
    """
    allowed = {_siblings(topology, processor) for processor in _allowed_processors()}
    there = {_siblings(topology, processor) for processor in range(os.cpu_count() or 1)}
    most = max(len(there), len(allowed))
    return Cores(most, len(allowed), _quota(quota), _wanted_threads())


def usable_cores() -> int:
    """The cores that deserve a thread. Raises what ``count_cores`` raises."""
    return count_cores().usable


@dataclass(frozen=True, slots=True)
class Busy:
    """The share of time in which processors were busy; None without any."""

    ours: float | None
    others: float | None


def busy_processors(seconds: float = 1.0, counters: Path = _COUNTERS) -> Busy:
    """How busy this process's processors are, and the machine's others.

    Waits so many seconds. Both are None where the system keeps no counts.
    """
    before = _counted(counters)
    time.sleep(seconds)
    after = _counted(counters)
    spent: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    allowed = set(_allowed_processors())
    for processor in before.keys() & after.keys():
        did, all_of = (
            new - old for new, old in zip(after[processor], before[processor], strict=True)
        )
        spent[processor in allowed].append((did, all_of))
    return Busy(_share(spent[True]), _share(spent[False]))


def _counted(path: Path) -> dict[int, tuple[int, int]]:
    """Each processor's busy ticks and total ticks."""
    found: dict[int, tuple[int, int]] = {}
    with suppress(OSError, ValueError):
        for line in path.read_text(encoding="ascii").splitlines():
            name, *numbers = line.split()
            if name.startswith("cpu") and name != "cpu":
                ticks = [int(number) for number in numbers]
                found[int(name.removeprefix("cpu"))] = (sum(ticks) - sum(ticks[_IDLE]), sum(ticks))
    return found


def _share(spent: list[tuple[int, int]]) -> float | None:
    total = sum(all_of for _, all_of in spent)
    return sum(did for did, _ in spent) / total if total else None


def _allowed_processors() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _siblings(topology: Path, processor: int) -> str:
    with suppress(OSError):
        path = topology / f"cpu{processor}" / "topology" / "thread_siblings_list"
        return path.read_text(encoding="ascii").strip()
    return str(processor)


def _wanted_threads() -> int | None:
    """What OMP_NUM_THREADS allows at its outermost level; None if it is not set."""
    said = os.environ.get(THREADS, "").partition(",")[0].strip()
    if not said:
        return None
    if not said.isdecimal() or int(said) < 1:
        raise InvalidInputError(THREADS, f"is {said!r}, but must be a number of at least 1")
    return int(said)


def _quota(path: Path) -> int | None:
    """The container's CPU quota in processors, rounded up; None if unlimited."""
    with suppress(OSError, ValueError):
        share, period = path.read_text(encoding="ascii").split()
        return -(-int(share) // int(period))
    return None
