"""The power of the device that runs: as stated, or as it reports its limit."""

from __future__ import annotations

import subprocess
from pathlib import Path

_SMI = ("nvidia-smi", "--query-gpu=power.limit", "--format=csv,noheader,nounits", "--id=0")
_PACKAGES = Path("/sys/class/powercap")


def device_watts(
    stated: float | None, on_gpu: bool, packages: Path = _PACKAGES
) -> tuple[float, str] | None:
    """Watts, and in words where they come from; None for a device that reports nothing.

    A limit is the most a device draws, not a mean.
    """
    if stated is not None:
        return stated, "as stated with --watts"
    limit = _gpu_limit() if on_gpu else _package_limit(packages)
    if limit is not None:
        return limit, f"the power limit that this {'GPU' if on_gpu else 'processor'} reports"
    return None


def _gpu_limit() -> float | None:
    try:
        told = subprocess.run(_SMI, capture_output=True, text=True, timeout=20, check=True)
        return float(told.stdout.split()[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def _package_limit(packages: Path) -> float | None:
    """The sustained limits of all processor packages that Linux lists."""
    limits = packages.glob("intel-rapl:[0-9]*/constraint_0_power_limit_uw")
    try:
        micro = [int(path.read_text()) for path in limits if path.parent.name.count(":") == 1]
    except (OSError, ValueError):
        return None
    return sum(micro) / 1e6 or None
