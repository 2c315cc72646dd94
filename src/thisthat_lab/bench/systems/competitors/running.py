"""Whether foreign native code runs on this machine: tried in a process that may die."""

from __future__ import annotations

import signal
import subprocess
import sys

from thisthat.errors import ThisThatError

_SECONDS = 300


class CannotRunError(ThisThatError):
    """A competitor that is installed and does not run here; the message says what it did."""


def try_out(name: str, program: str, *arguments: str) -> None:
    """Run ``program``, Python text, in a process of its own. Raises CannotRunError if it fails."""
    command = [sys.executable, "-c", program, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise CannotRunError(f"{name} did not finish a trial within {_SECONDS} s") from None
    if done.returncode < 0:
        told = signal.strsignal(-done.returncode) or f"signal {-done.returncode}"
        raise CannotRunError(f"{name} crashes on this machine ({told.lower()})")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise CannotRunError(f"{name} fails on this machine ({last[0]})")
