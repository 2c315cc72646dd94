"""How many threads are worth having: physical cores that this process may run on."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_TOPOLOGY = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores(topology: Path = _TOPOLOGY, quota: Path = _QUOTA) -> int:
    """Physical cores within the process's affinity and the container's quota, at least 1.

    Where the system does not tell physical cores apart, every logical one counts.
    """
    allowed = _allowed_processors()
    siblings = {_siblings(topology, processor) for processor in allowed}
    return max(1, min(len(siblings), _quota(quota) or len(siblings)))


def _allowed_processors() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _siblings(topology: Path, processor: int) -> str:
    with suppress(OSError):
        path = topology / f"cpu{processor}" / "topology" / "thread_siblings_list"
        return path.read_text(encoding="ascii").strip()
    return str(processor)


def _quota(path: Path) -> int | None:
    """Processors' worth of time the container gets, rounded up; None when unlimited."""
    with suppress(OSError, ValueError):
        share, period = path.read_text(encoding="ascii").split()
        return -(-int(share) // int(period))
    return None
