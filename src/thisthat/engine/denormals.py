"""Lets the calling thread treat numbers too small for full-speed arithmetic as zero.

Softmax leaves many such numbers, and on some processors each costs more than a hundred ordinary
operations. The mode belongs to a thread: call this in threads that do nothing else.
"""

from __future__ import annotations

import ctypes
import platform
import sys

_X86 = (32, 28, 0x8040)
_ARM = (8, 0, 1 << 24)
"""Size of the floating-point environment, where its control word stands, and the mode's bits."""


def flush_denormals() -> None:
    """Set the mode for this thread on Linux; elsewhere, and where it fails, nothing changes.

    The C library's floating-point environment is read, the mode's bits are set, and it is written
    back: MXCSR's flush-to-zero and denormals-are-zero on x86-64, FPCR's FZ on 64-bit ARM.
    """
    machine = platform.machine().lower()
    if not sys.platform.startswith("linux") or machine not in ("x86_64", "amd64", "aarch64"):
        return
    size, offset, bits = _ARM if machine == "aarch64" else _X86
    try:
        library = ctypes.CDLL("libm.so.6")
    except OSError:
        return
    # Larger than any environment, so that a library with a longer one stays inside.
    buffer = ctypes.create_string_buffer(max(size, 256))
    if library.fegetenv(buffer) != 0:
        return
    control = ctypes.c_uint32.from_buffer(buffer, offset)
    control.value |= bits
    library.fesetenv(buffer)
