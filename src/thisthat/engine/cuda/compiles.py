"""How many kernels Triton has made ready in this process, compiled or loaded from its own store."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


class Compiles:
    """Counts from the moment it is made; other listeners are still told."""

    def __init__(self, runtime: Any) -> None:
        """``runtime`` are Triton's settings: what it calls for every kernel that it has made."""
        self.count = 0
        before = runtime.jit_post_compile_hook

        def listener(*args: Any, **known: Any) -> Any:
            self.count += 1
            return None if before is None else before(*args, **known)

        runtime.jit_post_compile_hook = listener


@cache
def _listening() -> Compiles | None:
    if find_spec("triton") is None:
        return None
    return Compiles(import_module("triton.knobs").runtime)


def kernels_compiled() -> int:
    """How many there have been since this was first asked; 0 without Triton."""
    listening = _listening()
    return 0 if listening is None else listening.count
